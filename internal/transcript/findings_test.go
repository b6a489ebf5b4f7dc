package transcript

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"agentrec/store"
)

// rules returns the findings as "seq rule", notes in parentheses.
func rules(t *testing.T, tr *Transcript) string {
	t.Helper()
	list, err := tr.Findings(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, f := range list {
		s := fmt.Sprintf("%d %s", f.Seq, f.Rule)
		if f.Severity == Note {
			s = "(" + s + ")"
		}
		out = append(out, s)
		if f.Message == "" || strings.ContainsFunc(f.Message, func(r rune) bool { return r < ' ' }) {
			t.Errorf("a bad message: %q", f.Message)
		}
	}
	return strings.Join(out, ", ")
}

// TestFindings: each session has exactly the fault that it is there for.
func TestFindings(t *testing.T) {
	hello := `out {"type":"hello","protocol_version":1,"server_name":"phi-agent","server_version":"0.3.0"}`
	tool := []string{hello, `in {"type":"register_tool","name":"t","description":"d","parameters":{}}`, `out {"type":"tool_registered","name":"t","ok":true}`}
	run := `in {"type":"run","session_id":"","query":"q"}`
	call := func(seq int, id, name string) string {
		return fmt.Sprintf(`out {"type":"tool_call","seq":%d,"call_id":%q,"name":%q,"args":{}}`, seq, id, name)
	}
	finished := func(name, summary string) string {
		return fmt.Sprintf(`out {"type":"event","seq":9,"runtimeEventType":"toolCallFinished","tool_name":%q,"summary":%q}`, name, summary)
	}
	result := func(id string) string {
		return fmt.Sprintf(`in {"type":"tool_result","call_id":%q,"summary":"ok"}`, id)
	}
	done := `out {"type":"done","seq":9,"outcome":"completed"}`
	rpc := func(lines ...string) []string {
		return append([]string{`in {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{}}}`, `out {"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1,"agentCapabilities":{}}}`}, lines...)
	}
	for _, c := range []struct {
		name, dialect string
		lines         []string
		want          string
	}{
		{"clean", "phi", append(tool[:3:3], run, call(1, "a", "t"), result("a"), finished("t", "ok"), done), ""},
		{"second call without slot", "phi", append(tool[:3:3], run, call(1, "a", "t"), result("a"), finished("t", "ok"), call(2, "b", "t"), finished("t", "no tool call slot prepared"), result("b"), done), "9 phi-no-slot"},
		{"call of an own tool", "phi", append(tool[:3:3], run, call(1, "a", "update_plan"), result("a"), finished("update_plan", "ok"), done), "5 phi-own-tool"},
		{"error without done", "phi", []string{hello, run, `out {"type":"error","code":"TURN_ERROR","message":"HTTP 500"}`}, "3 phi-no-done"},
		{"mute after the error", "phi", []string{hello, run, `out {"type":"error","code":"TURN_ERROR","message":"HTTP 500"}`, run, `in {"type":"list_tools"}`}, "3 phi-no-done"},
		{"alive after the error", "phi", []string{hello, run, `out {"type":"error","code":"TURN_ERROR","message":"HTTP 500"}`, run, done}, ""},
		{"swallowed list_tools", "phi", []string{hello, run, `in {"type":"list_tools"}`, done}, "3 phi-swallowed"},
		{"swallowed list_tools, asked again", "phi", []string{hello, run, `in {"type":"list_tools"}`, done, `in {"type":"list_tools"}`, `out {"type":"tools_listed","tools":[]}`}, "3 phi-swallowed"},
		{"read after the run after all", "phi", []string{hello, run, `in {"type":"list_tools"}`, done, `out {"type":"tools_listed","tools":[]}`}, ""},
		{"swallowed of unknown type", "phi", []string{hello, run, `in {"type":"nonsense"}`, done}, "3 phi-swallowed"},
		{"swallowed run", "phi", []string{hello, run, run, done}, "3 phi-swallowed"},
		{"created for nothing", "phi", []string{hello, `in {"type":"create_session","session_id":"x"}`, `out {"type":"session_created","session_id":"x","internal_id":1}`, run, done}, "2 phi-unused-session"},
		{"no done", "phi", []string{hello, run, `out {"type":"event","seq":1,"runtimeEventType":"textDelta","text":"x"}`}, "2 no-end"},
		{"long line", "phi", []string{hello, run, `out {"type":"event","seq":1,"runtimeEventType":"textDelta","text":"` + strings.Repeat("x", 70000) + `"}`, done}, "3 long"},
		{"long line, no known client", "acp", rpc(`out {"jsonrpc":"2.0","method":"x","params":"` + strings.Repeat("x", 70000) + `"}`), "(3 long)"},
		{"stray line", "acp", rpc(`out DEBUG loading`), "3 stray"},
		{"stray line of the client", "acp", rpc(`in hi`), "3 stray"},
		{"reaction to a stray line", "acp", rpc(`out DEBUG loading`, `in {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}`), "3 stray, (4 unasked)"},
		{"escape codes", "acp", rpc("out \x1b]0;title\x07\x1b[0m" + `{"jsonrpc":"2.0","method":"x"}`), "3 escape"},
		{"byte order mark", "acp", rpc("out \xef\xbb\xbf" + `{"jsonrpc":"2.0","method":"x"}`), "3 bom"},
		{"two objects", "acp", rpc(`out {"jsonrpc":"2.0","method":"x"}{"jsonrpc":"2.0","method":"y"}`), "3 two"},
		{"text before JSON", "acp", rpc(`out INFO {"jsonrpc":"2.0","method":"x"}`), "3 glued"},
		{"torn JSON", "acp", rpc(`out {"jsonrpc":"2.0","method":`), "3 broken"},
		{"empty line", "acp", rpc(`out `), "3 empty"},
		{"unknown JSON", "acp", rpc(`out 42`), "3 unknown"},
		{"answer without request", "acp", rpc(`out {"jsonrpc":"2.0","id":7,"result":{}}`), "3 unasked"},
		{"id of another type", "acp", rpc(`in {"jsonrpc":"2.0","id":1,"method":"x"}`, `out {"jsonrpc":"2.0","id":"1","result":{}}`), "3 unanswered, 4 unasked"},
		{"duplicate id in flight", "acp", rpc(`in {"jsonrpc":"2.0","id":1,"method":"x"}`, `in {"jsonrpc":"2.0","id":1,"method":"y"}`, `out {"jsonrpc":"2.0","id":1,"result":{}}`, `out {"jsonrpc":"2.0","id":1,"result":{}}`), "4 duplicate"},
		{"id used again", "acp", rpc(`in {"jsonrpc":"2.0","id":1,"method":"x"}`, `out {"jsonrpc":"2.0","id":1,"result":{}}`, `in {"jsonrpc":"2.0","id":1,"method":"y"}`, `out {"jsonrpc":"2.0","id":1,"result":{}}`), ""},
		{"unanswered", "acp", rpc(`in {"jsonrpc":"2.0","id":1,"method":"x"}`), "3 unanswered"},
		{"unanswered by the client that left", "acp", rpc(`out {"jsonrpc":"2.0","id":1,"method":"x"}`), "(3 unanswered)"},
		{"prompt without end", "acp", rpc(`in {"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s","prompt":[]}}`), "3 no-end"},
		{"a field of the wrong type", "acp", rpc(`in {"jsonrpc":"2.0","id":1,"method":"session/set_mode","params":{"sessionId":7,"modeId":"m","unknown":[]}}`, `out {"jsonrpc":"2.0","id":1,"result":{}}`), "3 field"},
		{"open subscription", "mcp", []string{`in {"jsonrpc":"2.0","id":"listen:0","method":"subscriptions/listen"}`, `out {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"listen:0"}}}`}, "(1 unanswered)"},
		{"cancelled without answer", "mcp", []string{`in {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}`, `in {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := rules(t, build(t, c.dialect, phi(c.lines...))); got != c.want {
				t.Errorf("found %s, want %s", got, c.want)
			}
		})
	}
}

// TestExpected: what only its request tells of a response, it tells; of an error
// nothing is expected.
func TestExpected(t *testing.T) {
	for _, c := range []struct{ ask, answer, want string }{
		{"in initialize", `{}`, "response: result.protocolVersion is absent, want integer"},
		{"in session/new", `{"modes":null}`, "response: result.sessionId is absent, want string"},
		{"in session/fork", `{}`, "response: result.sessionId is absent, want string"},
		{"in session/load", `null`, ""},
		{"in session/prompt", `{"stop":"end_turn"}`, "response: result.stopReason is absent, want string"},
		{"in session/prompt", `{"stopReason":1}`, "response: result.stopReason is number, want string or absent"},
		{"in session/prompt", `{"stopReason":"end_turn"}`, ""},
		{"in session/set_config_option", `{}`, "response: result.configOptions is absent, want array"},
		{"in session/list", `{}`, "response: result.sessions is absent, want array"},
		{"in session/status", `{}`, ""},
		{"out session/request_permission", `{}`, "response: result.outcome is absent, want object"},
		{"out fs/read_text_file", `{}`, "response: result.content is absent, want string"},
		{"out fs/write_text_file", `{}`, ""},
		{"out terminal/create", `{}`, "response: result.terminalId is absent, want string"},
		{"out terminal/output", `{"output":"o"}`, "response: result.truncated is absent, want boolean"},
		{"out terminal/kill", `{}`, ""},
	} {
		asks, method, _ := strings.Cut(c.ask, " ")
		answers := map[string]string{"in": "out", "out": "in"}[asks]
		params := `{"sessionId":"s","cwd":"/","protocolVersion":1,"prompt":[],"path":"/p","content":"c","command":"c","terminalId":"t","configId":"c","toolCall":{"toolCallId":"c"},"options":[]}`
		list, err := build(t, "acp", phi(
			fmt.Sprintf(`%s {"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, asks, method, params),
			fmt.Sprintf(`%s {"jsonrpc":"2.0","id":1,"result":%s}`, answers, c.answer),
			fmt.Sprintf(`%s {"jsonrpc":"2.0","id":2,"method":%q,"params":%s}`, asks, method, params),
			fmt.Sprintf(`%s {"jsonrpc":"2.0","id":2,"error":{"code":-1,"message":"no"}}`, answers),
		)).Findings(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range list {
			if f.Rule == "field" {
				got = append(got, f.Message)
			}
		}
		if s := strings.ReplaceAll(strings.Join(got, "; "), method+":", ""); s != c.want {
			t.Errorf("%s answered by %s: %q, want %q", c.ask, c.answer, s, c.want)
		}
	}
}

// TestFindingsReal: nothing is found where nothing is wrong.
func TestFindingsReal(t *testing.T) {
	files, err := filepath.Glob("testdata/wire/*.wire.ndjson")
	if err != nil || len(files) == 0 {
		t.Fatal("no conversations", err)
	}
	for _, file := range files {
		if got := rules(t, build(t, "", wire(t, file))); got != "" {
			t.Errorf("%s: %s", file, got)
		}
	}
}

// TestFindingsCut: what a cut explains is a note.
func TestFindingsCut(t *testing.T) {
	tr := build(t, "phi", phi(`in {"type":"run","query":"q"}`))
	tr.Session.State = store.Cut
	if got := rules(t, tr); got != "(1 no-end)" {
		t.Error(got)
	}
	tr.Session.State = store.Recording
	if got := rules(t, tr); got != "" {
		t.Error(got)
	}
}

// TestFindingsBounded lists a bounded number of findings of one rule.
func TestFindingsBounded(t *testing.T) {
	var lines []string
	for range 1000 {
		lines = append(lines, "out noise")
	}
	list, err := build(t, "acp", phi(lines...)).Findings(t.Context())
	if err != nil || len(list) != maxFindings || !strings.Contains(list[maxFindings-1].Message, "1000 findings like this, 100 listed") {
		t.Errorf("%d findings, %v, %v", len(list), list[len(list)-1], err)
	}
}

func TestSplits(t *testing.T) {
	for raw, want := range map[string]int{
		`{}`: 1, `{}{}`: 2, `{} {} []`: 3, `{}x`: 0, ``: 0, `{"a":"}{"}{"b":1}`: 2, `{`: 0, `{}{`: 0,
		strings.Repeat("}{", 100000): 0,
	} {
		if got := splits([]byte(raw)); got != want {
			t.Errorf("%.20q: %d, want %d", raw, got, want)
		}
	}
}
