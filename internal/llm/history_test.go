package llm

import (
	"fmt"
	"strings"
	"testing"

	"agentrec/internal/dialect"
)

// reading makes one of messages written "role: text" or "role! tool", and an
// answer written "text" or "! tool".
func reading(answer string, messages ...string) Reading {
	var r Reading
	for _, s := range messages {
		if role, tool, ok := strings.Cut(s, "! "); ok {
			r.Messages = append(r.Messages, dialect.Message{Role: role, Calls: []dialect.Called{{ID: "c", Name: tool}}})
			continue
		}
		role, text, _ := strings.Cut(s, ": ")
		r.Messages = append(r.Messages, dialect.Message{Role: role, Text: text})
	}
	if tool, ok := strings.CutPrefix(answer, "! "); ok {
		r.Calls = []dialect.Called{{ID: "other", Name: tool}}
	} else {
		r.Text = answer
	}
	return r
}

func TestHistory(t *testing.T) {
	var h History
	for i, c := range []struct {
		r    Reading
		want string
	}{
		{reading("! ls", "system: s", "user: go"), "[0 1]"},
		{reading("Title", "system: name it", "user: go"), "[0]"}, // another request about the same text
		{reading("ok", "system: s", "user: go", "assistant! ls", "tool: a.txt"), "[3]"},
		{reading("ok", "system: s", "user: go", "assistant! ls", "tool: a.txt"), "[]"}, // a retry
		{reading("yes", "system: s, later", "user: go", "assistant! ls", "tool: a.txt", "assistant: ok\n", "user: sure?"), "[0 5]"},
		{reading("x", "user: go", "assistant! ls", "tool: b.txt", "assistant: made up", "user: sure?"), "[2 3 4]"}, // history goes another way
		{reading("y", "user: sure?"), "[0]"},
		{reading("z"), "[]"},
	} {
		if got := fmt.Sprint(h.Next(c.r)); got != c.want {
			t.Errorf("request %d: new %s, want %s", i+1, got, c.want)
		}
	}
}
