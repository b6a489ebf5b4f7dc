package transcript

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// tellCalls lists the calls: name, the frames of call and result, whether it
// failed, what it was given and what it returned.
func tellCalls(t *testing.T, tr *Transcript) string {
	t.Helper()
	var out []string
	for _, it := range tr.Items() {
		if it.Kind != KindCall {
			continue
		}
		c, err := tr.Content(t.Context(), it, 1000)
		if err != nil {
			t.Fatal(err)
		}
		failed := ""
		if it.Failed {
			failed = " failed"
		}
		out = append(out, fmt.Sprintf("%s %d-%d%s %s = %s", it.Name, it.Seq, it.Answer, failed, c.Args, c.Text))
	}
	return strings.Join(out, "; ")
}

// TestCalls: every call is listed once, with its result.
func TestCalls(t *testing.T) {
	run := `in {"type":"run","session_id":"","query":"q"}`
	done := `out {"type":"done","seq":9,"outcome":"completed"}`
	started := func(seq int, name, args string) string {
		return fmt.Sprintf(`out {"type":"event","seq":%d,"runtimeEventType":"toolCallStarted","tool_name":%q,"args_json":%q}`, seq, name, args)
	}
	finished := func(name, summary, more string) string {
		return fmt.Sprintf(`out {"type":"event","seq":9,"runtimeEventType":"toolCallFinished","tool_name":%q,"summary":%q%s}`, name, summary, more)
	}
	asked := func(seq int, id, name string) string {
		return fmt.Sprintf(`out {"type":"tool_call","seq":%d,"call_id":%q,"name":%q,"args":{"n":%d}}`, seq, id, name, seq)
	}
	answered := func(id, summary string) string {
		return fmt.Sprintf(`in {"type":"tool_result","call_id":%q,"summary":%q}`, id, summary)
	}
	for _, c := range []struct {
		name, dialect string
		lines         []string
		want          string
	}{
		{"the agent's own tools", "phi", []string{run, started(2, "read_file", `{"path":"a"}`), finished("read_file", "A", ""), started(4, "write_file", `{}`), finished("write_file", "never", `,"denied":true`), done},
			`read_file 2-3 {"path":"a"} = A; write_file 4-5 failed {} = write_file was denied: never`},
		{"own tools of one name side by side", "phi", []string{run, started(2, "read", `{"path":"a"}`), started(3, "read", `{"path":"b"}`), finished("read", "A", ""), finished("read", "B", ""), done},
			`read 2-4 {"path":"a"} = A; read 3-5 {"path":"b"} = B`},
		{"the client's tools", "phi", []string{run, asked(2, "c1", "t"), started(2, "t", `{"n":2}`), answered("c1", "one"), finished("t", "one", ""), asked(4, "c2", "t"), started(4, "t", `{"n":4}`), answered("c2", "two"), finished("t", "two", ""), done},
			`t 2-4 {"n":2} = one; t 6-8 {"n":4} = two`},
		{"the client's tools side by side", "phi", []string{run, asked(2, "c1", "t"), started(2, "t", `{"n":2}`), asked(3, "c2", "t"), started(3, "t", `{"n":3}`), answered("c1", "one"), finished("t", "one", ""), answered("c2", "two"), finished("t", "two", ""), done},
			`t 2-6 {"n":2} = one; t 4-8 {"n":3} = two`},
		{"a client's tool without a slot", "phi", []string{run, asked(2, "c1", "t"), started(2, "t", `{"n":2}`), finished("t", "no tool call slot prepared", ""), answered("c1", "one"), done},
			`t 2-4 {"n":2} = no tool call slot prepared`},
		{"phi as an MCP server", "mcp", []string{
			`in {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run","arguments":{"prompt":"q"}}}`,
			`out {"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":{"type":"text","text":"I look"}}}`,
			`out {"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":{"type":"tool_call","name":"list_files"}}}`,
			`out {"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":{"type":"tool_result","name":"list_files","summary":"a"}}}`,
			`out {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"done"}]}}`},
			`run 1-5 {"prompt":"q"} = done; list_files 3-4  = a`},
		{"an MCP call that asked for input", "mcp", []string{
			`in {"jsonrpc":"2.0","id":0,"method":"tools/call","params":{"name":"deploy","arguments":{"env":"prod"}}}`,
			`out {"jsonrpc":"2.0","id":0,"result":{"resultType":"input_required","requestState":"s1","inputRequests":{"c":{"method":"elicitation/create","params":{"message":"Sure?"}}}}}`,
			`in {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"deploy","arguments":{"env":"prod"},"inputResponses":{"c":{"action":"accept"}},"requestState":"s1"}}`,
			`out {"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","requestState":"s2","inputRequests":{"c":{"method":"elicitation/create","params":{"message":"Really?"}}}}}`,
			`in {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"deploy","arguments":{"env":"prod"},"inputResponses":{"c":{"action":"accept"}},"requestState":"s2"}}`,
			`out {"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"deployed"}]}}`},
			`deploy 1-6 {"env":"prod"} = deployed`},
		{"the same without a state", "mcp", []string{
			`in {"jsonrpc":"2.0","id":0,"method":"tools/call","params":{"name":"deploy"}}`,
			`out {"jsonrpc":"2.0","id":0,"result":{"resultType":"input_required","inputRequests":{}}}`,
			`in {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"deploy","inputResponses":{}}}`,
			`out {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"deployed"}]}}`},
			`deploy 1-4  = deployed`},
		{"several blocks in one message", "claude", []string{
			`in {"type":"user","message":{"role":"user","content":"q"}}`,
			`out {"type":"assistant","session_id":"s","message":{"role":"assistant","content":[{"type":"text","text":"Both."},{"type":"tool_use","id":"t1","name":"Read","input":{"f":"a"}},{"type":"tool_use","id":"t2","name":"Read","input":{"f":"b"}}]}}`,
			`out {"type":"user","session_id":"s","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t2","content":"B"},{"type":"tool_result","tool_use_id":"t1","content":"no","is_error":true}]}}`,
			`out {"type":"result","subtype":"success","session_id":"s"}`},
			`Read 2-3 failed {"f":"a"} = no; Read 2-3 {"f":"b"} = B`},
	} {
		t.Run(c.name, func(t *testing.T) {
			tr := build(t, c.dialect, phi(c.lines...))
			if got := tellCalls(t, tr); got != c.want {
				t.Errorf("\n got %s\nwant %s", got, c.want)
			}
			if open := tr.Open(); len(open) > 0 {
				t.Errorf("open requests %v", open)
			}
		})
	}
}

