package dialect

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"agentrec/store"
)

// sound are frames with the fields that clients and agents of a protocol rely
// on: * marks those that must be there, the others may be absent.
var sound = []struct {
	dialect string
	stream  store.Stream
	raw     string
	fields  string
}{
	{"phi", store.In, `{"type":"register_tool","name":"t","description":"d","parameters":{}}`, "*name *description"},
	{"phi", store.In, `{"type":"create_session","session_id":"s"}`, "session_id"},
	{"phi", store.In, `{"type":"run","session_id":"s","query":"q","config":{"model":"m","api_key":"k","base_url":"u","enable_thinking":true,"thinking_budget":1,"thinking_effort":"low","max_tool_calls_per_turn":1,"max_consecutive_failures":1,"max_turns":1}}`,
		"session_id *query config config.model config.api_key config.base_url config.enable_thinking config.thinking_budget config.thinking_effort config.max_tool_calls_per_turn config.max_consecutive_failures config.max_turns"},
	{"phi", store.In, `{"type":"tool_result","call_id":"c","summary":"s","raw":{},"control_flow":"break"}`, "*call_id *summary control_flow"},
	{"phi", store.In, `{"type":"cancel","session_id":"s"}`, "session_id"},
	{"phi", store.Out, `{"type":"hello","protocol_version":1,"server_name":"phi-agent","server_version":"0.3.0"}`, "*protocol_version *server_name *server_version"},
	{"phi", store.Out, `{"type":"tool_registered","name":"t","ok":true}`, "*name *ok"},
	{"phi", store.Out, `{"type":"session_created","session_id":"s","internal_id":2}`, "session_id *internal_id"},
	{"phi", store.Out, `{"type":"tools_listed","tools":[{"name":"n","description":"d","origin":"o","version":"v","requirements":[]}]}`, "*tools *tools.0.name *tools.0.description *tools.0.origin *tools.0.version *tools.0.requirements"},
	{"phi", store.Out, `{"type":"tool_call","seq":1,"call_id":"c","name":"n","args":{}}`, "*seq *call_id *name"},
	{"phi", store.Out, `{"type":"done","seq":1,"outcome":"completed","error":"e","turns":1}`, "*seq *outcome error turns"},
	{"phi", store.Out, `{"type":"error","code":"TURN_ERROR","message":"m"}`, "*code *message"},
	{"phi", store.Out, `{"type":"event","seq":1,"runtimeEventType":"textDelta","text":"t"}`, "*seq *runtimeEventType *text"},
	{"phi", store.Out, `{"type":"event","seq":1,"runtimeEventType":"thoughtDelta","text":"t"}`, "*seq *text"},
	{"phi", store.Out, `{"type":"event","seq":1,"runtimeEventType":"toolCallStarted","tool_name":"t","args_json":"{}"}`, "*seq *tool_name *args_json"},
	{"phi", store.Out, `{"type":"event","seq":1,"runtimeEventType":"toolCallFinished","tool_name":"t","summary":"s","denied":false}`, "*seq *tool_name *summary denied"},
	{"phi", store.Out, `{"type":"event","seq":1,"runtimeEventType":"planUpdated","objective":"o","explanation":"e","plan":[{"step":"s","status":"p"}]}`, "*seq objective explanation *plan *plan.0.step *plan.0.status"},
	{"phi", store.Out, `{"type":"event","seq":1,"runtimeEventType":"checkpoint","checkpoint":{"step":"AfterUserInput"}}`, "*seq *checkpoint *checkpoint.step"},
	{"phi", store.Out, `{"type":"event","seq":1,"runtimeEventType":"userEvent","event":{"userEventType":"progress","text":"x"}}`, "*seq *event *event.userEventType"},
	{"phi", store.Out, `{"type":"event","seq":1,"runtimeEventType":"awaitingApproval","request":{"title":"t"}}`, "*seq *request"},

	{"rpi", store.In, `{"id":"1","type":"prompt","content":"c"}`, "content"},
	{"rpi", store.In, `{"id":"1","type":"set_model","model":"m"}`, "*model"},
	{"rpi", store.In, `{"id":"1","type":"set_thinking_level","level":"low"}`, "*level"},
	{"rpi", store.In, `{"id":"1","type":"set_active_tools","tools":["read"]}`, "*tools"},
	{"rpi", store.Out, `{"type":"response","id":"1","status":"ok","result":{"model":"m","activeTools":[],"leafId":"l","sessionId":"s"}}`, "*status result.model result.activeTools result.leafId result.sessionId"},
	{"rpi", store.Out, `{"type":"response","id":"1","status":"ok","result":{"outcome":"completed","finalText":"t"}}`, "*status result.finalText"},
	{"rpi", store.Out, `{"type":"response","id":"1","status":"error","error":"e"}`, "*error"},
	{"rpi", store.Out, `{"type":"message_update","eventType":"text_delta","contentIndex":0,"delta":"d"}`, "contentIndex delta"},
	{"rpi", store.Out, `{"type":"tool_execution_start","toolCallId":"c","toolName":"t"}`, "*toolCallId *toolName"},
	{"rpi", store.Out, `{"type":"tool_execution_update","toolCallId":"c","toolName":"t","partialResult":{}}`, "*toolCallId *toolName"},
	{"rpi", store.Out, `{"type":"tool_execution_end","toolCallId":"c","toolName":"t","isError":false,"result":{}}`, "*toolCallId *toolName *isError"},
	{"rpi", store.Out, `{"type":"agent_end","messageCount":1,"messages":[]}`, "*messageCount"},
	{"rpi", store.Out, `{"type":"turn_end","message":{},"toolResultCount":0,"toolResults":[]}`, "*toolResultCount"},
	{"rpi", store.Out, `{"type":"retry_scheduled","attempt":1,"maxRetries":2,"delayMs":3,"error":"e"}`, "*attempt *maxRetries *delayMs *error"},
	{"rpi2", store.In, `{"id":"1","type":"prompt","message":"m"}`, "message"},
	{"rpi2", store.Out, `{"type":"agent_settled","outcome":"completed","aborted":false}`, "outcome aborted"},

	{"acp", store.In, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{}}}`, "*jsonrpc *params.protocolVersion params.clientCapabilities"},
	{"acp", store.In, `{"jsonrpc":"2.0","id":0,"method":"authenticate","params":{"methodId":"m"}}`, "*params.methodId"},
	{"acp", store.In, `{"jsonrpc":"2.0","id":0,"method":"session/new","params":{"cwd":"/","mcpServers":[{"name":"n","command":"c"}]}}`, "*params.cwd params.mcpServers *params.mcpServers.0.name"},
	{"acp", store.In, `{"jsonrpc":"2.0","id":0,"method":"session/load","params":{"sessionId":"s","cwd":"/","mcpServers":[]}}`, "*params.sessionId *params.cwd params.mcpServers"},
	{"acp", store.In, `{"jsonrpc":"2.0","id":0,"method":"session/close","params":{"sessionId":"s"}}`, "*params.sessionId"},
	{"acp", store.In, `{"jsonrpc":"2.0","id":0,"method":"session/set_mode","params":{"sessionId":"s","modeId":"m"}}`, "*params.sessionId *params.modeId"},
	{"acp", store.In, `{"jsonrpc":"2.0","id":0,"method":"session/set_config_option","params":{"sessionId":"s","configId":"c","value":"v"}}`, "*params.sessionId *params.configId"},
	{"acp", store.In, `{"jsonrpc":"2.0","id":0,"method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"text","text":"t"}]}}`, "*params.sessionId *params.prompt *params.prompt.0.type params.prompt.0.text"},
	{"acp", store.In, `{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}`, "*params.sessionId"},
	{"acp", store.In, `{"jsonrpc":"2.0","id":0,"result":{"outcome":{"outcome":"selected","optionId":"o"}}}`, "result.outcome *result.outcome.outcome *result.outcome.optionId"},
	{"acp", store.In, `{"jsonrpc":"2.0","id":0,"result":{"outcome":{"outcome":"cancelled"}}}`, "result.outcome *result.outcome.outcome"},
	{"acp", store.In, `{"jsonrpc":"2.0","id":0,"result":{"output":"o","truncated":false,"exitStatus":{"exitCode":0,"signal":"TERM"}}}`, "result.output result.truncated result.exitStatus result.exitStatus.exitCode result.exitStatus.signal"},
	{"acp", store.In, `{"jsonrpc":"2.0","id":0,"result":{"exitCode":0,"signal":"TERM"}}`, "result.exitCode result.signal"},
	{"acp", store.Out, `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1,"agentCapabilities":{"loadSession":true,"promptCapabilities":{"image":true,"audio":true,"embeddedContext":true},"mcpCapabilities":{"http":true,"sse":true},"sessionCapabilities":{"list":{}}},"agentInfo":{"name":"n","title":"t","version":"1"},"authMethods":[{"id":"i","name":"n"}]}}`,
		"result.agentCapabilities result.agentCapabilities.loadSession result.agentCapabilities.promptCapabilities result.agentCapabilities.promptCapabilities.image result.agentCapabilities.promptCapabilities.audio result.agentCapabilities.promptCapabilities.embeddedContext result.agentCapabilities.mcpCapabilities result.agentCapabilities.mcpCapabilities.http result.agentCapabilities.mcpCapabilities.sse result.agentCapabilities.sessionCapabilities result.agentInfo *result.agentInfo.name *result.agentInfo.version result.authMethods *result.authMethods.0.id *result.authMethods.0.name"},
	{"acp", store.Out, `{"jsonrpc":"2.0","id":0,"result":{"sessionId":"s","modes":{"currentModeId":"m","availableModes":[{"id":"m","name":"n"}]},"configOptions":[{"id":"c","name":"n","type":"select","currentValue":"v","options":[]}],"models":{"currentModelId":"m","availableModels":[{"modelId":"m"}]}}}`,
		"result.modes *result.modes.currentModeId *result.modes.availableModes *result.modes.availableModes.0.id *result.modes.availableModes.0.name result.configOptions *result.configOptions.0.id *result.configOptions.0.name result.models *result.models.currentModelId *result.models.availableModels *result.models.availableModels.0.modelId"},
	{"acp", store.Out, `{"jsonrpc":"2.0","id":0,"result":{"modes":{"currentModeId":"m","availableModes":[{"id":"m","name":"n"}]},"configOptions":[{"id":"c","name":"n","type":"select","currentValue":"v","options":[]}]}}`,
		"result.modes *result.modes.currentModeId *result.modes.availableModes *result.modes.availableModes.0.id result.configOptions *result.configOptions.0.id"},
	{"acp", store.Out, `{"jsonrpc":"2.0","id":0,"result":{"stopReason":"end_turn","usage":{"inputTokens":1,"outputTokens":1,"totalTokens":2,"cachedReadTokens":0}}}`, "result.usage result.usage.inputTokens result.usage.outputTokens result.usage.totalTokens result.usage.cachedReadTokens"},
	{"acp", store.Out, `{"jsonrpc":"2.0","id":0,"result":{"sessions":[{"sessionId":"s","cwd":"/","title":"t","updatedAt":"u"}],"nextCursor":"c"}}`, "result.sessions *result.sessions.0.sessionId *result.sessions.0.cwd result.sessions.0.title result.sessions.0.updatedAt result.nextCursor"},
	{"acp", store.Out, `{"jsonrpc":"2.0","id":0,"result":{"providers":[{"providerId":"p"}]}}`, "result.providers *result.providers.0.providerId"},
	{"acp", store.Out, `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"t"}}}}`, "*params.sessionId *params.update *params.update.sessionUpdate *params.update.content *params.update.content.type *params.update.content.text"},
	{"acp", store.Out, `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"c","title":"t","status":"pending","content":[],"locations":[]}}}`, "*params.sessionId *params.update.toolCallId *params.update.title params.update.status params.update.content params.update.locations"},
	{"acp", store.Out, `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"completed"}}}`, "*params.sessionId *params.update.toolCallId params.update.status"},
	{"acp", store.Out, `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"plan","entries":[{"content":"c","priority":"high","status":"pending"}]}}}`, "*params.sessionId *params.update.entries *params.update.entries.0.content"},
	{"acp", store.Out, `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"current_mode_update","currentModeId":"m"}}}`, "*params.update.currentModeId"},
	{"acp", store.Out, `{"jsonrpc":"2.0","id":0,"method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"c"},"options":[{"optionId":"o","name":"n","kind":"allow_once"}]}}`,
		"*params.sessionId *params.toolCall *params.toolCall.toolCallId *params.options *params.options.0.optionId *params.options.0.name *params.options.0.kind"},
	{"acp", store.Out, `{"jsonrpc":"2.0","id":0,"method":"fs/write_text_file","params":{"sessionId":"s","path":"/","content":"c"}}`, "*params.sessionId *params.path *params.content"},
	{"acp", store.Out, `{"jsonrpc":"2.0","id":0,"method":"terminal/create","params":{"sessionId":"s","command":"c"}}`, "*params.sessionId *params.command"},
	{"acp", store.Out, `{"jsonrpc":"2.0","id":0,"method":"terminal/output","params":{"sessionId":"s","terminalId":"t"}}`, "*params.sessionId *params.terminalId"},
	{"acp", store.Out, `{"jsonrpc":"2.0","id":0,"method":"elicitation/create","params":{"sessionId":"s","message":"m","mode":"form"}}`, "params.sessionId *params.message"},
	{"acp", store.Out, `{"jsonrpc":"2.0","id":0,"error":{"code":-1,"message":"m"}}`, "*error.code *error.message"},
	{"acp2", store.In, `{"jsonrpc":"2.0","id":0,"method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"text","text":"t"}]}}`, "*params.sessionId *params.prompt"},
	{"acp2", store.Out, `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"state_update","state":"idle","stopReason":"end_turn"}}}`, "*params.sessionId *params.update.state params.update.stopReason"},
	{"acp2", store.Out, `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message","messageId":"m","content":[]}}}`, "*params.sessionId *params.update.messageId"},
	{"acp2", store.Out, `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"completed"}}}`, "*params.sessionId *params.update.toolCallId"},
}

