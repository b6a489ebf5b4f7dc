#!/usr/bin/env bash
# Real ACP software: the example agents and clients of the Go SDK (coder, 0.13.0)
# and of the TypeScript SDK (1.9.0), recorded through the proxy and replayed to
# the same client, then to the other one, whose ids count differently.
#
# Both clients handle a request beside the notifications before it, so the order
# of what they print is their own: the lines are compared sorted. Both ask one
# permission on their terminal: "1" allows it. The Go client ends its agent with
# KILL, so what it recorded is cut, and has to be whole up to there all the same.
. "$(dirname "$0")/setup.bash"
need go

go_sdk=$cache/acp-go-0.13.0
for part in agent client; do
  [ -x "$go_sdk/$part" ] || GOBIN=$go_sdk go install "github.com/coder/acp-go-sdk/example/$part@v0.13.0"
done

# go_client FILE COMMAND...: runs the Go client with that agent
go_client() {
  local file=$1
  shift
  (cd "$tmp/home" && printf '1\n' | HOME=$tmp/home timeout 60 "$go_sdk/client" "$@") >"$file" 2>"$file.err" || true
  grep -q 'Agent completed' "$file" || { cat "$file" "$file.err"; fail "the Go client did not get through"; }
  sed -E 's/0x[0-9a-f]+/POINTER/' "$file" | sort >"$file.sorted" # it prints one where a status should be
}

db=$tmp/go.db
go_client "$tmp/recorded" agentrec proxy --db "$db" -- "$go_sdk/agent"
agentrec check --only integrity "$db" >"$tmp/check" && fail 'a killed recording counts as closed cleanly'
grep -qi 'cut' "$tmp/check" || { cat "$tmp/check"; fail 'the check does not say that the recording is cut'; }
go_client "$tmp/replayed" agentrec replay "$db" --report "$tmp/go.reports/"
same 'what the Go client got' "$tmp/recorded.sorted" "$tmp/replayed.sorted"
passed "$tmp/go.reports/"
say 'Go client and agent: recorded, killed, replayed'

if command -v npm >/dev/null && [ "$(left)" -gt 30 ]; then
  ts=$cache/acp-ts-1.9.0
  examples=$ts/node_modules/@agentclientprotocol/sdk/dist/examples
  [ -d "$examples" ] || { mkdir -p "$ts"; npm install --prefix "$ts" --ignore-scripts --no-audit --no-fund --loglevel=error @agentclientprotocol/sdk@1.9.0 >/dev/null; }

  # ts_client FILE COMMAND...: the example client starts its agent with "npx tsx",
  # so an npx that runs COMMAND stands in front of the real one.
  ts_client() {
    local file=$1
    shift
    mkdir -p "$tmp/npx"
    { echo '#!/bin/sh'; printf 'exec'; printf " '%s'" "$@"; echo; } >"$tmp/npx/npx"
    chmod +x "$tmp/npx/npx"
    (cd "$tmp/home" && printf '1\n' | PATH=$tmp/npx:$PATH HOME=$tmp/home timeout 60 node "$examples/client.js") >"$file" 2>"$file.err" || true
    grep -q 'Agent completed' "$file" || { cat "$file" "$file.err"; fail 'the TypeScript client did not get through'; }
    sort "$file" >"$file.sorted"
  }

  db_ts=$tmp/ts.db
  ts_client "$tmp/recorded-ts" agentrec proxy --db "$db_ts" -- node "$examples/agent.js"
  whole "$db_ts"
  ts_client "$tmp/replayed-ts" agentrec replay "$db_ts" --report "$tmp/ts.reports/"
  same 'what the TypeScript client got' "$tmp/recorded-ts.sorted" "$tmp/replayed-ts.sorted"
  passed "$tmp/ts.reports/"
  say 'TypeScript client and agent: recorded, replayed'

  # Each client against the other's recording: other ids, other capabilities.
  go_client "$tmp/crossed" agentrec replay "$db_ts" --match kind --report "$tmp/crossed.reports/"
  passed "$tmp/crossed.reports/"
  ts_client "$tmp/crossed" agentrec replay "$db" --match kind --report "$tmp/crossed-ts.reports/"
  passed "$tmp/crossed-ts.reports/"
  say 'each client got through with the recording of the other'

  # A newer SDK goes through the sample, which another program recorded in another
  # directory: files, terminals, cancels, two sessions at once.
  newer=$cache/acp-ts-2.4.0
  [ -d "$newer/node_modules" ] || { mkdir -p "$newer"; npm install --prefix "$newer" --ignore-scripts --no-audit --no-fund --loglevel=error @agentclientprotocol/sdk@2.4.0 >/dev/null; }
  (cd "$tmp/home" && timeout 60 node "$here/acp_client.mjs" "$newer" agentrec replay "$here/../../samples/acp.agentrec" --report "$tmp/rich.reports/") >"$tmp/rich" || fail 'the client did not get through the sample'
  passed "$tmp/rich.reports"
  grep -q '^updates {.*"agent_message_chunk":20,.*}$' "$tmp/rich" || { cat "$tmp/rich"; fail 'updates of the sample are missing'; }
  say 'the sample replayed to a client on SDK 2.4.0'
else
  say 'skipped the TypeScript SDK: npm is missing, or no time is left to install it'
fi
echo 'acp: passed'
