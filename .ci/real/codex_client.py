"""A client of codex app-server: one thread, one turn with a command to approve.

usage: codex_client.py PROMPT DECISION AGENT ARGS...

prints what it got, less ids and times.
"""

import json
import os
import subprocess
import sys

prompt, decision = sys.argv[1:3]
agent = subprocess.Popen(sys.argv[3:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8")


def send(**frame):
    agent.stdin.write(json.dumps(frame) + "\n")
    agent.stdin.flush()


def until(reached):
    for line in agent.stdout:
        frame = json.loads(line)
        params = frame.get("params") or {}
        item = params.get("item") or {}
        said = params.get("delta") or item.get("text") or item.get("aggregatedOutput") or params.get("command") or ""
        print(frame.get("method", "response"), item.get("type", ""), json.dumps(said), json.dumps(frame.get("error")))
        if "id" in frame and "method" in frame:
            send(id=frame["id"], result={"decision": decision})
        if reached(frame):
            return frame
    sys.exit("the agent ended early")


def ask(number, method, **params):
    send(id=number, method=method, params=params)
    answer = until(lambda f: f.get("id") == number and "method" not in f)
    if "error" in answer:
        sys.exit(f"{method} was refused: {answer['error']}")
    return answer["result"]


ask(0, "initialize", clientInfo={"name": "agentrec-ci", "title": "agentrec", "version": "1"})
send(method="initialized")
thread = ask(1, "thread/start", cwd=os.getcwd(), approvalPolicy="untrusted")["thread"]["id"]
ask(2, "turn/start", threadId=thread, input=[{"type": "text", "text": prompt}])
until(lambda f: f.get("method") == "turn/completed")
agent.stdin.close()
for line in agent.stdout:
    print(json.loads(line).get("method"))
sys.exit(agent.wait())