// TestMutatedFrames: a load-bearing field of the wrong type is a finding at its
// place, one that is missing too where it must be there, and a key that nobody
// knows never is, wherever it stands.
func TestMutatedFrames(t *testing.T) {
	for _, c := range sound {
		d := builtinDialect(t, c.dialect)
		problems := func(raw []byte) string {
			var places []string
			for _, p := range d.Check(c.stream, raw) {
				places = append(places, p.Path)
			}
			return strings.Join(places, " ")
		}
		if got := problems([]byte(c.raw)); got != "" {
			t.Errorf("%s %s: wrong at %s", c.dialect, c.raw, got)
		}
		if raw := mutated(t, c.raw, "", strange); problems(raw) != "" {
			t.Errorf("%s %s: unknown keys are wrong at %s", c.dialect, raw, problems(raw))
		}
		for field := range strings.FieldsSeq(c.fields) {
			path, must := strings.CutPrefix(field, "*")
			place := starred(path)
			for _, to := range []func(any) any{wrong, null} {
				if raw := mutated(t, c.raw, path, to); !strings.Contains(" "+problems(raw)+" ", " "+place+" ") && (must || to(0) != nil) {
					t.Errorf("%s %s: nothing is wrong at %s, only at %q", c.dialect, raw, place, problems(raw))
				}
			}
			gone := mutated(t, c.raw, path, remove)
			if got := " " + problems(gone) + " "; strings.Contains(got, " "+place+" ") != must {
				t.Errorf("%s %s: without %s wrong at %q", c.dialect, gone, place, got)
			}
		}
	}
}

