package dialect

import "testing"

// TestDecline holds what an agent gets for a request that nobody can answer:
// the answer of its own protocol, with the request's id.
func TestDecline(t *testing.T) {
	for _, c := range []struct{ dialect, request, want string }{
		{"phi", `{"type":"tool_call","seq":4,"call_id":"call-4","name":"x","args":{}}`, `{"type":"tool_result","call_id":"call-4","summary":"no","raw":null,"control_flow":"break"}`},
		{"acp", `{"jsonrpc":"2.0","id":0,"method":"fs/read_text_file","params":{}}`, `{"jsonrpc":"2.0","id":0,"error":{"code":-32603,"message":"no"}}`},
		{"mcp", `{"jsonrpc":"2.0","id":"a","method":"sampling/createMessage"}`, `{"jsonrpc":"2.0","id":"a","error":{"code":-32603,"message":"no"}}`},
		{"codex", `{"id":7,"method":"item/commandExecution/requestApproval"}`, `{"id":7,"error":{"code":-32603,"message":"no"}}`},
		{"pi", `{"type":"extension_ui_request","id":"u1","method":"confirm","title":"t"}`, `{"type":"extension_ui_response","id":"u1","cancelled":true}`},
		{"rpi", `{"type":"ui_dialog_request","requestId":"r","ui":{}}`, `{"type":"ui_dialog_response","requestId":"r","cancelled":true}`},
		{"claude", `{"type":"control_request","request_id":"q","request":{"subtype":"can_use_tool"}}`, `{"type":"control_response","response":{"subtype":"error","request_id":"q","error":"no"}}`},
		{"ndjson", `{"type":"anything","id":1}`, ``},
	} {
		d, err := Builtin(c.dialect)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(d.Decline([]byte(c.request), "no")); got != c.want {
			t.Errorf("%s: %s\nwant %s", c.dialect, got, c.want)
		}
	}
}
