#!/usr/bin/env bash
# The real rpi, second generation of its RPC wire, through the proxy with a
# scripted model on loopback, then the same client against the recording alone.
# rpi is a Rust crate (built once, then cached).
. "$(dirname "$0")/setup.bash"
need python3
need cargo
secret=sk-rpi-0123456789abcdefghij
version=0.16.0

rpi=$cache/rpi-$version/bin/rpi
if [ ! -x "$rpi" ]; then
  [ "$(left)" -gt 240 ] || skip 'no time left to build rpi'
  say "building rpi $version"
  CARGO_TARGET_DIR=$cache/rpi-target CARGO_PROFILE_DEV_DEBUG=0 timeout "$(left)" \
    cargo install --quiet --debug --locked --root "$cache/rpi-$version" --version "$version" rpi-cli || skip 'rpi was not built in time'
  rm -rf "$cache/rpi-target"
fi

# client FILE PROMPT AGENT...: one run of the client, its output in FILE
client() {
  local file=$1
  shift
  (cd "$tmp/home" && HOME=$tmp/home timeout 60 python3 "$here/rpi_client.py" "$@") >"$file"
}

answers
mkdir -p "$tmp/home/.rpi"
cat >"$tmp/home/.rpi/models.json" <<JSON
{"providers": {"mock": {"baseUrl": "$model", "api": "openai-completions", "apiKey": "$secret", "models": [
  {"id": "mock-model", "name": "mock", "reasoning": false, "input": ["text"], "contextWindow": 128000, "maxTokens": 4096,
   "cost": {"input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0}}]}}}
JSON
mkdir -p "$tmp/home/.rpi/agent" && cp "$tmp/home/.rpi/models.json" "$tmp/home/.rpi/agent"
db=$tmp/rpi.db
client "$tmp/recorded" 'make a listing please' agentrec proxy --db "$db" -- "$rpi" --mode rpc --provider mock --model mock-model \
  --no-session -ns -nc -ne -np --offline || fail 'the client did not get through the proxy'
silence
grep -q 'one\\ntwo' "$tmp/recorded" || fail 'the tool did not run'
whole "$db"
sound "$db" rpi2 '"turns":1,"calls":1,"errors":0'

client "$tmp/replayed" 'make a listing please' agentrec replay "$db" --report "$tmp/reports/" || fail 'the client did not get through the replay'
same 'what the client got' "$tmp/recorded" "$tmp/replayed"
passed "$tmp/reports"
client "$tmp/changed" 'make another listing' agentrec replay "$db" --report "$tmp/changed-reports/" 2>/dev/null || true
diverged "$tmp/changed-reports" 'another listing'
say "rpi $version: recorded, replayed, a changed prompt found"
echo 'rpi: passed'
