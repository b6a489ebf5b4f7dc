"""A client of Claude Code's stream-json: one prompt with a tool call, what it asks allowed.

usage: claude_client.py PROMPT AGENT ARGS...

prints what it got, less ids and times.
"""

import json
import subprocess
import sys

agent = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8")


def send(**frame):
    agent.stdin.write(json.dumps(frame) + "\n")
    agent.stdin.flush()


def until(reached):
    for line in agent.stdout:
        frame = json.loads(line)
        content = (frame.get("message") or {}).get("content")
        delta = (frame.get("event") or {}).get("delta")
        print(frame["type"], frame.get("subtype", ""), json.dumps(content or delta or frame.get("result", "")))
        if frame["type"] == "control_request":
            verdict = {"behavior": "allow", "updatedInput": frame["request"]["input"]}
            send(type="control_response", response={"subtype": "success", "request_id": frame["request_id"], "response": verdict})
        if reached(frame):
            return frame
    sys.exit("the agent ended early")


send(type="control_request", request_id="init-1", request={"subtype": "initialize"})
until(lambda f: f["type"] == "control_response")
send(type="user", message={"role": "user", "content": sys.argv[1]}, parent_tool_use_id=None, session_id="")
until(lambda f: f["type"] == "result")
agent.stdin.close()
for line in agent.stdout:
    print(json.loads(line)["type"])
sys.exit(agent.wait())
