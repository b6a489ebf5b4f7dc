package transcript

import (
	"strings"
	"testing"
)

// TestFindingsOfKnownBugs: what users of pi, ACP and MCP software have reported
// is found, that and nothing else; and what looks like a fault and is allowed is
// none. (Those of phi are in TestFindings.)
func TestFindingsOfKnownBugs(t *testing.T) {
	acp := func(lines ...string) []string {
		return append([]string{`in {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}`, `out {"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}`}, lines...)
	}
	prompt := `in {"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"text","text":"q"}]}}`
	ended := `out {"jsonrpc":"2.0","id":1,"result":{"stopReason":"end_turn"}}`
	said := `out {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"t"}}}}`
	ask := `out {"jsonrpc":"2.0","id":0,"method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"c"},"options":[]}}`
	allow := `in {"jsonrpc":"2.0","id":0,"result":{"outcome":{"outcome":"cancelled"}}}`
	mcp := func(lines ...string) []string {
		return append([]string{`in {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`, `out {"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}`}, lines...)
	}
	call := `in {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}`
	result := `out {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"r"}]}}`
	cancel := `in {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`
	piPrompt := `in {"id":"1","type":"prompt","message":"q"}`
	piAccepted := `out {"id":"1","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}`
	piStart := `out {"type":"agent_start"}`
	piEnd := []string{`out {"type":"agent_end","messages":[],"willRetry":false}`, `out {"type":"agent_settled","aborted":false}`}
	for _, c := range []struct {
		name, dialect string
		lines         []string
		want          string
	}{
		{"pi: an extension writes a title before a frame", "pi", append([]string{piPrompt, piAccepted, "out \x1b]0;pi\x07" + piStart[4:]}, piEnd...), "3 escape"},
		{"pi: one prompt, two contradicting responses", "pi", append([]string{piPrompt, piAccepted, `out {"id":"1","type":"response","command":"prompt","success":false,"error":"no model"}`, piStart}, piEnd...), "(3 unasked)"},
		{"pi: end of input after the prompt", "pi", []string{piPrompt, piAccepted, piStart}, "1 no-end"},
		{"pi: an unknown command is refused without an id", "pi", []string{`in {"id":"7","type":"nonsense"}`, `out {"type":"response","command":"nonsense","success":false,"error":"Unknown command: nonsense"}`}, ""},
		{"pi: an empty line is refused as JSON", "pi", []string{`in `, `out {"type":"response","command":"parse","success":false,"error":"Failed to parse command"}`}, "1 empty, (2 unasked)"},
		{"pi: abort is not answered while a dialog is open", "pi", append([]string{piPrompt, piAccepted, piStart, `out {"type":"extension_ui_request","id":"u","method":"confirm","title":"t","message":"m"}`, `in {"id":"2","type":"abort"}`}, piEnd...), "(4 unanswered), 5 unanswered"},
		{"pi: several ends of a run, one settled", "pi", append([]string{piPrompt, piAccepted, piStart, `out {"type":"agent_end","messages":[],"willRetry":true}`, `out {"type":"auto_retry_start","attempt":1,"maxAttempts":3,"delayMs":1,"errorMessage":"503"}`, piStart}, piEnd...), ""},

		{"ACP: logs of a migration on stdout", "acp", acp(`out Performing one time database migration...`), "3 stray"},
		{"ACP: a response over several lines", "acp", acp(prompt, `out {`, `out   "jsonrpc": "2.0",`, `out }`, ended), "4 broken, 5 stray, 6 stray"},
		{"ACP: two frames in one line", "acp", acp(prompt, said+ended[4:]), "3 no-end, 4 two"},
		{"ACP: a number for a session", "acp", acp(strings.Replace(prompt, `"s"`, `7`, 1), ended), "3 field"},
		{"ACP: updates after the end of the turn", "acp", acp(prompt, ended, said), ""},
		{"ACP: permission ids that begin at 0 in every turn", "acp", acp(prompt, ask, allow, ended, prompt, ask, allow, ended), ""},
		{"ACP: a permission that nobody answers", "acp", acp(prompt, ask, ended), "(4 unanswered)"},
		{"ACP: the prompt is never answered", "acp", acp(prompt, said), "3 no-end"},
		{"ACP: a call that was never announced", "acp", acp(prompt, `out {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"completed"}}}`, ended), ""},

		{"MCP: id 1 for every request, one after the other", "mcp", mcp(call, result, call, result), ""},
		{"MCP: id 1 for two requests at once", "mcp", mcp(call, call, result, result), "4 duplicate"},
		{"MCP: the id comes back as a string", "mcp", mcp(call, strings.Replace(result, `"id":1`, `"id":"1"`, 1)), "3 unanswered, 4 unasked"},
		{"MCP: cancelled and silent", "mcp", mcp(call, cancel), ""},
		{"MCP: cancelled and answered all the same", "mcp", mcp(call, cancel, result), ""},
		{"MCP: print on stdout", "mcp", mcp(`out Server running on stdio`), "3 stray"},
		{"MCP: an answer lost", "mcp", mcp(call), "3 unanswered"},
		{"MCP: the client left before it answered", "mcp", mcp(`out {"jsonrpc":"2.0","id":0,"method":"roots/list"}`), "(3 unanswered)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := rules(t, build(t, c.dialect, phi(c.lines...))); got != c.want {
				t.Errorf("found %q, want %q", got, c.want)
			}
		})
	}
}
