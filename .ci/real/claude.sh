#!/usr/bin/env bash
# The real Claude Code (stream-json) with a scripted model, recorded through the
# proxy, then the same client against the recording alone. Its licence is not an
# open one, so this script never installs it: it takes the one that is named by
# AGENTREC_CLAUDE or on PATH. Its terms and its home stay the user's: the run has
# an empty home, a key that is none, and no network but loopback.
. "$(dirname "$0")/setup.bash"
need python3
secret=sk-ant-api03-0123456789abcdefghij
claude=${AGENTREC_CLAUDE:-$(command -v claude || true)}
[ -n "$claude" ] || skip 'claude is not installed, and its licence is not ours to accept; AGENTREC_CLAUDE=PATH names one'
unshare -rn true 2>/dev/null || skip 'claude is run only where the network can be taken away'
alone "$@"
timeout 20 env HOME="$tmp/home" "$claude" --version >"$tmp/version" 2>&1 </dev/null || skip "$claude does not start here"

answers
mkdir -p "$tmp/home/work"
# client FILE PROMPT AGENT...
client() {
  local file=$1
  shift
  (cd "$tmp/home/work" && env -i PATH="$PATH" HOME="$tmp/home" TERM=dumb ANTHROPIC_BASE_URL="${model%/v1}" ANTHROPIC_API_KEY="$secret" \
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 DISABLE_TELEMETRY=1 DISABLE_AUTOUPDATER=1 \
    timeout 60 python3 "$here/claude_client.py" "$@") >"$file" 2>"$file.err"
}

db=$tmp/claude.db
client "$tmp/recorded" 'make a listing please' agentrec proxy --db "$db" -- "$claude" -p --input-format stream-json --output-format stream-json \
  --include-partial-messages --verbose --permission-prompt-tool stdio --model mock-model || { cat "$tmp/recorded"*; fail 'the client did not get through the proxy'; }
silence
grep -q '^result success "It is one\\ntwo, as asked."' "$tmp/recorded" || { cat "$tmp/recorded"; fail 'the tool did not run'; }
whole "$db"
sound "$db" claude '"turns":1,"calls":1,"errors":0'
client "$tmp/replayed" 'make a listing please' agentrec replay "$db" --report "$tmp/reports/" || { cat "$tmp/replayed"*; fail 'the client did not get through the replay'; }
same 'what the client got' "$tmp/recorded" "$tmp/replayed"
passed "$tmp/reports"
client "$tmp/changed" 'make another listing' agentrec replay "$db" --report "$tmp/prompt-reports/" || true
diverged "$tmp/prompt-reports" 'another listing'
say "$(head -n 1 "$tmp/version"): recorded, replayed, a changed prompt found"
echo 'claude: passed'
