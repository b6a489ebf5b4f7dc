"""A client of rpi's RPC mode: one prompt with a tool call, then it stops.

usage: rpi_client.py GENERATION PROMPT AGENT ARGS...    prints what it got, less ids.
"""

import json
import subprocess
import sys

first = sys.argv[1] == "1"
agent = subprocess.Popen(sys.argv[3:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8")


def send(**command):
    agent.stdin.write(json.dumps(command) + "\n")
    agent.stdin.flush()


def until(reached):
    for line in agent.stdout:
        frame = json.loads(line)
        print(frame["type"], frame.get("command", ""), frame.get("error", ""), json.dumps(frame.get("result", frame.get("delta", ""))))
        if reached(frame):
            return frame
    sys.exit("the agent ended early")


until(lambda f: f["type"] == "ready")
send(type="get_state", id="1")
until(lambda f: f.get("id") == "1")
send(type="prompt", id="2", **{"content" if first else "message": sys.argv[2]})
if first:  # the response comes after the run, and may overtake its last events
    waiting = {"response", "agent_end"}
    while waiting:
        frame = until(lambda f: f["type"] in waiting)
        waiting.remove(frame["type"])
        if frame.get("status") == "error":
            sys.exit("the prompt failed: " + frame["error"])
else:
    accepted = until(lambda f: f.get("id") == "2")
    if accepted["status"] != "ok":
        sys.exit("the prompt was refused: " + accepted.get("error", ""))
    until(lambda f: f["type"] == "agent_settled")
send(type="stop", id="3")
until(lambda f: f.get("id") == "3")
agent.stdin.close()
sys.exit(agent.wait())
