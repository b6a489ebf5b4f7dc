package dialect

import (
	"strings"
	"testing"

	"agentrec/store"
)

// The words for people say of each kind of frame what REPLAY's rules make of it.
func TestWaits(t *testing.T) {
	for _, c := range []struct {
		table       string
		stream      store.Stream
		frame       string
		waits, lane string
	}{
		{"phi", store.In, `{"type":"run","query":"x"}`, "begins a turn", "one lane"},
		{"phi", store.In, `{"type":"register_tool","name":"t","description":"d","parameters":{}}`, "between turns", "one lane"},
		{"phi", store.In, `{"type":"list_tools"}`, "a query", "one lane"},
		{"phi", store.In, `{"type":"tool_result","call_id":"c","summary":"s"}`, "the first of a turn", "one lane"},
		{"phi", store.In, `{"type":"cancel"}`, "its answer too", "one lane"},
		{"phi", store.Out, `{"type":"done","seq":1,"outcome":"completed"}`, "ends a turn", "one lane"},
		{"phi", store.Out, `{"type":"tool_call","seq":1,"call_id":"c","name":"t","args":{}}`, "its group", "one lane"},
		{"acp", store.In, `{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"S","prompt":[]}}`, "begins a turn", "its conversation"},
		{"acp", store.In, `{"jsonrpc":"2.0","id":1,"method":"session/new","params":{}}`, "an act", "a lane of its own"},
		{"acp", store.In, `{"jsonrpc":"2.0","id":1,"result":{}}`, "an answer", "its request"},
		{"acp", store.Out, `{"jsonrpc":"2.0","id":1,"method":"fs/read_text_file","params":{"sessionId":"S","path":"/x"}}`, "asks the client", "its conversation"},
		{"acp", store.Out, `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"S","update":{"sessionUpdate":"plan"}}}`, "in the order of its lane", "its conversation"},
		{"acp", store.Out, `{"jsonrpc":"2.0","id":1,"result":{}}`, "answers a request", "its request"},
		{"mcp", store.In, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, "gets no answer", "speaks of"},
		{"mcp", store.Out, `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`, "in the order", "or in none"},
		{"mcp", store.Err, `log`, "before it", ""},
	} {
		d, err := Load(c.table)
		if err != nil {
			t.Fatal(err)
		}
		r := d.Read(c.stream, []byte(c.frame))
		if got := r.Waits(c.stream); !strings.Contains(got, c.waits) {
			t.Errorf("%s %s: %s, want %s", c.table, c.frame, got, c.waits)
		}
		if got := d.Lane(c.stream, &r); !strings.Contains(got, c.lane) {
			t.Errorf("%s %s: %s, want %s", c.table, c.frame, got, c.lane)
		}
	}
}
