#!/usr/bin/env bash
# The real phi SDK against the real phi, recorded through the proxy with a
# scripted model on loopback, then the same run against the recording alone.
#
# phi is a Rust crate (built once, then cached), its SDK a Python package.
# 0.3.0 speaks the bridge by "phi serve", later ones by "phi serve --bridge"; the
# SDK before 0.9 says "serve", later ones "serve --bridge". A shim with the
# arguments that this phi needs fits them together.
. "$(dirname "$0")/setup.bash"
need python3

need cargo
secret=sk-real-0123456789abcdefghij

# sdk VERSION: prints the directory to put on PYTHONPATH
sdk() {
  local dir=$cache/phi-sdk-$1
  if [ ! -d "$dir/phi_agent" ]; then
    python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --no-deps --target "$dir" "phi-agent==$1" >&2
  fi
  echo "$dir"
}

# phi VERSION: prints the path of that phi, or nothing when it is not built and
# there is no time left to build it
phi() {
  local dir=$cache/phi-$1 start=$SECONDS
  if [ ! -x "$dir/bin/phi" ]; then
    [ "$(left)" -gt 240 ] || return 0
    say "building phi $1" >&2
    CARGO_TARGET_DIR=$cache/phi-target CARGO_PROFILE_DEV_DEBUG=0 timeout "$(left)" \
      cargo install --quiet --debug --locked --root "$dir" --version "$1" phi-agent >&2 || return 0
    say "phi $1 was built in $((SECONDS - start)) s" >&2
  fi
  echo "$dir/bin/phi"
}

# client SDK AGENT FILE: one run of the client, its output in FILE
client() {
  local package=$1 agent=$2 file=$3
  (cd "$tmp/home" && HOME=$tmp/home PHI_PATH=$agent PYTHONPATH=$package timeout 60 python3 "$here/phi_client.py") >"$file"
}

# pair SDK PHI SERVE...: records, replays and checks one SDK with one phi.
# SERVE are phi's arguments, whatever the SDK says.
pair() {
  local sdk=$1 phi=$2 name=sdk-$1-phi-$2 agent package
  shift 2
  agent=$(phi "$phi")
  [ -n "$agent" ] || { say "skipped phi $phi: no time left to build it"; skipped=1; return; }
  package=$(sdk "$sdk")
  local db=$tmp/$name.db reports=$tmp/$name.reports

  answers
  agentrec shim "$tmp/$name-proxy" --drop 9 -- proxy --db "$db" --name "$name" -- \
    env LLM_API_KEY="$secret" LLM_BASE_URL="$model" "$agent" "$@" >/dev/null
  # phi 0.20 loses a race of its own now and then, with and without the proxy,
  # and tells its model "Tool call cancelled"; the last session counts.
  local i
  for i in 1 2 3 4 5; do
    client "$package" "$tmp/$name-proxy" "$tmp/recorded" || fail "$name: the SDK did not get through the proxy"
    ! grep -q 'Tool call cancelled' "$tmp/recorded" || continue
    break
  done
  silence
  [ "$(wc -l <"$tmp/model.log")" -ge 2 ] || fail "$name: the model was not asked"
  grep -q '"summary": "Oslo: 4 °C, light rain"' "$tmp/recorded" || fail "$name: the tool was not called"
  whole "$db"

  # No phi and no model from here on.
  agentrec shim "$tmp/$name-replay" --drop 9 -- replay "$db" --session last --report "$reports/" >/dev/null
  client "$package" "$tmp/$name-replay" "$tmp/replayed" || fail "$name: the SDK did not get through the replay"
  same "$name: what the SDK got" "$tmp/recorded" "$tmp/replayed"
  passed "$reports"
  absent "$secret" "$reports"/*

  # A client whose tool answers something else must be found out.
  agentrec shim "$tmp/$name-changed" --drop 9 -- replay "$db" --session last --report "$reports-changed/" >/dev/null
  ANSWER='Oslo: 30 °C' client "$package" "$tmp/$name-changed" "$tmp/changed" || true
  diverged "$reports-changed" 'Oslo: 30 °C'
  say "$name: recorded, replayed, a changed answer found"

  # However the bytes are cut into writes, and when they come, the SDK gets
  # through. (It waits for ever for what never comes: it has no time limits.)
  (cd "$tmp/home" && HOME=$tmp/home PHI_PATH=$tmp/$name-replay PYTHONPATH=$package \
    agentrec faults "$db" --session last --action split --action merge --action delay --timeout 60s -- \
    python3 "$here/phi_client.py") >"$tmp/faults" 2>&1 || { cat "$tmp/faults"; fail "$name: the SDK did not survive"; }
  ! grep -E '(failed|hung) ' "$tmp/faults" || fail "$name: the SDK failed"
  say "$name: $(tail -n 1 "$tmp/faults")"
  done=$((done + 1))
}

skipped='' done=0
pair 0.2.7 0.3.0 serve
pair 0.9.1 0.20.0 serve --bridge
pair 0.2.7 0.20.0 serve --bridge
pair 0.9.1 0.3.0 serve
[ -z "$skipped" ] || say 'some pairs were skipped; run again to build what is missing'
echo "phi: $done pairs passed"
