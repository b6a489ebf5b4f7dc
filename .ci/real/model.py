"""A model without a model: answers three kinds of LLM request by rules, as SSE.

usage: model.py PORTFILE    writes its port there and serves until it is ended.

OpenAI chat completions and Responses, and Anthropic Messages. The last message
decides. After a tool result the answer is a text that holds it; a question
about the weather, or for a listing, calls the tool that fits if it is offered;
anything else is greeted. One line a request goes to stdout.
"""

import http.server
import json
import re
import sys

LISTING = "printf 'one\\ntwo\\n'"
# What makes a listing, by the name that each agent gives its tool for it.
LISTERS = {"bash": {"command": LISTING}, "Bash": {"command": LISTING}, "exec_command": {"cmd": LISTING}, "list_files": {"path": "."}}


def plain(content):
    """The text of a message's content, whatever shape that has."""
    if isinstance(content, list):
        return " ".join(part.get("text") or plain(part.get("content")) for part in content if isinstance(part, dict))
    return content or ""


def answer(text, result, offered):
    """What the model says: pieces of text, or a tool's name with arguments."""
    if result:
        return ["It is ", text.strip(), ", as asked."], None
    city = re.search(r"weather in (\w+)", text, re.I)
    if city and "get_weather" in offered:
        return [], ("get_weather", {"city": city.group(1)})
    for tool, arguments in LISTERS.items():
        if "listing" in text and tool in offered:
            return [], (tool, arguments)
    return ["Hello, ", "I am ", "a script."], None


def chat(body):
    """OpenAI chat completions: (event name, data) after each other."""
    last = (body.get("messages") or [{}])[-1]
    texts, call = answer(plain(last.get("content")), last.get("role") == "tool", [t["function"]["name"] for t in body.get("tools") or []])
    deltas = [{"content": text} for text in texts]
    if call:
        text = json.dumps(call[1])
        half = len(text) // 2
        deltas = [
            {"reasoning_content": "A tool can tell."},
            {"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": {"name": call[0], "arguments": ""}}]},
            {"tool_calls": [{"index": 0, "function": {"arguments": text[:half]}}]},
            {"tool_calls": [{"index": 0, "function": {"arguments": text[half:]}}]},
        ]
    head = {"id": "cmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "mock-model"}
    for delta in deltas:
        yield None, {**head, "choices": [{"index": 0, "delta": delta}]}
    yield None, {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls" if call else "stop"}]}
    yield None, {**head, "choices": [], "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}}


def responses(body):
    """OpenAI Responses."""
    last = (body.get("input") or [{}])[-1]
    result = last.get("type") == "function_call_output"
    text = plain(last.get("output" if result else "content"))
    texts, call = answer(text, result, [t.get("name") for t in body.get("tools") or []])
    if result:
        texts[1] = text.rpartition("Output:")[2].strip()  # less how long it took
    whole = {"id": "resp_1", "object": "response", "created_at": 1, "model": "mock-model", "status": "in_progress", "output": []}
    yield "response.created", {"response": whole}
    if call:
        item = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": call[0], "arguments": json.dumps(call[1])}
        yield "response.output_item.added", {"output_index": 0, "item": {**item, "arguments": "", "status": "in_progress"}}
        yield "response.function_call_arguments.delta", {"output_index": 0, "item_id": "fc_1", "delta": item["arguments"]}
    else:
        item = {"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": "".join(texts), "annotations": []}]}
        yield "response.output_item.added", {"output_index": 0, "item": {**item, "content": [], "status": "in_progress"}}
        for text in texts:
            yield "response.output_text.delta", {"output_index": 0, "content_index": 0, "item_id": "msg_1", "delta": text}
    item["status"] = "completed"
    yield "response.output_item.done", {"output_index": 0, "item": item}
    usage = {"input_tokens": 100, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 20, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 120}
    yield "response.completed", {"response": {**whole, "status": "completed", "output": [item], "usage": usage}}


def messages(body):
    """Anthropic Messages."""
    parts = []  # Claude Code sends reminders as messages of their own, before and after the prompt
    for message in body.get("messages") or []:
        content = message.get("content")
        parts = [] if message["role"] == "assistant" else parts + (content if isinstance(content, list) else [{"type": "text", "text": content}])
    results = [part for part in parts if part.get("type") == "tool_result"]
    result = bool(results)
    texts, call = answer(plain(results or parts), result, [t.get("name") for t in body.get("tools") or []])
    usage = {"input_tokens": 100, "output_tokens": 20}
    yield "message_start", {"message": {"id": "msg_1", "type": "message", "role": "assistant", "model": "mock-model", "content": [], "stop_reason": None, "usage": usage}}
    block = {"type": "tool_use", "id": "toolu_1", "name": call[0], "input": {}} if call else {"type": "text", "text": ""}
    yield "content_block_start", {"index": 0, "content_block": block}
    for text in texts:
        yield "content_block_delta", {"index": 0, "delta": {"type": "text_delta", "text": text}}
    if call:
        yield "content_block_delta", {"index": 0, "delta": {"type": "input_json_delta", "partial_json": json.dumps(call[1])}}
    yield "content_block_stop", {"index": 0}
    yield "message_delta", {"delta": {"stop_reason": "tool_use" if call else "end_turn"}, "usage": usage}
    yield "message_stop", {}


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        print(self.path, len(body.get("messages") or body.get("input") or []), "messages", flush=True)
        path = self.path.partition("?")[0]
        if path.endswith("/count_tokens"):
            return self.whole({"input_tokens": 100})
        if not body.get("stream"):
            # phi 0.20 asks a judge whether the task is done, until it is.
            verdict = {"role": "assistant", "content": '{"done": true, "reason": "it is"}'}
            return self.whole({"choices": [{"index": 0, "message": verdict, "finish_reason": "stop"}]})
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        wire = responses if path.endswith("/responses") else messages if path.endswith("/messages") else chat
        for name, data in wire(body):
            if name:
                self.wfile.write(f"event: {name}\n".encode())
                data = {"type": name, **data}
            self.wfile.write(b"data: " + json.dumps(data).encode() + b"\n\n")
            self.wfile.flush()
        if wire is chat:
            self.wfile.write(b"data: [DONE]\n\n")

    def whole(self, fields):
        text = json.dumps(fields).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
with open(sys.argv[1], "w") as file:
    file.write(str(server.server_port))
server.serve_forever()
