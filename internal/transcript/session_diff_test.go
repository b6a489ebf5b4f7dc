package transcript

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agentrec/internal/dialect"
)

// differences writes a comparison as text, one difference after the other.
func differences(t *testing.T, a, b *Transcript, o DiffOptions) string {
	t.Helper()
	d, err := DiffSessions(t.Context(), a, b, o)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, u := range d.Turns {
		if m := u.Missing(); m != "" {
			out = append(out, fmt.Sprintf("%s has no turn %q", m, u.Prompt))
		}
		for _, i := range u.Items {
			out = append(out, fmt.Sprintf("%s %s#%d/%d %s %s", i.Kind, i.Part, i.SeqA, i.SeqB, i.Path, i.A+"|"+i.B))
		}
		for _, l := range u.Labels {
			out = append(out, fmt.Sprintf("%s %d/%d", l.Label, l.A, l.B))
		}
	}
	if d.Differences != len(out) {
		t.Errorf("%d differences counted, %d listed", d.Differences, len(out))
	}
	return strings.Join(out, "; ")
}

// TestDiffSame: a session does not differ from itself.
func TestDiffSame(t *testing.T) {
	files, err := filepath.Glob("testdata/wire/*.wire.ndjson")
	if err != nil || len(files) == 0 {
		t.Fatal("no conversations", err)
	}
	for _, file := range files {
		if got := differences(t, build(t, "", wire(t, file)), build(t, "", wire(t, file)), DiffOptions{}); got != "" {
			t.Errorf("%s: %s", file, got)
		}
	}
}

func TestDiffSessions(t *testing.T) {
	call := func(id, city, answer string) []string {
		return []string{
			fmt.Sprintf(`out {"type":"tool_call","seq":1,"call_id":%q,"name":"weather","args":{"city":%q,"n":1.0}}`, id, city),
			fmt.Sprintf(`in {"type":"tool_result","call_id":%q,"summary":%q}`, id, answer),
		}
	}
	text := func(s string) string {
		return fmt.Sprintf(`out {"type":"event","seq":7,"runtimeEventType":"textDelta","text":%q}`, s)
	}
	run := func(q string) string { return fmt.Sprintf(`in {"type":"run","session_id":"","query":%q}`, q) }
	done := func(outcome string) string { return fmt.Sprintf(`out {"type":"done","seq":9,"outcome":%q}`, outcome) }
	cat := func(parts ...any) []string {
		var out []string
		for _, p := range parts {
			switch p := p.(type) {
			case string:
				out = append(out, p)
			case []string:
				out = append(out, p...)
			}
		}
		return out
	}
	base := cat(run("q"), call("c1", "Oslo", "4"), call("c2", "Rome", "12"), text("It is "), text("4 and 12."), done("completed"))
	for _, c := range []struct {
		name string
		b    []string
		want string
	}{
		{"the same", base, ""},
		{"what is known to vary", cat(run("q"), call("x7", "Rome", "12"), call("x9", "Oslo", "4"), text("It "), text("is 4 and"), text(" 12."), done("failed")), ""},
		{"an argument", cat(run("q"), call("c1", "Oslo", "4"), call("c2", "Bonn", "12"), text("It is 4 and 12."), done("completed")), `call args#4/4 city "Rome"|"Bonn"`},
		{"a result", cat(run("q"), call("c1", "Oslo", "5"), call("c2", "Rome", "12"), text("It is 4 and 12."), done("completed")), `call result#2/2  4|5`},
		{"a text", cat(run("q"), call("c1", "Oslo", "4"), call("c2", "Rome", "12"), text("No idea."), done("completed")), `text text#6/6  It is 4 and 12.|No idea.`},
		{"a call less", cat(run("q"), call("c1", "Oslo", "4"), text("It is 4 and 12."), done("completed")), `call #4/0  {"city":"Rome","n":1.0}|; tool_call 2/1; tool_result 2/1`},
		{"an error", cat(run("q"), `out {"type":"error","code":"TURN_ERROR","message":"no"}`), ""},
		{"another prompt", cat(run("r"), base[1:]), `prompt text#1/1  q|r`},
		{"a turn more", cat(run("p"), done("completed"), base), `a has no turn "p"`},
	} {
		got := differences(t, build(t, "phi", phi(base...)), build(t, "phi", phi(c.b...)), DiffOptions{})
		if c.name == "an error" {
			if !strings.Contains(got, "TURN_ERROR: no") || !strings.Contains(got, "tool_call 2/0") {
				t.Errorf("%s: %s", c.name, got)
			}
			continue
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	ignore, err := dialect.ParsePaths("city")
	if err != nil {
		t.Fatal(err)
	}
	other := cat(run("q"), call("c1", "Oslo", "4"), call("c2", "Bonn", "12"), text("It is 4 and 12."), done("completed"))
	if got := differences(t, build(t, "phi", phi(base...)), build(t, "phi", phi(other...)), DiffOptions{Ignore: ignore}); got != "" {
		t.Errorf("ignored: %s", got)
	}
}

// TestPairUp holds that every element stands in exactly one pair, in order, and
// that only equal or alike ones pair.
func TestPairUp(t *testing.T) {
	alike := func(x, y string) bool { return x[0] == y[0] }
	for _, c := range []struct{ a, b, want string }{
		{"", "", ""},
		{"a1 b1", "a1 b1", "a1=a1 b1=b1"},
		{"a1 b1", "b1", "a1= b1=b1"},
		{"a1 b1 c1", "a1 b2 c1", "a1=a1 b1=b2 c1=c1"},
		{"a1 b1 c1", "a1 d1 c1", "a1=a1 b1= =d1 c1=c1"},
		{"a1 a2", "a2 a3", "a1= a2=a2 =a3"},
		{"", "a1", "=a1"},
	} {
		a, b := strings.Fields(c.a), strings.Fields(c.b)
		var got []string
		for _, p := range pairUp(a, b, alike) {
			s := "="
			if p[0] >= 0 {
				s = a[p[0]] + s
			}
			if p[1] >= 0 {
				s += b[p[1]]
			}
			got = append(got, s)
		}
		if !slices.Equal(got, strings.Fields(c.want)) {
			t.Errorf("%s with %s: %v, want %s", c.a, c.b, got, c.want)
		}
	}
}
