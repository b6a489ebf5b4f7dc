#!/usr/bin/env bash
# The MCP SDK's client (1.32.2) against the reference server "everything", through
# the proxy and then against the recording alone: tools, progress, sampling asked
# by the server in the middle of a call, a cancelled call without an answer.
. "$(dirname "$0")/setup.bash"
need node
need npm

mcp_sdk
server="$sdk/node_modules/@modelcontextprotocol/server-everything/dist/index.js"

# client FILE COMMAND...: one run of the client with that server
client() {
  local file=$1
  shift
  (cd "$tmp/home" && HOME=$tmp/home timeout 60 node "$here/mcp_client.mjs" "$sdk" "$@") >"$file"
}

db=$tmp/mcp.db
client "$tmp/recorded" agentrec proxy --db "$db" -- node "$server" stdio
grep -q '^progress true$' "$tmp/recorded" || fail 'no progress came through the proxy'
whole "$db"
client "$tmp/replayed" agentrec replay "$db" --report "$tmp/reports/"
same 'what the client got' "$tmp/recorded" "$tmp/replayed"
passed "$tmp/reports"

MESSAGE=other client "$tmp/changed" agentrec replay "$db" --report "$tmp/changed-reports/" 2>/dev/null || true
diverged "$tmp/changed-reports" other
SAMPLED=other client "$tmp/changed" agentrec replay "$db" --report "$tmp/sampled-reports/" 2>/dev/null || true
diverged "$tmp/sampled-reports" other
say 'changed argument and changed answer found'
echo 'mcp: passed'
