package dialect

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"agentrec/store"
)

const phiWire = "phi-0.3.0__python-sdk-0.2.7"

func TestPhiConversation(t *testing.T) {
	d := builtinDialect(t, "phi")
	lines := wire(t, phiWire)
	var got []string
	for _, l := range lines {
		r := d.Read(l.stream, l.raw)
		got = append(got, l.stream.String()+" "+r.Label)
		if r.Role == Raw || r.Rule == nil {
			t.Errorf("raw: %s", l.raw)
		}
	}
	want := strings.Fields(`out|hello in|register_tool out|tool_registered in|create_session out|session_created in|list_tools out|tools_listed
		in|run out|event.checkpoint.AfterUserInput out|event.checkpoint.BeforeLlm out|event.textDelta out|event.textDelta out|event.runFinished out|done
		in|run out|event.checkpoint.AfterUserInput out|event.checkpoint.BeforeLlm out|event.thoughtDelta out|event.checkpoint.BeforeToolCalls
		out|tool_call out|event.toolCallStarted in|tool_result out|event.toolCallFinished out|event.runFinished out|done`)
	for i := range want {
		want[i] = strings.Replace(want[i], "|", " ", 1)
	}
	if !slices.Equal(got, want) {
		t.Errorf("labels:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	paired, unpaired, open := pairs(d, lines)
	if want := map[int]int{2: 1, 4: 3, 6: 5, 13: 7, 21: 19, 24: 14}; !maps.Equal(paired, want) || len(unpaired) != 0 || len(open) != 0 {
		t.Errorf("paired %v, want %v; unpaired %v, open %v", paired, want, unpaired, open)
	}
}

// Every message of the bridge with all its fields, as its source defines them.
func TestPhiMessages(t *testing.T) {
	d := builtinDialect(t, "phi")
	for _, c := range []struct {
		stream store.Stream
		raw    string
		want   Reading
	}{
		{store.In, `{"type":"register_tool","name":"shell","description":"run shell","parameters":{}}`,
			Reading{Label: "register_tool", Role: Request, Key: "register_tool shell", Name: "shell"}},
		{store.In, `{"type":"create_session","session_id":"ext-1"}`, Reading{Label: "create_session", Role: Request, Key: "create_session", Conversation: "ext-1"}},
		{store.In, `{"type":"create_session"}`, Reading{Label: "create_session", Role: Request, Key: "create_session"}},
		{store.In, `{"type":"run","session_id":"abc","query":"hello"}`,
			Reading{Label: "run", Role: Request, Key: "run", Conversation: "abc", Shows: ShowsPrompt, Text: "hello"}},
		{store.In, `{"type":"run","query":"test","config":{"model":"gpt-4","api_key":"sk-xxx","base_url":"https://example.com/v1","enable_thinking":true,"thinking_budget":32000,"thinking_effort":"high","max_tool_calls_per_turn":10,"max_consecutive_failures":3,"max_turns":5}}`,
			Reading{Label: "run", Role: Request, Key: "run", Shows: ShowsPrompt, Text: "test"}},
		{store.In, `{"type":"tool_result","call_id":"c1","summary":"done","raw":{"output":"hello"},"control_flow":"break"}`,
			Reading{Label: "tool_result", Role: Response, ID: `"c1"`, Shows: ShowsResult, CallID: "c1", Text: "done"}},
		{store.In, `{"type":"tool_result","call_id":"c1","summary":"Error: unknown tool 'x'"}`,
			Reading{Label: "tool_result", Role: Response, ID: `"c1"`, Shows: ShowsResult, CallID: "c1", Text: "Error: unknown tool 'x'", Failed: true}},
		{store.In, `{"type":"cancel","session_id":"abc"}`, Reading{Label: "cancel", Role: Cancel, Conversation: "abc"}},
		{store.In, `{"type":"cancel"}`, Reading{Label: "cancel", Role: Cancel}},
		{store.In, `{"type":"list_tools","extra_field":"should-be-ignored","nested":{"a":1}}`, Reading{Label: "list_tools", Role: Request, Key: "list_tools"}},
		{store.In, `{"session_id":"abc","query":"hello"}`, Reading{Label: "untyped", Role: Request, Key: "refused"}},
		{store.In, `{"type":"run"}`, Reading{Label: "run", Role: Request, Key: "refused"}},
		{store.In, `{"type":"dance"}`, Reading{Label: "dance", Role: Request, Key: "refused"}},
		{store.Out, `{"type":"hello","protocol_version":1,"server_name":"phi","server_version":"0.2.6"}`,
			Reading{Label: "hello", Role: Notification, Shows: ShowsGreeting, Text: "phi 0.2.6", Agent: "phi 0.2.6"}},
		{store.Out, `{"type":"session_created","session_id":"ext-1","internal_id":42}`,
			Reading{Label: "session_created", Role: Response, Answers: []string{"create_session"}, Opens: "ext-1"}},
		{store.Out, `{"type":"session_created","session_id":null,"internal_id":42}`,
			Reading{Label: "session_created", Role: Response, Answers: []string{"create_session"}}},
		{store.Out, `{"type":"event","seq":1,"text":"hi","runtimeEventType":"textDelta"}`,
			Reading{Label: "event.textDelta", Role: Notification, Shows: ShowsText, Text: "hi", Delta: true}},
		{store.Out, `{"type":"event","seq":1,"text":"hm","runtimeEventType":"thoughtDelta"}`,
			Reading{Label: "event.thoughtDelta", Role: Notification, Shows: ShowsThought, Text: "hm", Delta: true}},
		{store.Out, `{"type":"event","seq":1,"text":"hi","runtimeEventType":"inTheFuture"}`, Reading{Label: "event.inTheFuture", Role: Notification}},
		{store.Out, `{"type":"event","seq":7,"runtimeEventType":"toolCallStarted","tool_name":"shell","args_json":"{}"}`,
			Reading{Label: "event.toolCallStarted", Role: Notification, Together: "7", Shows: ShowsCall, Name: "shell", Args: "{}"}},
		{store.Out, `{"type":"event","seq":7,"runtimeEventType":"toolCallFinished","tool_name":"shell","summary":"ok","denied":false}`,
			Reading{Label: "event.toolCallFinished", Role: Notification, Shows: ShowsResult, Name: "shell", Text: "ok"}},
		{store.Out, `{"type":"event","seq":7,"runtimeEventType":"toolCallFinished","tool_name":"shell","summary":"no","denied":true}`,
			Reading{Label: "event.toolCallFinished", Role: Notification, Shows: ShowsResult, Name: "shell", Text: "shell was denied: no", Failed: true}},
		{store.Out, `{"type":"event","seq":7,"runtimeEventType":"actionStarted","tool_name":"shell","args_json":"{}"}`,
			Reading{Label: "event.actionStarted", Role: Notification, Together: "7", Shows: ShowsCall, Name: "shell", Args: "{}"}},
		{store.Out, `{"type":"event","seq":7,"runtimeEventType":"actionFinished","tool_name":"shell","summary":"no","denied":true}`,
			Reading{Label: "event.actionFinished", Role: Notification, Shows: ShowsResult, Name: "shell", Text: "shell was denied: no", Failed: true}},
		{store.Out, `{"type":"event","seq":7,"runtimeEventType":"planUpdated","objective":"win","explanation":null,"plan":[{"step":"a","status":"done"}]}`,
			Reading{Label: "event.planUpdated", Role: Notification, Shows: ShowsPlan, Text: "win", Args: `[{"step":"a","status":"done"}]`}},
		{store.Out, `{"type":"event","seq":7,"runtimeEventType":"userEvent","event":{"userEventType":"progress","text":"half"}}`,
			Reading{Label: "event.userEvent.progress", Role: Notification, Shows: ShowsLog, Text: "half"}},
		{store.Out, `{"type":"event","seq":7,"runtimeEventType":"userEvent","event":{"userEventType":"structured","event_type":"x","data":1}}`,
			Reading{Label: "event.userEvent.structured", Role: Notification, Shows: ShowsLog, Text: "x: 1"}},
		{store.Out, `{"type":"event","seq":7,"runtimeEventType":"awaitingApproval","request":{"title":"May I?","message":"rm","action_key":"k","risk_level":"high","raw":null}}`,
			Reading{Label: "event.awaitingApproval", Role: Notification, Shows: ShowsPermission, Text: "May I?: rm",
				Args: `{"title":"May I?","message":"rm","action_key":"k","risk_level":"high","raw":null}`}},
		{store.Out, `{"type":"event","seq":7,"runtimeEventType":"runFinished"}`, Reading{Label: "event.runFinished", Role: Notification}},
		{store.Out, `{"type":"event","seq":7,"runtimeEventType":"runCancelled"}`, Reading{Label: "event.runCancelled", Role: Notification}},
		{store.Out, `{"type":"event","seq":7,"runtimeEventType":"checkpoint","checkpoint":{"step":{"AfterToolCalls":{"tool_calls":[],"results":[]}}}}`,
			Reading{Label: "event.checkpoint.AfterToolCalls", Role: Notification}},
		{store.Out, `{"type":"tool_call","seq":2,"call_id":"c1","name":"shell","args":{"cmd":"ls"}}`,
			Reading{Label: "tool_call", Role: Request, ID: `"c1"`, Together: "2", Shows: ShowsCall, CallID: "c1", Name: "shell", Args: `{"cmd":"ls"}`}},
		{store.Out, `{"type":"tool_registered","name":"shell","ok":true}`, Reading{Label: "tool_registered", Role: Response, Answers: []string{"register_tool shell"}}},
		{store.Out, `{"type":"done","seq":3,"outcome":"completed","turns":1}`,
			Reading{Label: "done", Role: Response, Answers: []string{"run"}, Ends: true, Shows: ShowsEnd, Text: "completed"}},
		{store.Out, `{"type":"done","seq":4,"outcome":"failed","error":"something went wrong"}`,
			Reading{Label: "done", Role: Response, Answers: []string{"run"}, Ends: true, Failed: true, Shows: ShowsEnd, Text: "failed: something went wrong"}},
		{store.Out, `{"type":"error","code":"TURN_ERROR","message":"bad request"}`,
			Reading{Label: "error.TURN_ERROR", Role: Response, Answers: []string{"run"}, Ends: true, Failed: true, Shows: ShowsError, Text: "TURN_ERROR: bad request"}},
		{store.Out, `{"type":"error","code":"PARSE_ERROR","message":"what"}`,
			Reading{Label: "error.PARSE_ERROR", Role: Response, Answers: []string{"refused"}, Failed: true, Shows: ShowsError, Text: "PARSE_ERROR: what"}},
		{store.Out, `{"type":"tools_listed","tools":[]}`, Reading{Label: "tools_listed", Role: Response, Answers: []string{"list_tools"}}},
		{store.Out, `{"type":"later"}`, Reading{Label: "later", Role: Notification}},
	} {
		got := d.Read(c.stream, []byte(c.raw))
		c.want.JSON, c.want.Rule = true, got.Rule
		if a, b := show(got), show(c.want); a != b || got.Rule == nil {
			t.Errorf("%s\n got %s\nwant %s", c.raw, a, b)
		}
	}
}

// show renders a reading less its rule.
func show(r Reading) string {
	r.Rule = nil
	b, err := json.Marshal(r)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func TestPhiPlaces(t *testing.T) {
	d := builtinDialect(t, "phi")
	run := []byte(`{"type":"run","session_id":"s","query":"q","config":{"api_key":"sk-1","base_url":"http://x"}}`)
	if got := spans(d.Secret(store.In, run), run); got != `"sk-1"` {
		t.Errorf("secrets of run: %s", got)
	}
	for raw, want := range map[string]string{
		`{"type":"done","seq":3,"outcome":"failed"}`: `3 "failed"`,
		`{"type":"event","seq":1,"checkpoint":{"session_id":{"id":2},"step":{"BeforeLlm":{"messages":[]}}},"runtimeEventType":"checkpoint","session_id":{"external_id":null,"id":2},"trace_id":"t"}`: `1 {"id":2} {"messages":[]} null 2 "t"`,
		`{"type":"session_created","session_id":"a","internal_id":7}`: `7`,
	} {
		if got := spans(d.Volatile(store.Out, []byte(raw)), []byte(raw)); got != want {
			t.Errorf("volatile in %s: %s, want %s", raw, got, want)
		}
	}
	for _, c := range []struct {
		stream store.Stream
		raw    string
		want   []Slot
	}{
		{store.In, `{"type":"create_session","session_id":"ext-1"}`, []Slot{{Namespace: "session", Mints: true, ByClient: true}}},
		{store.In, `{"type":"run","session_id":"","query":"q"}`, nil},
		{store.Out, `{"type":"session_created","session_id":"ext-1","internal_id":1}`, []Slot{{Namespace: "session", ByClient: true}}},
		{store.Out, `{"type":"tool_call","seq":2,"call_id":"c1","name":"x","args":{"call_id":"no"}}`, []Slot{{Namespace: "request:out", Ref: true, Mints: true}}},
		{store.In, `{"type":"tool_result","call_id":"c1","summary":"s"}`, []Slot{{Namespace: "request:out", Ref: true}}},
		{store.Out, `{"type":"event","seq":1,"session_id":{"id":1},"runtimeEventType":"runFinished"}`, nil},
	} {
		got := d.Slots(c.stream, []byte(c.raw))
		for i := range got {
			got[i].Start, got[i].End = 0, 0
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: slots %+v, want %+v", c.raw, got, c.want)
		}
	}
	if got := string(d.Refuse(run, `no such "run"`)); got != `{"type":"error","code":"TURN_ERROR","message":"no such \"run\""}` {
		t.Errorf("refusal: %s", got)
	}
	if !d.OneLane() || d.TextInput() {
		t.Error("phi has one lane and reads frames")
	}
	for _, r := range d.Rules() {
		if (r.Family == "list_tools") != (r.Class == Query) || (r.Family == "tool_result") != r.First || (r.Family == "run") != r.Turn {
			t.Errorf("family %s: class %d, first %v, turn %v", r.Family, r.Class, r.First, r.Turn)
		}
	}
}

// spans returns what the paths find in a frame, joined by spaces.
func spans(p Paths, raw []byte) string {
	var out []string
	for _, s := range p.Find(raw) {
		out = append(out, string(raw[s.Start:s.End]))
	}
	return strings.Join(out, " ")
}
