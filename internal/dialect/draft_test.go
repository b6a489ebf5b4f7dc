package dialect

import (
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"agentrec/store"
)

func draft(lines []line) string {
	var d Drafter
	for _, l := range lines {
		if !d.Observe(l.stream, l.raw) {
			break
		}
	}
	return d.Table("a recording")
}

// A draft from a conversation pairs nearly all that the hand-written table of
// that protocol pairs.
func TestDraft(t *testing.T) {
	for _, c := range []struct {
		lines []line
		least int // pairs
		raw   int
		says  []string
	}{
		{lines: wire(t, phiWire), least: 6, says: []string{"tag: type", "key: run", "answers: run", "id: call_id", "secret: [config.api_key]", `label: ["event.{runtimeEventType}", event]`}},
		{lines: wire(t, "pi-1.6.0"), least: 4, says: []string{"tag: type", "role: response", "delta: append"}},
		{lines: wire(t, "acp__ts24-client__ts24-rich-agent"), least: 31, says: []string{"extends: jsonrpc", "lanes: conversation", "conversation: params.sessionId", "opens: result.sessionId", "{params.update.sessionUpdate}"}},
		{lines: wire(t, "mcp__sdk-1.32.2-client__server-everything"), least: 18, says: []string{"extends: jsonrpc"}},
		{lines: talk(t, "testdata/talks/harbour.txt"), least: 3, says: []string{`tag: "0"`}},
		{lines: []line{
			{stream: store.In, raw: []byte("{\"id\":\"1\",\"method\":\"a\u009b5m\u202e\",\"par\u202eams\":{\"s\U000e0041ecret\":1}}")},
			{stream: store.In, raw: []byte("{\"id\":\"2\",\"method\":\"a\u009b5m\u202e\",\"par\u202eams\":{\"s\U000e0041ecret\":1}}")},
		}, says: []string{`\u009b5m\u202e`}},
		{lines: nil, says: []string{"name: draft"}},
	} {
		text := draft(c.lines)
		d, err := Parse("draft", []byte(text))
		if err != nil {
			t.Errorf("%v\n%s", err, text)
			continue
		}
		raw := 0
		for _, l := range c.lines {
			if r := d.Read(l.stream, l.raw); r.Role == Raw {
				raw++
			}
		}
		if i := strings.IndexFunc(text, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }); i >= 0 {
			t.Errorf("the draft holds %q", text[i:min(i+4, len(text))])
		}
		paired, _, _ := pairs(d, c.lines)
		if len(paired) < c.least || raw != c.raw {
			t.Errorf("%d pairs, want %d; %d raw\n%s", len(paired), c.least, raw, text)
		}
		for _, s := range c.says {
			if !strings.Contains(text, s) {
				t.Errorf("the draft does not say %q\n%s", s, text)
			}
		}
	}
}

// Whatever was recorded, a draft compiles.
func FuzzDraft(f *testing.F) {
	files, err := filepath.Glob("testdata/talks/*.txt")
	if err != nil || len(files) == 0 {
		f.Fatal("no conversations", err)
	}
	for _, file := range files {
		var all []string
		for _, l := range talk(f, file) {
			all = append(all, l.stream.String()+" "+string(l.raw))
		}
		f.Add(strings.Join(all, "\n"))
	}
	for _, s := range seeds {
		f.Add("in " + s + "\nout " + s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<16 {
			return
		}
		var lines []line
		for i, l := range strings.Split(text, "\n") {
			lines = append(lines, line{streamWords[[]string{"in", "out"}[i%2]], []byte(l[min(3, len(l)):])})
		}
		table := draft(lines)
		if _, err := Parse("draft", []byte(table)); err != nil {
			t.Fatalf("%v\n%s", err, table)
		}
	})
}
