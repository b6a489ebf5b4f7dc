"""OpenAI's and Anthropic's SDKs for Python against the API at BASE.

usage: llm_client.py BASE CONTROL

Prints what came over HTTP, read by read, and what the SDK made of it. After each
read the model at CONTROL is told, so that it sends the next piece.
"""

import json
import sys
import urllib.request

import anthropic
import httpx2
import openai

base, control = sys.argv[1:]


def say(*what):
    print(json.dumps(what, ensure_ascii=True, sort_keys=True), flush=True)


class Seen(httpx2.SyncByteStream):
    def __init__(self, stream, streamed):
        self.stream, self.streamed = stream, streamed

    def __iter__(self):
        try:
            for piece in self.stream:
                say("piece", piece.decode("latin-1"))
                if self.streamed:
                    urllib.request.urlopen(control + "/ack", timeout=20).read()
                yield piece
        except httpx2.HTTPError as error:
            say("broke off", type(error).__name__)
            raise
        say("end")

    def close(self):
        self.stream.close()


class Transport(httpx2.HTTPTransport):
    def handle_request(self, request):
        answer = super().handle_request(request)
        header = sorted((k.lower(), v) for k, v in answer.headers.items() if k.lower() not in ("date", "connection"))
        say("answer", answer.status_code, header)
        answer.stream = Seen(answer.stream, "event-stream" in answer.headers.get("content-type", ""))
        return answer


def attempt(name, run):
    say("case", name)
    try:
        for result in run():
            say("got", json.loads(result.model_dump_json()))
    except Exception as error:
        say("error", type(error).__name__, getattr(error, "status_code", None), str(error))


chat = openai.OpenAI(api_key="sk-test-0123456789abcdef", base_url=base + "/v1", http_client=openai.DefaultHttpxClient(transport=Transport()))
claude = anthropic.Anthropic(api_key="sk-ant-test-0123456789", base_url=base, http_client=anthropic.DefaultHttpxClient(transport=Transport()))
said = [{"role": "user", "content": "Grüße"}]

for model in ("plain", "busy"):
    attempt("chat " + model, lambda: [chat.chat.completions.create(model=model + "@py", messages=said)])
for model in ("stream", "busy", "error", "cut", "fail"):
    attempt("chat stream " + model, lambda: chat.chat.completions.create(model=model + "@py", messages=said, stream=True, stream_options={"include_usage": True}))
for model in ("stream", "error", "cut"):
    attempt("responses stream " + model, lambda: chat.responses.create(model=model + "@py", input="Grüße", stream=True))
attempt("messages plain", lambda: [claude.messages.create(model="plain@py", max_tokens=9, messages=said)])
for model in ("stream", "overloaded", "error", "cut"):
    attempt("messages stream " + model, lambda: claude.messages.create(model=model + "@py", max_tokens=9, messages=said, stream=True))
