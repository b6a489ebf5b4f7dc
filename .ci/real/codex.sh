#!/usr/bin/env bash
# The real Codex (from npm, 0.171.0) with a scripted model: its app-server driven
# by a small client that approves a command, and "codex exec --json", whose prompt
# is text on stdin. Each recorded through the proxy, then the same again against
# the recording alone. Where the system allows it, everything past the
# installation runs without a network but loopback.
. "$(dirname "$0")/setup.bash"
need python3
need node
need npm
secret=sk-codex-0123456789abcdefghij

codex=$cache/codex-0.171.0/node_modules/.bin/codex
if [ ! -x "$codex" ]; then
  [ "$(left)" -gt 60 ] || skip 'no time left to install codex'
  mkdir -p "$cache/codex-0.171.0"
  npm install --prefix "$cache/codex-0.171.0" --ignore-scripts --no-audit --no-fund --loglevel=error @openai/codex@0.171.0 >/dev/null
fi
[ "$("$codex" --version 2>/dev/null)" = 'codex-cli 0.171.0' ] || skip 'there is no codex 0.171.0 for this system'
alone "$@"

answers
mkdir -p "$tmp/home/.codex" "$tmp/home/work"
configured=(-c model=mock-model -c model_provider=mock -c "model_providers.mock={name=\"mock\", base_url=\"$model\", env_key=\"MOCK_API_KEY\", wire_api=\"responses\", request_max_retries=0, stream_max_retries=0}")

# run FILE COMMAND...: one run with the home and the key of this script
run() {
  local file=$1
  shift
  (cd "$tmp/home/work" && HOME=$tmp/home CODEX_HOME=$tmp/home/.codex MOCK_API_KEY=$secret timeout 60 "$@") >"$file" 2>"$file.err"
}

# app-server
db=$tmp/server.db
client() { # FILE PROMPT DECISION AGENT...
  local file=$1
  shift
  run "$file" python3 "$here/codex_client.py" "$@"
}
client "$tmp/recorded" 'make a listing please' accept agentrec proxy --db "$db" -- "$codex" app-server "${configured[@]}" || { cat "$tmp/recorded"*; fail 'the client did not get through the proxy'; }
grep -q '^item/commandExecution/requestApproval ' "$tmp/recorded" || fail 'no command was to be approved'
grep -q '^item/completed agentMessage "It is one\\ntwo, as asked."' "$tmp/recorded" || fail 'the command did not run'
whole "$db"
sound "$db" codex '"turns":1,"calls":1,"errors":0'
client "$tmp/replayed" 'make a listing please' accept agentrec replay "$db" --report "$tmp/reports/" || { cat "$tmp/replayed"*; fail 'the client did not get through the replay'; }
same 'what the client got' "$tmp/recorded" "$tmp/replayed"
passed "$tmp/reports"
client "$tmp/changed" 'make another listing' accept agentrec replay "$db" --report "$tmp/prompt-reports/" || true
diverged "$tmp/prompt-reports" 'another listing'
client "$tmp/changed" 'make a listing please' decline agentrec replay "$db" --report "$tmp/decision-reports/" || true
diverged "$tmp/decision-reports" 'decline'
say 'app-server: recorded, replayed, a changed prompt and a changed decision found'

# exec --json
db=$tmp/exec.db
ask() { # FILE PROMPT COMMAND...
  local file=$1 prompt=$2
  shift 2
  printf '%s' "$prompt" | run "$file" "$@"
}
ask "$tmp/recorded" 'make a listing please' agentrec proxy --db "$db" -- "$codex" exec --json --skip-git-repo-check "${configured[@]}" - || { cat "$tmp/recorded"*; fail 'codex exec did not get through the proxy'; }
silence
grep -q '"text":"It is one\\ntwo, as asked."' "$tmp/recorded" || { cat "$tmp/recorded"*; fail 'codex exec: the command did not run'; }
whole "$db"
sound "$db" codex-exec '"turns":1,"calls":1,"errors":1' # it warns of a model that it does not know
ask "$tmp/replayed" 'make a listing please' agentrec replay "$db" --report "$tmp/exec-reports/" || fail 'codex exec did not get through the replay'
same 'what codex exec said' "$tmp/recorded" "$tmp/replayed"
passed "$tmp/exec-reports"
ask "$tmp/changed" 'make another listing' agentrec replay "$db" --report "$tmp/exec-changed/" || true
diverged "$tmp/exec-changed" 'another listing'
say 'exec --json: recorded, replayed, a changed prompt found'
echo 'codex: passed'
