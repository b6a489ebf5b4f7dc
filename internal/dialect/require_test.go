package dialect

import (
	"fmt"
	"strings"
	"testing"

	"agentrec/store"
)

// Real software never breaks the checks.
func TestChecksPassReal(t *testing.T) {
	for _, c := range conversations {
		d := builtinDialect(t, c.dialect)
		for i, l := range wire(t, c.file) {
			if p := d.Check(l.stream, l.raw); len(p) > 0 {
				t.Errorf("%s line %d: %v in %.200s", c.file, i, p, l.raw)
			}
		}
	}
	for _, file := range []string{"phi-bugs", "rpi", "rpi2", "rpi-server", "jsonrpc", "mcp-phi", "codex"} {
		d := map[string]string{"phi-bugs": "phi", "mcp-phi": "mcp"}[file]
		for i, l := range talk(t, "testdata/talks/"+file+".txt") {
			p := builtinDialect(t, or(d, file)).Check(l.stream, l.raw)
			if missing := file == "phi-bugs" && i == 13; (len(p) > 0) != missing {
				t.Errorf("%s line %d: %v in %s", file, i, p, l.raw)
			}
		}
	}
}

func TestChecks(t *testing.T) {
	for _, name := range Names() {
		if err := builtinDialect(t, name).checks(); err != nil {
			t.Errorf("the typed checks of %s: %v", name, err)
		}
	}
	if _, err := Parse("x", []byte("name: x\nfamilies: [{name: f, require: {a.*: string}}]")); err == nil || !strings.Contains(err.Error(), "family f: line 2: require a.* ends in a wildcard") {
		t.Errorf("a check that cannot be: %v", err)
	}
	for _, c := range []struct {
		dialect string
		stream  store.Stream
		raw     string
		want    string
	}{
		// phi: as its messages are typed
		{"phi", store.In, `{"type":"register_tool","name":"x"}`, "description is absent, want string; parameters is absent, want present"},
		{"phi", store.In, `{"type":"register_tool","name":1,"description":"d","parameters":null}`, "name is number, want string"},
		{"phi", store.In, `{"type":"create_session","session_id":5}`, "session_id is number, want string or absent or null"},
		{"phi", store.In, `{"type":"create_session","session_id":null,"extra":{"a":1}}`, ""},
		{"phi", store.In, `{"type":"run","query":"q","session_id":null}`, "session_id is null, want string or absent"},
		{"phi", store.In, `{"type":"run","session_id":"s"}`, "query is absent, want string"},
		{"phi", store.In, `{"type":"run","query":"q","config":{"max_turns":"5","enable_thinking":1,"thinking_budget":1.5,"model":null,"new":[]}}`,
			"config.enable_thinking is number, want boolean or absent or null; config.max_turns is string, want integer or absent or null; config.thinking_budget is number, want integer or absent or null"},
		{"phi", store.In, `{"type":"tool_result","call_id":7,"raw":{}}`, "call_id is number, want string; summary is absent, want string"},
		{"phi", store.In, `{"session_id":"abc"}`, "type is absent, want string"},
		{"phi", store.Out, `{"type":"hello","protocol_version":"1","server_name":"phi"}`, "protocol_version is string, want integer; server_version is absent, want string"},
		{"phi", store.Out, `{"type":"session_created","internal_id":"1"}`, "internal_id is string, want integer"},
		{"phi", store.Out, `{"type":"event","runtimeEventType":"textDelta","text":null}`, "seq is absent, want integer; text is null, want string"},
		{"phi", store.Out, `{"type":"event","seq":1}`, "runtimeEventType is absent, want string"},
		{"phi", store.Out, `{"type":"tool_call","seq":1,"call_id":"c","name":"n","args":null}`, ""},
		{"phi", store.Out, `{"type":"tool_call","seq":1,"call_id":"c","name":"n"}`, "args is absent, want present"},
		{"phi", store.Out, `{"type":"tool_registered","name":"n","ok":"true"}`, "ok is string, want boolean"},
		{"phi", store.Out, `{"type":"done","seq":1,"outcome":null,"turns":"2"}`, "outcome is null, want string; turns is string, want integer or absent or null"},
		{"phi", store.Out, `{"type":"error","code":1,"message":"m","detail":{}}`, "code is number, want string"},
		{"phi", store.Out, `{"type":"tools_listed","tools":[{"name":"a","description":"d","origin":"o","version":"v","requirements":[]},{"name":"b","description":"d","origin":"o","version":1}]}`,
			"tools.*.requirements is absent, want array; tools.*.version is number, want string"},
		{"phi", store.Out, `{"type":"tools_listed","tools":{}}`, "tools is object, want array"},

		// rpi
		{"rpi", store.In, `{"id":"1","type":"set_model","model":{"id":"x"}}`, "model is object, want string"},
		{"rpi", store.In, `{"id":"1","type":"set_active_tools","tools":"read"}`, "tools is string, want array"},
		{"rpi", store.In, `{"id":"1","type":"set_thinking_level"}`, "level is absent, want string"},
		{"rpi", store.In, `{"id":"1","type":"prompt","content":["x"]}`, "content is array, want string or absent or null"},
		{"rpi", store.Out, `{"type":"response","id":"1","status":"error"}`, "error is absent, want string"},
		{"rpi", store.Out, `{"type":"response","id":"1","status":1,"result":{"sessionId":9}}`, "result.sessionId is number, want string or absent or null; status is number, want string"},
		{"rpi", store.Out, `{"type":"agent_end","messages":[]}`, "messageCount is absent, want integer"},
		{"rpi", store.Out, `{"type":"turn_end","message":null,"toolResultCount":0.5,"toolResults":[]}`, "toolResultCount is number, want integer"},
		{"rpi", store.Out, `{"type":"retry_scheduled","attempt":3,"maxRetries":10,"delayMs":"8000","error":"x"}`, "delayMs is string, want integer"},
		{"rpi", store.Out, `{"type":"tool_execution_start","toolCallId":1,"toolName":"read"}`, "toolCallId is number, want string"},
		{"rpi", store.Out, `{"type":"tool_execution_update","toolCallId":"c","toolName":"read","args":{}}`, "partialResult is absent, want present"},
		{"rpi", store.Out, `{"type":"tool_execution_end","toolCallId":"c","toolName":"read","isError":"no","result":{}}`, "isError is string, want boolean"},
		{"rpi", store.Out, `{"type":"message_update","contentIndex":"0","delta":1}`, "contentIndex is string, want integer or absent or null; delta is number, want string or absent or null"},
		{"rpi-server", store.In, `{"jsonrpc":"2.0","id":1,"method":"send","params":{"sessionId":"s","command":{"id":1,"type":"set_thinking_level"}}}`, "params.command.level is absent, want string"},

		// ACP: cwd, sessionId, modeId and methodId are strings, whatever else comes
		{"acp", store.In, `{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":7,"mcpServers":[],"x":1}}`, "params.cwd is number, want string"},
		{"acp", store.In, `{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":{"id":1},"prompt":[{"type":"text"},{"text":"x"}]}}`,
			"params.prompt.*.type is absent, want string; params.sessionId is object, want string"},
		{"acp", store.In, `{"jsonrpc":"2.0","id":1,"method":"session/load","params":{"sessionId":1,"cwd":null}}`, "params.cwd is null, want string; params.sessionId is number, want string"},
		{"acp", store.In, `{"jsonrpc":"2.0","id":1,"method":"session/set_mode","params":{"sessionId":"s","modeId":true}}`, "params.modeId is boolean, want string"},
		{"acp", store.In, `{"jsonrpc":"2.0","id":1,"method":"authenticate","params":{}}`, "params.methodId is absent, want string"},
		{"acp", store.In, `{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":null}}`, "params.sessionId is null, want string"},
		{"acp", store.In, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"1","_meta":[]}}`, "params._meta is array, want object or absent or null; params.protocolVersion is string, want integer"},
		{"acp", store.Out, `{"jsonrpc":"2.0","id":1,"result":{"sessionId":12}}`, "result.sessionId is number, want string or absent"},
		{"acp", store.Out, `{"jsonrpc":"2.0","id":1,"result":{"stopReason":["end_turn"],"_meta":{"any":1},"unknown":[1]}}`, "result.stopReason is array, want string or absent"},
		{"acp", store.Out, `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call","title":"t","_meta":{"x":[1]}},"_meta":{}}}`, "params.update.toolCallId is absent, want string"},
		{"acp", store.Out, `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"new_kind","anything":{"goes":[]}}}}`, ""},
		{"acp", store.Out, `{"id":3,"method":"fs/write_text_file","params":{"sessionId":"s","path":"/a"}}`, "jsonrpc is absent, want string; params.content is absent, want string"},
		{"acp", store.Out, `[{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","id":2,"error":{"code":"x"}}]`, "1.error.code is string, want integer; 1.error.message is absent, want string"},
		{"acp", store.In, `not json`, ""},
	} {
		var got []string
		for _, p := range builtinDialect(t, c.dialect).Check(c.stream, []byte(c.raw)) {
			got = append(got, p.String())
		}
		if s := strings.Join(got, "; "); s != c.want {
			t.Errorf("%s %s\n got %s\nwant %s", c.dialect, c.raw, s, c.want)
		}
	}
	var tools []string
	for i := range 100 {
		tools = append(tools, fmt.Sprintf(`{"name":%d}`, i))
	}
	many := builtinDialect(t, "phi").Check(store.Out, []byte(`{"type":"tools_listed","tools":[`+strings.Join(tools, ",")+`]}`))
	if len(many) != maxProblems {
		t.Errorf("%d problems in one frame", len(many))
	}
}
