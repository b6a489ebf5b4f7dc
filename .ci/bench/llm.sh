#!/usr/bin/env bash
# The mocked model against the server it stands for, aimock (npm) and a server made
# of go-vcr, in one run; prints a table. It is no test and no part of .ci/run: the
# figures of a busy machine say little.
. "$(dirname "$0")/../real/setup.bash"
need npm

aimock=$cache/aimock-1.43.0
if [ ! -f "$aimock/installed" ]; then
  mkdir -p "$aimock"
  npm install --prefix "$aimock" --ignore-scripts --no-audit --no-fund --loglevel=error @copilotkit/aimock@1.43.0 >/dev/null
  : >"$aimock/installed"
fi
(cd "$here/../bench/llm" && go build -o "$tmp/bin/llm_bench" .)

serve() { "$@" >"$tmp/log" 2>&1 & started+=($!); }
answers_at() { # URL: waits until something listens there
  local i
  for i in $(seq 100); do
    ! python3 -c 'import socket, sys; socket.create_connection(("127.0.0.1", int(sys.argv[1])))' "${1##*:}" 2>/dev/null || return 0
    sleep 0.1
  done
  fail "nothing listens at $1"
}
free() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print("127.0.0.1:%d" % s.getsockname()[1])'; }

upstream=$(free)
serve llm_bench upstream "$upstream"
answers_at "http://$upstream"

recorder=$(free)
serve agentrec llm record --upstream "http://$upstream" --listen "$recorder" --db "$tmp/bench.db"
recording=$!
answers_at "http://$recorder"
llm_bench vcr-record "$tmp/cassette" "http://$recorder"
kill -TERM "$recording"
wait "$recording"
# recorded through the recorder, replayed for the same address: go-vcr keeps that
vcr=$(free) mock=$(free) fixtures=$(free)
serve llm_bench vcr-serve "$tmp/cassette" "$vcr" "http://$recorder"
serve agentrec llm serve "$tmp/bench.db" --listen "$mock" --exhausted last
printf '{"fixtures":[{"match":{"userMessage":"hello"},"response":{"content":"Hello! How can I help you today?"}}]}' >"$tmp/fixtures.json"
serve node "$aimock/node_modules/.bin/llmock" -p "${fixtures##*:}" -f "$tmp/fixtures.json" --log-level silent
for server in "$vcr" "$mock" "$fixtures"; do answers_at "http://$server"; done
llm_bench load upstream="http://$upstream" agentrec="http://$mock" go-vcr="http://$vcr" aimock="http://$fixtures"
