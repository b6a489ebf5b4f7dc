#!/usr/bin/env bash
# A page made of hostile content, opened in a real browser: nothing in it runs,
# nothing is fetched, nothing hides the rest.
. "$(dirname "$0")/setup.bash"
need python3
browser=
for name in chromium chromium-browser google-chrome chrome; do
  if command -v "$name" >/dev/null; then browser=$name && break; fi
done
[ -n "$browser" ] || skip 'no chromium is installed'

# Whatever a page fetched would arrive here.
python3 - "$tmp/port" >"$tmp/fetched" 2>&1 <<'PY' &
import http.server, os, sys
class Fetched(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        print('fetched', self.path, flush=True)
        self.send_error(404)
    def log_message(self, *_): pass
s = http.server.HTTPServer(('127.0.0.1', 0), Fetched)
open(sys.argv[1] + '.new', 'w').write(str(s.server_address[1]))
os.rename(sys.argv[1] + '.new', sys.argv[1])
s.serve_forever()
PY
started+=($!)
for _ in $(seq 100); do [ -s "$tmp/port" ] && break || sleep 0.1; done
[ -s "$tmp/port" ] || fail "the listener did not start: $(cat "$tmp/fetched")"

python3 - "$tmp" "$(cat "$tmp/port")" <<'PY'
import json, sys
at, port = sys.argv[1], sys.argv[2]
control = ''.join(chr(c) for c in [*range(0, 32), *range(127, 160)])
evil = (control + '\x1b]8;;http://x\x07link\x1b]8;;\x07\x1b[2J \u202eright to left\u2066 \u2028 [red]tag[-] '
    f'</pre></script></style></title><script>document.title="ran"</script><img src="http://127.0.0.1:{port}/img" onerror="document.title=\'ran\'">'
    f'<style>*{{display:none}} body{{background:url(http://127.0.0.1:{port}/css)}}</style><iframe src="http://127.0.0.1:{port}/frame"></iframe>'
    f'<meta http-equiv=refresh content="0;url=http://127.0.0.1:{port}/meta"> [link](javascript:document.title="ran") '
    f'![image](http://127.0.0.1:{port}/markdown) `code<script>document.title="ran"</script>` **bold** \'"><svg onload=document.title="ran">')
def rpc(**o): return json.dumps({'jsonrpc': '2.0', **o}).encode()
def update(**o): return rpc(method='session/update', params={'sessionId': evil, 'update': o})
text = {'type': 'text', 'text': evil}
frames_in = [rpc(id=0, method='initialize', params={'protocolVersion': 1, 'clientInfo': {'name': evil, 'version': evil}}),
    rpc(id=1, method='session/new', params={'cwd': '/' + evil, 'mcpServers': []}),
    rpc(id=2, method='session/prompt', params={'sessionId': evil, 'prompt': [text]})]
frames_out = [rpc(id=0, result={'protocolVersion': 1, 'agentInfo': {'name': evil, 'version': evil}}),
    rpc(id=1, result={'sessionId': evil}),
    update(sessionUpdate='agent_message_chunk', content=text), update(sessionUpdate='agent_thought_chunk', content=text),
    update(sessionUpdate='tool_call', toolCallId=evil, title=evil, status='completed', rawInput={evil: evil}, content=[{'type': 'content', 'content': text}]),
    update(sessionUpdate='plan', entries=[{'content': evil, 'priority': evil, 'status': evil}]),
    update(sessionUpdate='agent_message_chunk', content={'type': 'image', 'mimeType': evil, 'data': 'AAAA', 'uri': evil}),
    rpc(method=evil, params=evil), b'\xff\xfe' + evil.encode(), evil.encode(),
    rpc(id=2, error={'code': -1, 'message': evil})]
for name, list in ('in', frames_in), ('out', [l.replace(b'\n', b' ') for l in frames_out]):
    open(f'{at}/{name}', 'wb').write(b'\n'.join(list) + b'\n')
PY
cat >"$tmp/agent" <<'SH'
#!/bin/sh
read -r a; read -r b; read -r c
cat "$1/out"
cat "$1/out" >&2
SH
chmod +x "$tmp/agent"

agentrec proxy --db "$tmp/hostile.db" --name '<script>document.title="ran"</script>' -- "$tmp/agent" "$tmp" <"$tmp/in" >/dev/null 2>&1
agentrec export "$tmp/hostile.db" --html -o "$tmp/page.html"
browse() {
  timeout 60 "$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$tmp/profile" --virtual-time-budget=3000 "$@" "file://$tmp/page.html" 2>"$tmp/browser"
}
browse --dump-dom >"$tmp/dom" || { tail -n 5 "$tmp/browser"; fail 'the browser did not open the page'; }
title=$(grep -o '<title>[^<]*</title>' "$tmp/dom") || fail 'the page has no title any more'
case $title in *'&lt;script&gt;'*) ;; *) fail "the title became $title" ;; esac
if grep -Eio '<(script|img|iframe|svg|object|embed|link|base|form)[ >/]' "$tmp/dom" | sort | uniq -c | grep .; then fail 'content became elements'; fi
[ "$(grep -o '<style' "$tmp/dom" | wc -l)" = 1 ] || fail 'content became a style'
grep -q 'turn 1' "$tmp/dom" || fail 'the page does not end where it should'
[ ! -s "$tmp/fetched" ] || { cat "$tmp/fetched"; fail 'the page fetched something'; }
browse --screenshot="$tmp/page.png" --window-size=1000,1600 >/dev/null || fail 'no picture of the page'
[ "$(wc -c <"$tmp/page.png")" -gt 20000 ] || fail 'the page is blank'
if [ -n "${KEEP:-}" ]; then say "picture: $tmp/page.png"; fi
say 'hostile content stays text'
echo 'html: passed'
