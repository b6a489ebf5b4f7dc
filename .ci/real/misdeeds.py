"""What the clients of clients.py do wrong, and what a replay has to say of it
first: the kind of the divergence, a part of its message, the path of a
difference, and text of the recorded frame that it names. "Or" stands where the
client's own pace decides between two kinds. Kind None: the client
is free to do so, and nothing may be said."""

import collections


class Misdeed(collections.namedtuple("Misdeed", "name deeds kind says path at flags", defaults=("", None, "", ()))):
    """deeds are those of samples/meddler."""


def drop(at, nth=1):
    return [{"do": "drop", "at": at, "nth": nth}]


def twice(at, nth=1):
    return [{"do": "twice", "at": at, "nth": nth}]


def edit(at, old, new, nth=1):
    return [{"do": "edit", "at": at, "nth": nth, "old": old, "new": new}]


def before(at, frame, nth=1):
    return [{"do": "before", "at": at, "nth": nth, "frame": frame}]


def end(at, nth=1):
    return [{"do": "end", "at": at, "nth": nth}]


def hold(at, until, nth=1):
    return [{"do": "hold", "at": at, "nth": nth, "until": until}]


def retype(at, nth=1):
    return [{"do": "retype", "at": at, "nth": nth}]


RUN, TOOL = '"run"', '"tool_result"'
PHI = [
    Misdeed("wrong prompt", edit(RUN, "Oslo", "Rome", 2), "refused", "run is not in the recording", "query", "Oslo"),
    Misdeed("wrong tool result", edit(TOOL, "4 °C", "30 °C"), "different", "tool_result differs", "summary", TOOL),
    Misdeed("missing tool", drop("register_tool"), "stalled", "never sent register_tool", None, "register_tool"),
    Misdeed("another tool", edit("register_tool", "get_weather", "get_wether"), "refused", "register_tool", "name", "register_tool"),
    Misdeed("tool answer dropped", drop(TOOL), "stalled", "never sent tool_result", None, TOOL),
    Misdeed("answer for another call", edit(TOOL, '"call-', '"call-9'), "extra", 'answers id "call-9'),
    Misdeed("answer with an id of another type", edit(TOOL, '"call_id": "call-', '"call_id": 1, "was": "call-'), "extra", "answers id 1, which no open request"),
    Misdeed("answer twice", twice(TOOL), "extra", "tool_result"),
    Misdeed("two turns swapped", edit(RUN, "Say hello", "What is the weather in Oslo?") + edit(RUN, "What is the weather in Oslo?", "Say hello", 2), "stalled", "never sent run", None, "Say hello"),
    Misdeed("the same prompt twice", twice(RUN), "refused", "run", "query", "Oslo"),
    Misdeed("request too many", before("list_tools", '{"type":"create_session","session_id":"more"}'), "refused", "create_session"),
    Misdeed("unknown request", before("list_tools", '{"type":"frobnicate"}'), "refused", "frobnicate is not in the recording"),
    Misdeed("cancel nobody recorded", before(TOOL, '{"type":"cancel"}'), "extra", "cancel"),
    Misdeed("early exit", end(RUN, 2), "unsent", "did not send run", None, "Oslo"),
    Misdeed("no JSON", before("list_tools", "{{"), "extra", "a line that is no JSON is not in the recording"),
]
PROMPT = '"prompt"'
PI = [
    Misdeed("wrong prompt", edit(PROMPT, "directory", "drawer"), "refused", "prompt is not in the recording", "message", "directory"),
    Misdeed("wrong name", edit("set_session_name", "listing", "lasting"), "refused", "set_session_name", "name", "set_session_name"),
    Misdeed("prompt left out", drop(PROMPT), "stalled", "never sent prompt", None, "directory"),
    Misdeed("name left out", drop("set_session_name"), "stalled", "never sent set_session_name", None, "set_session_name"),
    Misdeed("query left out", drop("get_messages"), "stalled", "never sent get_messages", None, "get_messages"),
    Misdeed("two turns swapped", edit(PROMPT, "Make a listing of the directory", "Say hello") + edit(PROMPT, "Say hello", "Make a listing of the directory", 2), "stalled", "never sent prompt", None, "directory"),
    Misdeed("the same prompt twice", twice(PROMPT), "refused", "prompt", "message", "Say hello"),
    Misdeed("request too many", before(PROMPT, '{"type":"new_session","id":"x"}'), "refused", "new_session is not in the recording"),
    Misdeed("unknown request", before(PROMPT, '{"type":"frobnicate","id":"x"}'), "refused", "frobnicate is not in the recording"),
    Misdeed("abort nobody recorded", before(PROMPT, '{"type":"abort","id":"x"}', 2), "refused", "abort"),
    Misdeed("answer to what was never asked", before(PROMPT, '{"type":"extension_ui_response","id":"x","value":"y"}'), "extra", "extension_ui_response"),
    Misdeed("early exit", end(PROMPT, 2), "unsent", "did not send prompt", None, "Say hello"),
    Misdeed("no JSON", before(PROMPT, "{{"), "extra", "a line that is no JSON is not in the recording"),
    Misdeed("ids of another type", retype('"id"', -1), None),
]
NEW, PROMPTS, ALLOW = "session/new", "session/prompt", '"allow"'
HELLO = [
    Misdeed("wrong prompt", edit(PROMPTS, "Hello", "Goodbye"), "refused", "session/prompt is not in the recording", "params.prompt.0.text", PROMPTS),
    Misdeed("wrong answer", edit(ALLOW, '"allow"', '"reject"'), "different", "the response to ", "result.outcome.optionId", "allow"),
    Misdeed("error in place of an answer", edit(ALLOW, '"result":', '"error":{"code":-32603,"message":"broken"},"was":'), "different", "error in place of the response to ", None, "allow"),
    Misdeed("answer dropped", drop(ALLOW), "stalled", "never sent the response to ", None, "allow"),
    Misdeed("answer twice", twice(ALLOW), "extra", "which no open request of the agent has"),
    Misdeed("answer under an id of another type", retype(ALLOW), "extra", "which no open request of the agent has"),
    Misdeed("session left out", drop(NEW), "stalled", "never sent session/new", None, NEW),
    Misdeed("another capability", edit("initialize", '"readTextFile":true', '"readTextFile":false'), "refused", "initialize", "params.clientCapabilities.fs.readTextFile", "initialize"),
    Misdeed("prompt before its session", before(NEW, '{"jsonrpc":"2.0","id":77,"method":"session/prompt","params":{"sessionId":"none","prompt":[{"type":"text","text":"Hello!"}]}}'), "refused", "session/prompt", "params.prompt.0.text"),
    Misdeed("the same prompt twice", twice(PROMPTS), "refused", "once more"),
    Misdeed("request too many", before(PROMPTS, '{"jsonrpc":"2.0","id":77,"method":"session/set_mode","params":{}}'), "refused", "session/set_mode is not in the recording"),
    Misdeed("notification too many", before(PROMPTS, '{"jsonrpc":"2.0","method":"_example.dev/never","params":{}}'), "extra", "_example.dev/never"),
    Misdeed("cancel nobody recorded", before(ALLOW, '{"jsonrpc":"2.0","method":"session/cancel","params":{}}'), "extra", "session/cancel"),
    Misdeed("early exit", end(PROMPTS), "unsent", "did not send session/prompt", None, PROMPTS),
    Misdeed("no JSON", before(PROMPTS, "{{"), "extra", "a line that is no JSON is not in the recording"),
    Misdeed("ids of another type", retype('"method"', -1), None),
]
ACP = [
    Misdeed("wrong prompt", edit(PROMPTS, '"tools"', '"utensils"'), "refused", "session/prompt is not in the recording", "params.prompt.0.text", '"tools"'),
    Misdeed("wrong tool result", edit("line2", "line2", "line3"), "different", "the response to ", "result.content", "line2"),
    Misdeed("another permission", edit('"ok"', '"ok"', '"no"'), "different", "the response to ", "result.outcome.optionId", '"ok"'),
    Misdeed("error in place of a result", edit('"hi\\n"', '"result":', '"error":{"code":-32603,"message":"broken"},"was":'), "different", "error in place of the response to ", None, '"hi\\n"'),
    Misdeed("answer dropped", drop('"ok"'), "stalled", "never sent the response to ", None, '"ok"'),
    Misdeed("answer twice", twice('"ok"'), "extra", "which no open request of the agent has"),
    Misdeed("answer under an id of another type", retype("line2"), "extra", "which no open request of the agent has"),
    Misdeed("act left out", drop("session/set_mode"), "stalled", "never sent session/set_mode", None, "session/set_mode"),
    Misdeed("two turns swapped", edit(PROMPTS, '"tools"', '"terminal"') + edit(PROMPTS, '"terminal"', '"tools"', 2), "stalled", "never sent session/prompt", None, '"tools"'),
    Misdeed("the same prompt twice", twice('"text":"terminal"'), "refused", "session/prompt is not in the recording", "params.prompt.0.text"),
    Misdeed("request too many", before("session/set_mode", '{"jsonrpc":"2.0","id":77,"method":"session/set_model","params":{}}'), "refused", "session/set_model is not in the recording", None, "session/set_mode"),
    Misdeed("notification too many", before("session/set_mode", '{"jsonrpc":"2.0","method":"_example.dev/never","params":{}}'), "extra", "_example.dev/never"),
    Misdeed("cancel left out", drop("session/cancel"), "stalled", "never sent session/cancel", None, "session/cancel"),
    Misdeed("cancel after the turn", hold("session/cancel", '"stopReason"'), "stalled", "never sent session/cancel", None, "session/cancel"),
    Misdeed("cancel of another request", edit("$/cancel_request", '"requestId":9', '"requestId":8'), "different", "$/cancel_request differs", "params.requestId", "$/cancel_request"),
    Misdeed("early exit", end('"text":"terminal"'), "unsent", "did not send session/prompt", None, '"terminal"'),
    Misdeed("no JSON", before("session/set_mode", "{{"), "extra", "a line that is no JSON is not in the recording"),
    Misdeed("ids of another type", retype('"method"', -1), None),
]
CALL, SAMPLED = "tools/call", '"sampled"'
MCP = [
    Misdeed("wrong argument", edit(CALL, '"hi"', '"ho"'), "refused", "tools/call is not in the recording", "params.arguments.message", '"hi"'),
    Misdeed("wrong answer", edit(SAMPLED, "sampled", "simpled"), "different", "the response to ", "result.content.text", SAMPLED),
    Misdeed("error in place of an answer", edit(SAMPLED, '"result":', '"error":{"code":-1,"message":"no"},"was":'), "different", "error in place of the response to ", None, SAMPLED),
    Misdeed("answer dropped", drop(SAMPLED), "stalled", "never sent the response to ", None, SAMPLED),
    Misdeed("answer twice", twice(SAMPLED), "extra", "which no open request of the agent has"),
    Misdeed("answer under an id of another type", retype(SAMPLED), "extra", "which no open request of the agent has"),
    Misdeed("another tool", edit('"get-sum"', "get-sum", "get-product"), "refused", "tools/call is not in the recording", "params.name", "get-sum"),
    Misdeed("initialized left out", drop("notifications/initialized"), "unsent or stalled", " notifications/initialized", None, "notifications/initialized"),
    Misdeed("list left out", drop("tools/list"), "stalled", "never sent tools/list", None, "tools/list"),
    Misdeed("the same call twice", twice('"echo"'), "refused", "tools/call"),
    Misdeed("unknown request", before("prompts/list", '{"jsonrpc":"2.0","id":77,"method":"nope/nope","params":{}}'), "refused", "nope/nope is not in the recording", None, "prompts/list"),
    Misdeed("notification too many", before("prompts/list", '{"jsonrpc":"2.0","method":"nope/never"}'), "extra", "nope/never"),
    Misdeed("cancel left out", drop("notifications/cancelled"), "unsent", "did not send notifications/cancelled", None, "notifications/cancelled"),
    Misdeed("cancel of another call", edit("notifications/cancelled", '"requestId":6', '"requestId":5'), "different", "notifications/cancelled differs", "params.requestId", "notifications/cancelled"),
    Misdeed("late cancel", hold("notifications/cancelled", '"id":9'), None),
    Misdeed("early exit", end("prompts/list"), "unsent", "did not send prompts/list", None, "prompts/list"),
    Misdeed("no JSON", before("prompts/list", "{{"), "extra", "a line that is no JSON is not in the recording"),
    Misdeed("ids of another type", retype('"method"', -1), None),
]
