package replay

import (
	"context"
	"errors"
	"strings"
	"testing"

	"agentrec/store"
)

// A recording in which the agent ran tools of its own is not run again unless
// that is asked for; calls that a client answered are no reason.
func TestGuard(t *testing.T) {
	hello := `out {"type":"hello","protocol_version":1,"server_name":"a","server_version":"1"}`
	register := `in {"type":"register_tool","name":"w","description":"d","parameters":{}}`
	call := func(name string) []string {
		return []string{
			`in {"type":"run","session_id":"","query":"q"}`,
			`out {"type":"tool_call","seq":1,"call_id":"call-1","name":"` + name + `","args":{}}`,
			`out {"type":"event","seq":1,"runtimeEventType":"toolCallStarted","tool_name":"` + name + `","args_json":"{}"}`,
			`in {"type":"tool_result","call_id":"call-1","summary":"x"}`,
			`out {"type":"event","seq":2,"runtimeEventType":"toolCallFinished","tool_name":"` + name + `","summary":"y"}`,
			`out {"type":"done","seq":2,"outcome":"completed"}`,
		}
	}
	for name, c := range map[string]struct {
		dialect string
		lines   []string
		own     string
	}{
		"the client's tool":                 {"phi", append([]string{hello, register, `out {"type":"tool_registered","name":"w","ok":true}`}, call("w")...), ""},
		"a tool that nobody offered (phi)":  {"phi", append([]string{hello}, call("update_plan")...), "update_plan"},
		"pi's own tool":                     {"pi", []string{`in {"type":"prompt","message":"m"}`, `out {"type":"tool_execution_start","toolCallId":"1","toolName":"bash","args":{"command":"rm x"}}`, `out {"type":"tool_execution_end","toolCallId":"1","toolName":"bash","result":{"content":[]},"isError":false}`}, "bash (frame 2)"},
		"a call that only began":            {"pi", []string{`in {"type":"prompt","message":"m"}`, `out {"type":"tool_execution_start","toolCallId":"1","toolName":"edit","args":{}}`, "cut"}, "edit (frame 2)"},
		"a call of the client (MCP server)": {"mcp", []string{`in {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}`, `out {"jsonrpc":"2.0","id":1,"result":{"content":[]}}`}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			o := RerunOptions{}
			r, err := openRerun(context.Background(), &o, recordLines(t, c.dialect, c.lines...), 0)
			if err == nil {
				r.close()
			}
			switch {
			case c.own == "" && err != nil:
				t.Error(err)
			case c.own != "" && (err == nil || !errors.Is(err, store.ErrUnusable) || !strings.Contains(err.Error(), c.own) || !strings.Contains(err.Error(), "--real-tools")):
				t.Errorf("%v; want %s", err, c.own)
			}
		})
	}
}

// What a live agent asks for is told without the secrets in it.
func TestRerunHidesSecrets(t *testing.T) {
	const secret = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	o := RerunOptions{}
	r, err := openRerun(context.Background(), &o, recordLines(t, "phi",
		`out {"type":"hello","protocol_version":1,"server_name":"a","server_version":"1"}`, `in {"type":"run","session_id":"","query":"q"}`,
		`out {"type":"done","seq":2,"outcome":"completed"}`), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	r.m.start()
	r.m.frame([]byte(`{"type":"hello","protocol_version":1}`))
	r.m.frame([]byte(`{"type":"tool_call","seq":1,"call_id":"c","name":"x","args":{"text":"` + secret + `"}}`))
	if len(r.v.diverge) != 1 || r.v.diverge[0].Kind != Unknown || strings.Contains(human(r.v.diverge[0]), secret) {
		t.Errorf("%+v", r.v.diverge)
	}
}

// TestManyRunsAreOneReport: it took what they took, and tells in how many each
// thing was found.
func TestManyRunsAreOneReport(t *testing.T) {
	report := func(took float64, found ...Entry) *Report {
		return &Report{Took: took, Divergences: found, Verdict: "pass"}
	}
	always, once := Entry{Kind: Missing, Seq: 1, Message: "always"}, Entry{Kind: Missing, Seq: 2, Message: "once"}
	all := unstable([]*Report{report(1, always), report(2, always, once), report(4, always)})
	if all.Took != 7 || all.Runs != 3 {
		t.Errorf("%g ms in %d runs, want 7 in 3", all.Took, all.Runs)
	}
	if len(all.Divergences) != 2 || all.Divergences[0].Runs != 3 || all.Divergences[1].Runs != 1 {
		t.Errorf("found %+v", all.Divergences)
	}
}
