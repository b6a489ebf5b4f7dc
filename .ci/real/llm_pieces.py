"""The pieces of streams in a session's text form against those that the model sent.

usage: llm_pieces.py SESSION.agentrec LOG
"""

import base64
import json
import sys


def raw(piece):
    return base64.b64decode(piece["base64"]) if isinstance(piece, dict) else piece.encode()


kept = []
for line in open(sys.argv[1], encoding="utf-8"):
    entry = json.loads(line)
    if isinstance(entry, list) and entry[0] == "exchange":
        answer = dict(map(tuple, (h for h in entry[2].get("answer", []) if isinstance(h[1], str))))
        if "event-stream" in answer.get("Content-Type", ""):
            kept += [raw(piece) for _, piece in entry[2].get("pieces", [])]
sent = [base64.b64decode(entry[1]) for entry in map(json.loads, open(sys.argv[2], encoding="utf-8")) if entry[0] == "piece"]
if kept != sent:
    first = next((i for i, pair in enumerate(zip(kept, sent)) if pair[0] != pair[1]), min(len(kept), len(sent)))
    sys.exit(f"piece {first} of {len(sent)}, {len(kept)} kept: {kept[first:first + 1]} for {sent[first:first + 1]}")
print(len(sent))
