#!/usr/bin/env bash
# The real rpi in both generations of its RPC wire (0.3.0, 0.16.0), through the
# proxy with a scripted model on loopback, then the same client against the
# recording alone. rpi is a Rust crate: each is built once, then cached.
. "$(dirname "$0")/setup.bash"
need python3
need cargo
secret=sk-rpi-0123456789abcdefghij

# rpi VERSION: sets $rpi to that rpi, or fails when there is no time to build it
rpi() {
  rpi=$cache/rpi-$1/bin/rpi
  [ ! -x "$rpi" ] || return 0
  [ "$(left)" -gt 240 ] || return 1
  say "building rpi $1"
  CARGO_TARGET_DIR=$cache/rpi-target CARGO_PROFILE_DEV_DEBUG=0 timeout "$(left)" \
    cargo install --quiet --debug --locked --root "$cache/rpi-$1" --version "$1" rpi-cli || return 1
  rm -rf "$cache/rpi-target"
}

# client FILE GENERATION PROMPT AGENT...: one run of the client, its output in FILE
client() {
  local file=$1
  shift
  (cd "$tmp/home" && HOME=$tmp/home timeout 60 python3 "$here/rpi_client.py" "$@") >"$file"
}

# generation NUMBER DIALECT VERSION FLAGS...: records, replays and checks one rpi
generation() {
  local n=$1 dialect=$2 version=$3 db=$tmp/rpi-$3.db reports=$tmp/rpi-$3
  shift 3
  rpi "$version" || { say "skipped rpi $version: it was not built in time"; return; }
  answers
  mkdir -p "$tmp/home/.rpi/agent"
  cat >"$tmp/home/.rpi/models.json" <<JSON
{"providers": {"mock": {"baseUrl": "$model", "api": "openai-completions", "apiKey": "$secret", "models": [
  {"id": "mock-model", "name": "mock", "reasoning": false, "input": ["text"], "contextWindow": 128000, "maxTokens": 4096,
   "cost": {"input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0}}]}}}
JSON
  cp "$tmp/home/.rpi/models.json" "$tmp/home/.rpi/agent"
  client "$tmp/recorded" "$n" 'make a listing please' agentrec proxy --db "$db" -- "$rpi" --mode rpc --provider mock --model mock-model \
    --no-session "$@" || fail "rpi $version: the client did not get through the proxy"
  silence
  grep -q 'one\\ntwo' "$tmp/recorded" || fail "rpi $version: the tool did not run"
  whole "$db"
  sound "$db" "$dialect" '"turns":1,"calls":1,"errors":0'

  client "$tmp/replayed" "$n" 'make a listing please' agentrec replay "$db" --report "$reports/" || fail "rpi $version: the client did not get through the replay"
  same "rpi $version: what the client got" "$tmp/recorded" "$tmp/replayed"
  passed "$reports"
  client "$tmp/changed" "$n" 'make another listing' agentrec replay "$db" --report "$reports-changed/" 2>/dev/null || true
  diverged "$reports-changed" 'another listing'
  say "rpi $version: recorded, replayed, a changed prompt found"
}

generation 2 rpi2 0.16.0 -ns -nc -ne -np --offline
generation 1 rpi 0.3.0
echo 'rpi: passed'
