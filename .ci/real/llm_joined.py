"""What an SDK's client printed, less how the answers were cut into reads.

usage: llm_joined.py FILE

A mock does not wait until a piece is read before it sends the next, so several
come in one read, and what an SDK makes of them is printed after more of them.
Each answer's bytes are joined, and stand apart from what was made of it.
"""

import ast
import json
import sys


def latin(text):
    """The bytes of a piece: Go's quoted text, or a character for each byte."""
    if text[:1] != '"':
        return text
    escaped = "".join(c if c < "\x80" else "".join(f"\\x{b:02x}" for b in c.encode()) for c in text)
    return ast.literal_eval("b" + escaped).decode("latin-1")


bytes, made = [], []
for line in open(sys.argv[1], encoding="utf-8"):
    entry = json.loads(line)
    if entry[0] == "piece":
        bytes[-1] += latin(entry[1])
    elif entry[0] == "end":
        pass  # a reader that knows the length may not ask for it
    elif entry[0] in ("answer", "broke off", "no answer"):
        bytes += [json.dumps(entry), ""]
    else:
        made.append(line.rstrip("\n"))
print("\n".join(map(json.dumps, bytes)))
print("\n".join(made))