// starred is a path as findings name it: * for an element.
func starred(path string) string {
	keys := strings.Split(path, ".")
	for i, k := range keys {
		if _, err := strconv.Atoi(k); err == nil {
			keys[i] = "*"
		}
	}
	return strings.Join(keys, ".")
}

type gone struct{}

func remove(any) any { return gone{} }
func null(any) any   { return nil }

// wrong is a value of a kind that no field has.
func wrong(v any) any {
	if _, ok := v.([]any); ok {
		return "no list"
	}
	return []any{"wrong"}
}

// strange adds a key that no protocol knows.
func strange(v any) any {
	if m, ok := v.(map[string]any); ok {
		m["x-unheard-of"] = map[string]any{"sessionId": []any{1}}
		m["_meta"] = map[string]any{"any": []any{nil}}
	}
	return v
}

// mutated returns the frame with change applied at the path, or to every value
// when that is "".
func mutated(t *testing.T, raw, path string, change func(any) any) []byte {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(raw), &v); err != nil {
		t.Fatal(err)
	}
	if path == "" {
		everywhere(v, change)
	} else {
		at(v, strings.Split(path, "."), change)
	}
	var b bytes.Buffer
	if err := json.NewEncoder(&b).Encode(v); err != nil {
		t.Fatal(err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

func everywhere(v any, change func(any) any) {
	switch v := v.(type) {
	case map[string]any:
		for _, x := range v {
			everywhere(x, change)
		}
		change(v)
	case []any:
		for _, x := range v {
			everywhere(x, change)
		}
	}
}

func at(v any, keys []string, change func(any) any) {
	if list, ok := v.([]any); ok {
		i, _ := strconv.Atoi(keys[0])
		at(list[i], keys[1:], change)
		return
	}
	m := v.(map[string]any)
	if len(keys) > 1 {
		at(m[keys[0]], keys[1:], change)
		return
	}
	if x := change(m[keys[0]]); x == (gone{}) {
		delete(m, keys[0])
	} else {
		m[keys[0]] = x
	}
}
