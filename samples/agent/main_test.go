package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
)

// usual is how the agent behaves without flags.
var usual = habits{opening: "You said: "}

// talk sends lines to a fresh agent and returns the types of what it says (for
// events the runtimeEventType), equal ones in a row once, and the frames.
func talk(t *testing.T, lines ...string) ([]string, []map[string]any) {
	t.Helper()
	var out strings.Builder
	if err := serve(strings.NewReader(strings.Join(lines, "\n")), &out, 0, usual); err != nil {
		t.Fatal(err)
	}
	var kinds []string
	var frames []map[string]any
	for line := range strings.Lines(out.String()) {
		frame := map[string]any{}
		if err := json.Unmarshal([]byte(line), &frame); err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		kind := fmt.Sprint(frame["type"])
		if kind == "event" {
			kind = fmt.Sprint(frame["runtimeEventType"])
		}
		kinds, frames = append(kinds, kind), append(frames, frame)
	}
	return slices.Compact(kinds), frames
}

const (
	weather = `{"type":"register_tool","name":"get_weather","description":"d","parameters":{"properties":{"city":{"type":"string"}}}}`
	ask     = `{"type":"run","session_id":"demo","query":"Weather in Oslo?"}`
)

func TestConversations(t *testing.T) {
	for name, c := range map[string]struct {
		in   []string
		want string
	}{
		"only the greeting":  {nil, "hello"},
		"requests":           {[]string{weather, `{"type":"create_session","session_id":"demo"}`, `{"type":"list_tools"}`}, "hello tool_registered session_created tools_listed"},
		"text":               {[]string{`{"type":"run","query":"Hello"}`}, "hello checkpoint thoughtDelta textDelta runFinished done"},
		"own tools and plan": {[]string{`{"type":"run","query":"Plan, count and reverse"}`}, "hello checkpoint thoughtDelta planUpdated checkpoint toolCallStarted toolCallFinished toolCallStarted toolCallFinished textDelta runFinished done"},
		"client's tool":      {[]string{weather, ask, `{"type":"tool_result","call_id":"any","summary":"4 °C"}`}, "hello tool_registered checkpoint thoughtDelta checkpoint tool_call toolCallStarted toolCallFinished textDelta runFinished done"},
		"swallowed":          {[]string{weather, ask, `{"type":"list_tools"}`, `nonsense`, `{"type":"tool_result","summary":"x"}`, `{"type":"tool_result","summary":"too late"}`}, "hello tool_registered checkpoint thoughtDelta checkpoint tool_call toolCallStarted toolCallFinished textDelta runFinished done"},
		"cancel":             {[]string{weather, ask, `{"type":"cancel"}`, `{"type":"list_tools"}`}, "hello tool_registered checkpoint thoughtDelta checkpoint tool_call toolCallStarted done tools_listed"},
		"end of input":       {[]string{weather, ask}, "hello tool_registered checkpoint thoughtDelta checkpoint tool_call toolCallStarted done"},
		"failure":            {[]string{`{"type":"run","query":"Fail, please"}`, `{"type":"list_tools"}`}, "hello checkpoint error tools_listed"},
		"bad lines":          {[]string{`{`, ``, `[]`, `{"type":"register_tool"}`, `{"type":"nosuch"}`, `{"type":"list_tools"}`}, "hello error tools_listed"},
	} {
		t.Run(name, func(t *testing.T) {
			if kinds, _ := talk(t, c.in...); strings.Join(kinds, " ") != c.want {
				t.Errorf("said %q\nwant %q", strings.Join(kinds, " "), c.want)
			}
		})
	}
}

// TestToolCall holds what a client relies on: the call shares its seq with the
// event that follows, its arguments follow the schema, and the result reaches
// the answer.
func TestToolCall(t *testing.T) {
	_, frames := talk(t, weather, ask, `{"type":"tool_result","summary":"4 °C & <rain>"}`)
	call := slices.IndexFunc(frames, func(f map[string]any) bool { return f["type"] == "tool_call" })
	if call < 0 {
		t.Fatal("no tool_call")
	}
	if got := fmt.Sprint(frames[call]["args"]); got != "map[city:Oslo]" {
		t.Errorf("args %s", got)
	}
	if next := frames[call+1]; next["seq"] != frames[call]["seq"] || next["runtimeEventType"] != "toolCallStarted" {
		t.Errorf("after the call came %v", next)
	}
	text := ""
	for _, f := range frames {
		if f["runtimeEventType"] == "textDelta" {
			text += f["text"].(string)
		}
	}
	if want := "You said: Weather in Oslo?\nget_weather says: 4 °C & <rain>"; text != want {
		t.Errorf("text %q, want %q", text, want)
	}
}

// TestSameAgain holds that equal input gives equal bytes.
func TestSameAgain(t *testing.T) {
	in := strings.Join([]string{weather, strings.Replace(weather, "get_weather", "a_plan", 1), `{"type":"list_tools"}`, `{"type":"run","query":"plan a weather count"}`, `{"type":"tool_result","summary":"1"}`, `{"type":"tool_result","summary":"2"}`}, "\n")
	outputs := map[string]bool{}
	for range 20 {
		var out strings.Builder
		if err := serve(strings.NewReader(in), &out, 0, usual); err != nil {
			t.Fatal(err)
		}
		outputs[out.String()] = true
	}
	if len(outputs) != 1 {
		t.Errorf("%d different outputs of 20", len(outputs))
	}
}

// TestReaderGone holds that the agent ends when nobody reads it.
func TestReaderGone(t *testing.T) {
	r, w := io.Pipe()
	r.Close()
	if err := serve(strings.NewReader(ask), w, 0, usual); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("serve returned %v", err)
	}
}
