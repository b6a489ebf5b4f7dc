#!/usr/bin/env bash
# The real phi as an MCP server ("phi serve" since 0.9), driven by the MCP SDK's
# client with a scripted model, then the same client against the recording alone.
. "$(dirname "$0")/setup.bash"
need python3
need node
need npm
secret=sk-real-0123456789abcdefghij
phi=$cache/phi-0.20.0/bin/phi
[ -x "$phi" ] || skip 'phi 0.20.0 is not built; phi.sh builds it'
mcp_sdk
alone "$@"

answers
# client FILE PROMPT AGENT...
client() {
  local file=$1
  shift
  (cd "$tmp/home" && HOME=$tmp/home LLM_API_KEY=$secret LLM_BASE_URL=$model timeout 60 node "$here/phi_mcp_client.mjs" "$sdk" "$@") >"$file"
}
: >"$tmp/home/a-file"

db=$tmp/phi.db
client "$tmp/recorded" 'make a listing please' agentrec proxy --db "$db" -- "$phi" serve || fail 'the client did not get through the proxy'
silence
grep -q '^run .*a-file' "$tmp/recorded" || { cat "$tmp/recorded"; fail 'the tool did not run'; }
whole "$db"
sound "$db" mcp '"calls":3,' # run, the tool within, and the one that there is not
client "$tmp/replayed" 'make a listing please' agentrec replay "$db" --report "$tmp/reports/" || fail 'the client did not get through the replay'
same 'what the client got' "$tmp/recorded" "$tmp/replayed"
passed "$tmp/reports"
client "$tmp/changed" 'make another listing' agentrec replay "$db" --report "$tmp/changed-reports/" 2>/dev/null || true
diverged "$tmp/changed-reports" 'another listing'
say 'phi 0.20.0 as an MCP server: recorded, replayed, a changed prompt found'
echo 'phi_mcp: passed'
