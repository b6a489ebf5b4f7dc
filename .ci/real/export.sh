#!/usr/bin/env bash
# What export writes for other tools is taken by them: HTTP archives by npm's
# har-validator, spans by the OTLP receiver of the OpenTelemetry collector, which
# gets the same ids when a session is exported again.
. "$(dirname "$0")/setup.bash"

if command -v npm >/dev/null; then
  har=$cache/har-validator
  [ -d "$har/node_modules/har-validator" ] || { mkdir -p "$har" && (cd "$har" && npm init -y >/dev/null && npm install --no-audit --no-fund har-validator@5 >/dev/null); }
  agentrec export "$here/../../samples/llm.agentrec" --har -o "$tmp/llm.har"
  (cd "$har" && node -e '
    const har = JSON.parse(require("fs").readFileSync(process.argv[1], "utf8"))
    require("har-validator").har(har).then(h => console.log("valid", h.log.entries.length), e => { console.log(JSON.stringify(e.errors)); process.exit(1) })
  ' "$tmp/llm.har") >"$tmp/har" || { cat "$tmp/har"; fail 'the HTTP archive is not valid'; }
  grep -qx 'valid 4' "$tmp/har" || fail "the HTTP archive holds $(cat "$tmp/har")"
  say 'an HTTP archive of 4 exchanges is valid'
else
  say 'npm is not installed: HTTP archives were not validated'
fi

collector=$cache/otlp-collector
if [ ! -x "$collector" ]; then
  [ "$(left)" -gt 300 ] || skip 'no time to build the collector'
  (cd "$here/collector" && go build -o "$collector" .) || skip 'the collector could not be built'
fi
port=$((20000 + RANDOM % 20000))
"$collector" 127.0.0.1:$port >"$tmp/spans" &
started+=($!)
for i in $(seq 100); do
  ! grep -q ready "$tmp/spans" || break
  sleep 0.1
done
agentrec export "$here/../../samples/llm.agentrec" --otlp http://127.0.0.1:$port --content
agentrec export "$here/../../samples/llm.agentrec" --otlp http://127.0.0.1:$port
count() { grep -c "$1" "$tmp/spans" || true; }
[ "$(count ' session weather$')" = 2 ] && [ "$(count ' chat chat sample$')" = 8 ] && [ "$(count ' execute_tool get_weather$')" = 2 ] || { cat "$tmp/spans"; fail 'spans are missing'; }
[ "$(grep -v ready "$tmp/spans" | sort -u | wc -l)" = 8 ] || fail 'a second export has other ids'
[ "$(count ' Error chat ')" = 2 ] || fail 'the refusal is no error'
say '8 spans arrived, the same when they were sent again'
echo 'export: passed'
