#!/usr/bin/env bash
# The SDKs of OpenAI and Anthropic for Python, Node and Go against a loopback
# model: directly and through `agentrec llm record`. What they read from HTTP,
# read by read, and what they make of it must be equal, and so must what the model
# is asked: streams of three wires cut within lines and letters, refusals that the
# SDKs retry, errors in the middle of a stream, streams that break off. Then against
# `agentrec llm serve`, which must give them the same from the recording.
. "$(dirname "$0")/setup.bash"
export PYTHONDONTWRITEBYTECODE=1
need python3
sdks=()

python=$cache/llm-python-3.57-2.14
if [ ! -f "$python/installed" ] && [ "$(left)" -gt 60 ]; then
  python3 -m venv "$python"
  "$python/bin/python" -m pip install --quiet --disable-pip-version-check openai==3.57.0 anthropic==2.14.0
  : >"$python/installed"
fi
if [ -f "$python/installed" ]; then
  python() { timeout 100 "$python/bin/python" "$here/llm_client.py" "$@"; }
  sdks+=(python)
else
  say 'skipped the Python SDKs: no time left to install them'
fi

if ! command -v npm >/dev/null; then
  say 'skipped the Node SDKs: npm is not installed'
else
  node=$cache/llm-node-6.49-1.14
  if [ ! -f "$node/installed" ] && [ "$(left)" -gt 60 ]; then
    mkdir -p "$node"
    npm install --prefix "$node" --ignore-scripts --no-audit --no-fund --loglevel=error openai@6.49.0 @anthropic-ai/sdk@1.14.0 >/dev/null
    : >"$node/installed"
  fi
  if [ -f "$node/installed" ]; then
    node() { timeout 100 node "$here/llm_client.mjs" "$node" "$@"; }
    sdks+=(node)
  else
    say 'skipped the Node SDKs: no time left to install them'
  fi
fi

# These two are large: their compilation is kept, and is new when the client is.
go=$cache/llm-go-$(cat "$here"/llm_go/* | cksum | cut -d' ' -f1)
if [ ! -f "$go/client" ] && [ "$(left)" -gt 400 ]; then
  mkdir -p "$go"
  (cd "$here/llm_go" && go build -o "$go/client.new" . && mv "$go/client.new" "$go/client")
fi
if [ -f "$go/client" ]; then
  go_sdk() { timeout 100 "$go/client" "$@"; }
  sdks+=(go_sdk)
else
  say 'skipped the Go SDKs: no time left to compile them'
fi
[ "${#sdks[@]}" -gt 0 ] || skip 'there is no time to install an SDK'

(cd "$here/../.." && go build -o "$tmp/bin/llm_upstream" .ci/real/llm_upstream.go)

# upstream LOG: starts the model anew; $model is where it is.
upstream() {
  local i
  rm -f "$tmp/model.port"
  llm_upstream "$tmp/model.port" "$1" &
  started+=($!)
  for i in $(seq 100); do
    [ -s "$tmp/model.port" ] && break
    sleep 0.1
  done
  model=http://127.0.0.1:$(cat "$tmp/model.port")
}

# base FILE: waits until a recorder or a mock has written its base URL
base() {
  local i
  for i in $(seq 100); do
    grep -q 'base URL is' "$1" && break
    sleep 0.1
  done
  sed -n 's/.*base URL is \([^ ;]*\).*/\1/p' "$1"
}

upstream "$tmp/asked.direct"
for sdk in "${sdks[@]}"; do
  "$sdk" "$model" "$model" >"$tmp/$sdk.direct" || fail "$sdk: the client failed without agentrec"
done

upstream "$tmp/asked.recorded"
secret=sk-ant-test-0123456789
db=$tmp/llm.db
agentrec llm record --upstream "$model" --db "$db" 2>"$tmp/recorder" &
recorder=$!
started+=("$recorder")
recorded=$(base "$tmp/recorder")
[ -n "$recorded" ] || fail "no base URL: $(cat "$tmp/recorder")"
for sdk in "${sdks[@]}"; do
  "$sdk" "$recorded" "$model" >"$tmp/$sdk.recorded" || fail "$sdk: the client failed through the recorder"
  same "$sdk: what came over HTTP" "$tmp/$sdk.direct" "$tmp/$sdk.recorded"
done
same 'what the model was asked' "$tmp/asked.direct" "$tmp/asked.recorded"
kill -TERM "$recorder" # a shell's background process ignores INT
wait "$recorder" || fail "the recorder left with $?"
whole "$db"
agentrec export "$db" >"$tmp/llm.agentrec"
absent "$secret" "$tmp/llm.agentrec"
pieces=$(python3 "$here/llm_pieces.py" "$tmp/llm.agentrec" "$tmp/asked.recorded") || fail 'the recording has other pieces'
say "${sdks[*]}: equal through the recorder, read by read; $pieces pieces kept as sent"
# The mock. Several pieces may come in one read, so the joined bytes are compared
# here, and what the SDKs make of them; the chunks are looked at below.
mkdir "$tmp/idle"
: >"$tmp/idle/ack" # a mock does not wait to be told that a piece was read
python3 -u -m http.server --bind 127.0.0.1 --directory "$tmp/idle" 0 >"$tmp/idle.log" 2>&1 &
started+=($!)
for i in $(seq 100); do
  idle=$(sed -n 's/.* port \([0-9]*\) .*/http:\/\/127.0.0.1:\1/p' "$tmp/idle.log")
  [ -z "$idle" ] || break
  sleep 0.1