// TestTurnsWithoutPrompt: an agent may begin a turn that no prompt is recorded
// for.
func TestTurnsWithoutPrompt(t *testing.T) {
	for name, lines := range map[string][]string{
		"codex-exec": {`out {"type":"thread.started","thread_id":"t"}`, `out {"type":"turn.started"}`, `out {"type":"item.completed","item":{"id":"i","type":"agent_message","text":"hi"}}`, `out {"type":"turn.completed","usage":{"input_tokens":3,"output_tokens":2}}`},
		"codex":      {`out {"method":"turn/started","params":{"threadId":"t","turn":{"id":"u"}}}`, `out {"method":"item/completed","params":{"threadId":"t","item":{"id":"i","type":"agentMessage","text":"hi"}}}`, `out {"method":"turn/completed","params":{"threadId":"t","turn":{"id":"u","status":"completed"}}}`},
	} {
		tr := build(t, name, phi(lines...))
		if len(tr.Turns) != 1 || tr.Turns[0].Outcome != "completed" || tr.Turns[0].Last != int64(len(lines)) {
			t.Errorf("%s: turns %+v", name, tr.Turns)
		}
	}
	tr := build(t, "codex-exec", phi(`in hi`, `out {"type":"turn.started"}`, `out {"type":"turn.completed"}`))
	if len(tr.Turns) != 1 || tr.Turns[0].Prompt != "hi" {
		t.Errorf("with a prompt: turns %+v", tr.Turns)
	}
}

// TestLate: what an agent says after the end of a turn belongs to it.
func TestLate(t *testing.T) {
	update := `out {"type":"message_update","message":{},"eventType":"text_delta","contentIndex":0,"delta":"%s","assistantMessageEvent":{"type":"text_delta"}}`
	tr := build(t, "rpi", phi(fmt.Sprintf(update, "before"), `in {"type":"prompt","id":"1","content":"q"}`, fmt.Sprintf(update, "a"),
		`out {"type":"response","id":"1","status":"ok","result":{"outcome":"completed","finalText":"ab"}}`, fmt.Sprintf(update, "b"),
		`out {"type":"agent_end","messageCount":0,"messages":[]}`, `in {"type":"ping","id":"2"}`, `out {"type":"response","id":"2","status":"ok","result":{"pong":true}}`))
	var turns []int32
	for _, e := range tr.Entries {
		turns = append(turns, e.Turn)
	}
	if want := []int32{0, 1, 1, 1, 1, 0, 0, 0}; !slices.Equal(turns, want) {
		t.Errorf("turns %v, want %v", turns, want)
	}
	if u := tr.Turns[0]; u.Last != 4 || u.Outcome != "completed" || u.Frames != 4 {
		t.Errorf("%+v", u)
	}
}

// TestPermissionTitle: a permission that names its call by id shows what that
// call is.
func TestPermissionTitle(t *testing.T) {
	ask := `out {"jsonrpc":"2.0","id":0,"method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"c1"%s},"options":[]}}`
	call := `out {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"c1","title":"Edit a.txt","kind":"edit"}}}`
	for _, c := range []struct {
		lines []string
		want  string
	}{
		{[]string{call, fmt.Sprintf(ask, "")}, "Edit a.txt"},
		{[]string{call, fmt.Sprintf(ask, `,"title":"Write b.txt"`)}, "Write b.txt"},
		{[]string{fmt.Sprintf(ask, "")}, "c1"},
	} {
		tr := build(t, "acp", phi(c.lines...))
		for _, it := range tr.Items() {
			if it.Kind != KindPermission {
				continue
			}
			got, err := tr.Content(t.Context(), it, 1000)
			if err != nil || got.Text != c.want {
				t.Errorf("%v: %q, %v; want %q", c.lines, got.Text, err, c.want)
			}
		}
	}
}

// TestEmptyText: a text part without text is nothing to read.
func TestEmptyText(t *testing.T) {
	chunk := `out {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":%q}}}}`
	tr := build(t, "acp", phi(fmt.Sprintf(chunk, ""), fmt.Sprintf(chunk, "hi")))
	if len(tr.Folds) != 1 {
		t.Fatalf("folds %+v", tr.Folds)
	}
	if text, whole := tr.Folds[0].Text(); text != "hi" || !whole {
		t.Errorf("%q, %v", text, whole)
	}
}
