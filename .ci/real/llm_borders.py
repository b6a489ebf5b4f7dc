"""Ask a mock for every exchange of a session and look at the chunks on the wire.

usage: llm_borders.py SESSION.agentrec BASE

Every piece of a stream must be a chunk of its own, as it was recorded, and an
answer that broke off must break off. An SDK may have left as soon as it saw the
last event, before the answer ended; the mock then waits for that. SDKs may read several chunks at once, so
they cannot tell. Prints how many chunks there were.
"""

import base64
import http.client
import json
import sys
import urllib.parse


def raw(piece):
    return base64.b64decode(piece["base64"]) if isinstance(piece, dict) else piece.encode()


def chunks(url, body, leave):
    """The status of an answer, its chunks up to that many, and whether it ended as it should."""
    connection = http.client.HTTPConnection(url.hostname, url.port, timeout=20)
    connection.request("POST", url.path, body, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    if not answer.chunked:
        return answer.status, [answer.read()], True
    list = []
    while len(list) != leave and (line := answer.fp.readline()):
        size = int(line, 16)
        if size == 0:
            return answer.status, list, True
        list.append(answer.fp.read(size))
        answer.fp.readline()
    return answer.status, list, False


base = urllib.parse.urlsplit(sys.argv[2])
total = 0
for line in open(sys.argv[1], encoding="utf-8"):
    entry = json.loads(line)
    if not isinstance(entry, list) or entry[0] != "exchange":
        continue
    exchange = entry[2]
    url = base._replace(path=base.path + urllib.parse.urlsplit(exchange["url"]).path)
    leave = len(exchange["pieces"]) if exchange["end"] == "cancelled" else -1
    got = chunks(url, json.dumps(exchange["body"], ensure_ascii=False).encode(), leave)
    want = exchange["status"], [raw(piece) for _, piece in exchange["pieces"]], exchange["end"] == "done"
    if got != want:
        sys.exit(f"for {exchange['body']} came {got}; recorded was {want}")
    total += len(got[1])
print(total)