done

# mock FILE: serves a recording; $mocked is its base URL.
mock() {
  agentrec llm serve "$1" 2>"$tmp/mock" &
  mock=$!
  started+=("$mock")
  mocked=$(base "$tmp/mock")
  mocked=${mocked%/v1}
  [ -n "$mocked" ] || fail "no base URL: $(cat "$tmp/mock")"
}

# verdict STATUS TEXT: ends the mock, which must leave so and say that.
verdict() {
  local status=0
  kill -TERM "$mock"
  wait "$mock" || status=$?
  [ "$status" = "$1" ] || { cat "$tmp/mock"; fail "the mock left with $status"; }
  grep -q "$2" "$tmp/mock" || { cat "$tmp/mock"; fail "the mock does not say: $2"; }
}

mock "$tmp/llm.agentrec"
asking=()
for sdk in "${sdks[@]}"; do # all at once
  "$sdk" "$mocked" "$idle" >"$tmp/$sdk.mocked" &
  asking+=($!)
done
for pid in "${asking[@]}"; do
  wait "$pid" || fail 'a client failed with the mock'
done
for sdk in "${sdks[@]}"; do
  for from in direct mocked; do
    python3 "$here/llm_joined.py" "$tmp/$sdk.$from" >"$tmp/$sdk.$from.joined"
  done
  same "$sdk: what came from the mock" "$tmp/$sdk.direct.joined" "$tmp/$sdk.mocked.joined"
done
exchanges=$(grep -c '^\["exchange"' "$tmp/llm.agentrec")
verdict 0 "passed: $exchanges of $exchanges exchanges served"

mock "$db"
chunks=$(python3 "$here/llm_borders.py" "$tmp/llm.agentrec" "$mocked") || fail "the mock's chunks are others than the recorded ones"
verdict 0 "passed: $exchanges of $exchanges exchanges served"
say "${sdks[*]}: equal from the mock, all at once; $exchanges exchanges served, none left; $chunks chunks with the recorded borders"

# One word of the first prompt was another: that request is refused, is not tried
# again, and the word is told.
sed '0,/Grüße/s//Grüsse/' "$tmp/llm.agentrec" >"$tmp/changed.agentrec"
mock "$tmp/changed.agentrec"
"${sdks[0]}" "$mocked" "$idle" >"$tmp/changed" || fail 'the client failed with another recording'
verdict 3 'differs at message 1 (user)'
grep -q 'recorded  "Grüsse"' "$tmp/mock" || { cat "$tmp/mock"; fail 'the changed word is not told'; }
[ "$(grep -c '^agentrec: refused' "$tmp/mock")" = 1 ] || { cat "$tmp/mock"; fail 'the SDK tried again what the mock refused'; }
say "${sdks[0]}: a changed word is refused once, and told"

# pi carries its model's URL itself and ignores variables: it is recorded as its
# proxy, on whose list the model's address stands.
if ! command -v npm >/dev/null || [ ! -f "$cache/pi-0.74.2/installed" ] && [ "$(left)" -lt 60 ]; then
  say 'skipped pi by its proxy: it can not be installed here'
else
  pi=$cache/pi-0.74.2
  if [ ! -f "$pi/installed" ]; then
    mkdir -p "$pi"
    npm install --prefix "$pi" --ignore-scripts --no-audit --no-fund --loglevel=error @earendil-works/pi-coding-agent@0.74.2 >/dev/null
    : >"$pi/installed"
  fi
  package=$pi/node_modules/@earendil-works/pi-coding-agent
  secret=sk-pi-0123456789abcdefghij
  answers
  mkdir -p "$tmp/agent"
  cat >"$tmp/agent/models.json" <<JSON
{"providers": {"mock": {"baseUrl": "$model", "api": "openai-completions", "apiKey": "$secret", "models": [
  {"id": "mock-model", "name": "mock", "reasoning": false, "input": ["text"], "contextWindow": 128000, "maxTokens": 4096,
   "cost": {"input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0}}]}}}
JSON
  address=${model#http://}
  agentrec shim "$tmp/pi.js" --js -- proxy --db "$tmp/pi.db" --llm mitm --llm-host "${address%/v1}" -- node "$package/dist/cli.js" >/dev/null
  (cd "$tmp/home" && HOME=$tmp/home PI_CODING_AGENT_DIR=$tmp/agent PI_OFFLINE=1 PI_SKIP_VERSION_CHECK=1 PI_TELEMETRY=0 \
    timeout 120 node "$here/pi_client.mjs" "$package" "$tmp/pi.js") >"$tmp/pi.out" || fail 'pi: the client did not get through'
  silence
  whole "$tmp/pi.db"
  agentrec export "$tmp/pi.db" >"$tmp/pi.agentrec"
  absent "$secret" "$tmp/pi.agentrec"
  asked=$(grep -c '^/v1/chat/completions' "$tmp/model.log")
  kept=$(grep -c '^\["exchange", [0-9]*, {"route":"mitm",.*"status":200,.*"end":"done"' "$tmp/pi.agentrec")
  [ "$asked" -gt 0 ] && [ "$asked" = "$kept" ] || { cat "$tmp/model.log"; fail "pi asked its model $asked times, $kept are recorded"; }
  say "pi 0.74.2, as its proxy: $kept of $asked requests recorded"
fi
echo 'llm: passed'
