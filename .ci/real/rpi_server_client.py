"""A client of rpi --server: one session, one prompt with a tool call.

usage: rpi_server_client.py ADDRESS TOKEN PROMPT    prints what it got, less ids.
"""

import json
import socket
import sys
import time

host, _, port = sys.argv[1].rpartition(":")
token, prompt = sys.argv[2:4]
for left in reversed(range(100)):  # whoever listens may just have been started
    try:
        server = socket.create_connection((host, int(port)))
        break
    except ConnectionRefusedError:
        if not left:
            raise
        time.sleep(0.05)
lines = server.makefile("r", encoding="utf-8")


def until(reached):
    for line in lines:
        frame = json.loads(line)
        event = (frame.get("params") or {}).get("event") or {}
        print(frame.get("method", "response"), event.get("type", ""), json.dumps(event.get("result", event.get("delta", ""))), json.dumps(frame.get("error")))
        if reached(frame, event):
            return frame
    sys.exit("the server ended early")


def ask(number, method, **params):
    # In one write: the server loses a request that comes in pieces.
    server.sendall((json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n").encode())
    answer = until(lambda frame, event: frame.get("id") == number)
    if "error" in answer:
        sys.exit(f"{method} was refused: {answer['error']}")
    return answer["result"]


ask(1, "authenticate", token=token)
ask(2, "server_status")
session = ask(3, "start_session")["sessionId"]
ask(4, "subscribe", sessionId=session)
ask(5, "send", sessionId=session, command={"type": "get_state", "id": "c1"})
until(lambda frame, event: event.get("id") == "c1")
ask(6, "send", sessionId=session, command={"type": "prompt", "id": "c2", "message": prompt})
until(lambda frame, event: event.get("type") == "agent_settled")
ask(7, "stop_session", sessionId=session)
until(lambda frame, event: event.get("type") == "session_end")
server.close()
