#!/usr/bin/env bash
# The test helpers for other languages: their own tests, then real clients in
# small suites that use them, as they were recorded and with one thing changed.
. "$(dirname "$0")/setup.bash"
unset AGENTREC_RECORD GITHUB_ACTIONS
root=$(cd "$here/../.." && pwd)

# changed NAME VALUE TEXT COMMAND...: the suite must fail with that variable set,
# and say TEXT.
changed() {
  local name=$1 value=$2 text=$3
  shift 3
  ! env "$name=$value" "$@" >"$tmp/changed" 2>&1 || { cat "$tmp/changed"; fail "$name=$value went unnoticed"; }
  grep -q -- "$text" "$tmp/changed" || { cat "$tmp/changed"; fail "$name=$value: nothing says $text"; }
}

# passes COMMAND...: silent but for a failure
passes() { "$@" >"$tmp/passes" 2>&1 || { cat "$tmp/passes"; fail "$*"; }; }

if command -v python3 >/dev/null; then
  env=$cache/helpers-python
  if [ ! -f "$env/installed" ]; then
    python3 -m venv "$env"
    "$env/bin/python" -m pip install --quiet --disable-pip-version-check 'pytest==9.*' 'pytest-xdist==3.*' 'flit_core==4.*'
    "$env/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps phi-agent==0.9.1
    : >"$env/installed"
  fi
  [ -d "$env"/lib/python*/site-packages/pytest_randomly ] || "$env/bin/python" -m pip install --quiet --disable-pip-version-check 'pytest-randomly==4.*'
  "$env/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --target "$tmp/plugin" "$root/helpers/pytest-agentrec"
  export PYTHONPATH=$tmp/plugin PYTHONDONTWRITEBYTECODE=1
  passes "$env/bin/python" -m pytest -q -p no:cacheprovider -n 2 "$root/helpers/pytest-agentrec/tests" # in a random order
  passes "$env/bin/python" -m pytest -q -p no:cacheprovider -p no:randomly -p no:xdist "$root/helpers/pytest-agentrec/tests/test_plugin.py"
  say "pytest-agentrec: $(tail -n 1 "$tmp/passes")"

  (cd "$root" && go build -o "$tmp/bin/sample-agent" ./samples/agent)
  mkdir "$tmp/phi"
  cp "$root/helpers/pytest-agentrec/real/test_phi.py" "$tmp/phi"
  printf '[pytest]\nagentrec_command = sample-agent\n' >"$tmp/phi/pytest.ini"
  suite=("$env/bin/python" -m pytest -q -p no:cacheprovider --rootdir "$tmp/phi" "$tmp/phi")
  passes env -u CI "${suite[@]}"
  passes env CI=true "${suite[@]}"
  passes env CI=true "${suite[@]}" -n 3
  passes env CI=true "${suite[@]}" -p no:randomly
  changed PHI_CHANGE prompt 'live .*Rome' "${suite[@]}"
  changed PHI_CHANGE result 'live .*30 °C' "${suite[@]}"
  changed PHI_CHANGE tool 'did not send register_tool' "${suite[@]}"
  passes env PHI_CHANGE=session "${suite[@]}" # a name that the client mints is its own
  passes env PHI_CHANGE=order "${suite[@]}"   # tools are independent of each other
  changed PHI_CHANGE extra 'refused: .*create_session' "${suite[@]}"
  changed PHI_CHANGE early 'did not send run' "${suite[@]}"
  say 'phi SDK: recorded, replayed, five changes found'
else
  say 'skipped pytest-agentrec: python3 is not installed'
fi

if command -v node >/dev/null; then
  passes node --test "$root/helpers/node/test/helper.test.js"
  say 'the Node helper: its tests passed'
  if command -v npm >/dev/null && [ "$(left)" -gt 30 ]; then
    export ACP_SDK=$cache/acp-ts-2.4.0
    [ -d "$ACP_SDK/node_modules" ] || { mkdir -p "$ACP_SDK"; npm install --prefix "$ACP_SDK" --ignore-scripts --no-audit --no-fund --loglevel=error @agentclientprotocol/sdk@2.4.0 >/dev/null; }
    passes node --test "$root/helpers/node/real/acp.test.js"
    changed ACP_CHANGE prompt 'live .*utensils' node --test "$root/helpers/node/real/acp.test.js"
    changed ACP_CHANGE result 'live .*other' node --test "$root/helpers/node/real/acp.test.js"
    say 'ACP TypeScript SDK: the sample replayed, two changes found'

    # Real runners, with suites of their users.
    runners=$cache/helpers-node
    if [ ! -f "$runners/installed" ] && [ "$(left)" -gt 60 ]; then
      mkdir -p "$runners"
      npm install --prefix "$runners" --ignore-scripts --no-audit --no-fund --loglevel=error vitest@4.1.12 jest@30.5.2 typescript@7.0.2 @types/node@26.6.7 >/dev/null
      : >"$runners/installed"
    fi
    if [ -f "$runners/installed" ]; then
      suites=$tmp/runners
      mkdir -p "$suites/node_modules"
      ln -s "$runners"/node_modules/* "$runners/node_modules/.bin" "$suites/node_modules"
      ln -s "$root/helpers/node" "$suites/node_modules/agentrec-node"
      cp "$root"/helpers/node/real/runners/* "$suites"
      echo '{"type": "module", "jest": {"testMatch": ["**/*.jest.js"], "transform": {}}}' >"$suites/package.json"
      echo 'export default { test: { include: ["*.vitest.js"] } };' >"$suites/vitest.config.js"
      echo '{"compilerOptions": {"strict": true, "noEmit": true, "module": "nodenext", "target": "esnext", "types": ["node"]}, "include": ["types.ts"]}' >"$suites/tsconfig.json"
      export ECHO=$root/helpers/node/test/suite/echo.js
      vitest=(env -u CI --chdir "$suites" NO_COLOR=1 node_modules/.bin/vitest run)
      jest=(env -u CI --chdir "$suites" NODE_OPTIONS=--experimental-vm-modules node_modules/.bin/jest)
      passes env --chdir "$suites" node_modules/.bin/tsc -p .
      passes "${vitest[@]}" && passes "${vitest[@]}"
      changed CHANGE prompt 'live .*nobody' "${vitest[@]}"
      changed CHANGE less 'did not send bye' "${vitest[@]}"
      changed CHANGE hook 'live .*nobody' "${vitest[@]}"
      rm "$suites"/sessions/hello.vitest/*hook*
      changed CHANGE broken 'expected 1 to be 2' "${vitest[@]}"
      ls "$suites"/sessions/hello.vitest/*hook.failed.agentrec >/dev/null || fail 'vitest: what a failing test recorded was not set aside'
      passes "${jest[@]}" && passes "${jest[@]}"
      changed CHANGE prompt 'live .*nobody' "${jest[@]}"
      changed CHANGE less 'did not send bye' "${jest[@]}"
      say 'vitest, jest and tsc: recorded, replayed, five changes found'
    fi
  fi
else
  say 'skipped the Node helper: node is not installed'
fi
echo 'helpers: passed'
