#!/usr/bin/env bash
# The real "rpi --server" (rpi 0.16.0 with its extension rpi-server 0.3.8): JSON-RPC
# on TCP around rpi's frames. A client through the proxy's sockets with a scripted
# model on loopback, then the same client against the recording alone.
. "$(dirname "$0")/setup.bash"
need python3
need cargo
rpi=$cache/rpi-0.16.0/bin/rpi
[ -x "$rpi" ] || skip 'rpi 0.16.0 is not built; rpi.sh builds it'
extension=$cache/rpi-server-0.3.8
if [ ! -f "$extension/librpi_server.so" ]; then
  [ "$(left)" -gt 240 ] || skip 'no time left to build the extension'
  say 'building rpi-server 0.3.8'
  # A library that is loaded at run time is built from its own source only.
  cargo new --quiet --vcs none "$tmp/fetch" && (cd "$tmp/fetch" && cargo add --quiet rpi-server@=0.3.8 && cargo vendor --quiet >/dev/null)
  (cd "$tmp/fetch/vendor/rpi-server" && CARGO_TARGET_DIR=$tmp/target CARGO_PROFILE_DEV_DEBUG=0 timeout "$(left)" cargo build --quiet 2>"$tmp/build") || { cat "$tmp/build"; skip 'the extension was not built'; }
  mkdir -p "$extension" && cp "$tmp/target/debug/librpi_server.so" "$extension"
fi
alone "$@"

answers
mkdir -p "$tmp/home/.rpi/agent"
cat >"$tmp/home/.rpi/models.json" <<JSON
{"providers": {"mock": {"baseUrl": "$model", "api": "openai-completions", "apiKey": "sk-none", "models": [
  {"id": "mock-model", "name": "mock", "reasoning": false, "input": ["text"], "contextWindow": 128000, "maxTokens": 4096,
   "cost": {"input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0}}]}}}
JSON
cp "$tmp/home/.rpi/models.json" "$tmp/home/.rpi/agent"
port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

# until_says FILE TEXT: waits for a text in the output of what was started
until_says() {
  local i
  for i in $(seq 200); do
    ! grep -q -- "$2" "$1" || return 0
    sleep 0.05
  done
  cat "$1"
  fail "nothing says $2"
}

address=127.0.0.1:$(port)
(cd "$tmp/home" && HOME=$tmp/home exec "$rpi" --server --port "${address#*:}" --extensions-dir "$extension" --provider mock --model mock-model --no-session --offline) >"$tmp/server" 2>&1 &
started+=($!)
until_says "$tmp/server" '^token: '
secret=$(sed -n 's/^token: //p' "$tmp/server")

db=$tmp/server.db
at=127.0.0.1:$(port)
agentrec proxy --db "$db" --listen "$at" --connect "$address" 2>"$tmp/proxy" &
proxy=$!
started+=("$proxy")
connects() { # FILE TOKEN PROMPT: one run of the client
  timeout 60 python3 "$here/rpi_server_client.py" "$at" "$2" "$3" >"$1"
}
connects "$tmp/recorded" "$secret" 'make a listing please' || { cat "$tmp/recorded" "$tmp/proxy"; fail 'the client did not get through the proxy'; }
kill -TERM "$proxy" && wait "$proxy" || true
silence
grep -q 'one\\ntwo' "$tmp/recorded" || { cat "$tmp/recorded"; fail 'the tool did not run'; }
absent "$secret" "$db"*
agentrec ls "$db" --json >"$tmp/ls"
session=$(sed -n 's/.*"id":\([0-9]*\),.*"dialect":"rpi-server".*/\1/p' "$tmp/ls" | tail -n 1)
[ -n "$session" ] || { cat "$tmp/ls"; fail 'rpi-server was not recognised'; }
grep '"dialect":"rpi-server"' "$tmp/ls" | grep -q '"turns":1,"calls":1,"errors":0' || { cat "$tmp/ls"; fail 'not one turn with one call'; }
agentrec check --only protocol --session "$session" "$db" || fail 'findings in a sound conversation'

# replays NAME TOKEN PROMPT: the client against the recording
replays() {
  at=127.0.0.1:$(port)
  agentrec replay "$db" --session "$session" --listen "$at" --report "$tmp/$1.reports/" 2>"$tmp/$1.err" &
  local replay=$!
  started+=("$replay")
  connects "$tmp/$1" "$2" "$3" || true
  kill -TERM "$replay" 2>/dev/null || true
  wait "$replay" || true
}
replays replayed "$secret" 'make a listing please'
same 'what the client got' "$tmp/recorded" "$tmp/replayed"
passed "$tmp/replayed.reports"
replays changed "$secret" 'make another listing'
diverged "$tmp/changed.reports" 'another listing'
say 'rpi --server: recorded on sockets, replayed, a changed prompt found'
echo 'rpi_server: passed'
