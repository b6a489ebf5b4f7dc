"""A model without a model: answers OpenAI chat completions by rules, as SSE.

usage: model.py PORTFILE    writes its port there and serves until it is ended.

The last message decides. After a tool result the answer is a text that holds
it; a question about the weather, or for a listing, calls the tool that fits if
it is offered; anything else is greeted. One line a request goes to stdout.
"""

import http.server
import json
import re
import sys


def chunks(body):
    messages = body.get("messages", [])
    last = messages[-1] if messages else {}
    text = last.get("content") or ""
    if isinstance(text, list):
        text = " ".join(part.get("text", "") for part in text)
    offered = [t["function"]["name"] for t in body.get("tools", [])]
    if last.get("role") == "tool":
        return [{"content": "It is "}, {"content": text.strip()}, {"content": ", as asked."}]
    city = re.search(r"weather in (\w+)", text, re.I)
    if city and "get_weather" in offered:
        return call("get_weather", {"city": city.group(1)})
    if "listing" in text and "bash" in offered:
        return call("bash", {"command": "printf 'one\\ntwo\\n'"})
    return [{"content": "Hello, "}, {"content": "I am "}, {"content": "a script."}]


def call(name, arguments):
    text = json.dumps(arguments)
    half = len(text) // 2
    return [
        {"reasoning_content": "A tool can tell."},
        {"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": {"name": name, "arguments": ""}}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": text[:half]}}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": text[half:]}}]},
    ]


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        print(self.path, len(body.get("messages", [])), "messages", flush=True)
        self.send_response(200)
        if not body.get("stream"):
            # phi 0.20 asks a judge whether the task is done, until it is.
            verdict = {"role": "assistant", "content": '{"done": true, "reason": "it is"}'}
            answer = json.dumps({"choices": [{"index": 0, "message": verdict, "finish_reason": "stop"}]}).encode()
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)
            return
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        deltas = chunks(body)
        reason = "tool_calls" if "tool_calls" in deltas[-1] else "stop"
        for delta in deltas:
            self.event({"choices": [{"index": 0, "delta": delta}]})
        self.event({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
        usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
        self.event({"choices": [], "usage": usage})
        self.wfile.write(b"data: [DONE]\n\n")

    def event(self, fields):
        fields = {"id": "cmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "mock-model", **fields}
        self.wfile.write(b"data: " + json.dumps(fields).encode() + b"\n\n")
        self.wfile.flush()

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
with open(sys.argv[1], "w") as file:
    file.write(str(server.server_port))
server.serve_forever()
