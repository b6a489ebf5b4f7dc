package dialect

import (
	"os"
	"strings"
	"testing"

	"agentrec/store"
)

// fence returns the fenced block of TABLES.md in a language.
func fence(t *testing.T, language string) string {
	t.Helper()
	text, err := os.ReadFile("TABLES.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, ok := strings.Cut(string(text), "\n```"+language+"\n")
	block, _, closed := strings.Cut(after, "```\n")
	if !ok || !closed {
		t.Fatalf("TABLES.md has no block of %s", language)
	}
	return block
}

// The worked example of TABLES.md does what the page says.
func TestWorkedExample(t *testing.T) {
	text := fence(t, "yaml")
	if n := strings.Count(text, "\n"); n >= 30 {
		t.Errorf("the example has %d lines", n)
	}
	file, err := os.ReadFile("testdata/tables/harbour.yaml")
	if err != nil || string(file) != text {
		t.Errorf("testdata/tables/harbour.yaml is not the example of TABLES.md (%v)", err)
	}
	d, err := Parse("harbour", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var lines []line
	for l := range strings.Lines(fence(t, "conversation")) {
		stream, raw, _ := strings.Cut(strings.TrimSpace(l), " ")
		lines = append(lines, line{map[string]store.Stream{"in": store.In, "out": store.Out}[stream], []byte(strings.TrimSpace(raw))})
	}
	var said []string
	ends := 0
	for _, l := range lines {
		r := d.Read(l.stream, l.raw)
		if r.Role == Raw || r.Rule.Family == "other" {
			t.Errorf("not read: %s", l.raw)
		}
		if r.Ends {
			ends++
		}
		if r.Shows != ShowsNothing {
			said = append(said, string(r.Shows)+" "+r.Name+r.Text+r.Args)
		}
	}
	want := `greeting Harbour 3|prompt How deep is the water at pier 4?|text Let me |text sound it.|call sound{"at":"pier 4"}|result 9 m|text Nine metres.|end done|prompt And at pier 5?|end stopped`
	if got := strings.Join(said, "|"); got != want || ends != 2 {
		t.Errorf("%d turns end\n got %s\nwant %s", ends, got, want)
	}
	paired, unpaired, open := pairs(d, lines)
	if len(paired) != 4 || len(unpaired)+len(open) != 0 {
		t.Errorf("paired %v, unpaired %v, open %v", paired, unpaired, open)
	}
	if got := spans(d.Secret(store.In, lines[0].raw), lines[0].raw); got != `"kelp-and-salt"` {
		t.Errorf("secret: %s", got)
	}
	if got := spans(d.Volatile(store.Out, lines[1].raw), lines[1].raw); got != "17" {
		t.Errorf("volatile: %s", got)
	}
	if got := string(d.Refuse([]byte(`["ask","q9","why?"]`), "not recorded")); got != `["end","q9","failed","not recorded"]` {
		t.Errorf("refusal: %s", got)
	}
}

// What is wrong in a table is said with its line and with what to write.
func TestTableErrors(t *testing.T) {
	for _, c := range []struct{ table, want string }{
		{"name: x\nfamilies:\n  - name: a\n    lable: b\n", `line 4: a family has no key "lable"; did you mean "label"?`},
		{"name: x\nfamily: []\n", `line 2: a table has no key "family"; write one of name,`},
		{"name: x\nfamilies:\n  - {name: a, role: requst}\n", `line 3: role cannot be "requst"; did you mean "request"?`},
		{"name: x\nfamilies:\n  - name: a\n    shows: texts\n", `line 3: shows cannot be "texts"`},
		{"name: x\nfamilies:\n  - {name: a, when: {type: {is: strng}}}\n", `line 3: a value cannot be "strng"; did you mean "string"?`},
		{"name: x\nfamilies:\n  - {name: a, when: {type: {iss: string}}}\n", `line 3: a condition has no key "iss"; did you mean "is"?`},
		{"name: x\nfamilies:\n  - {name: a, role: cancel}\n", `line 3: a family of role cancel needs cancel:`},
		{"name: x\nfamilies:\n  - {name: a, role: cancel, cancel: {target: id}}\n", `needs id: PATH`},
		{"name: x\nfamilies:\n  - {name: a, id: '@pretty'}\n", `line 3: the path "@pretty" is not a gjson path`},
		{"name: x\nfamilies:\n  - {name: a, label: '{type'}\n", `line 3: "{type" opens a place with { and does not close it`},
		{"name: x\nfamilies:\n  - {role: request}\n", `line 3: a family needs a name`},
		{"name: x\nfamilies:\n  - {name: a, stream: up}\n", `line 3: stream cannot be "up"; write in, out or both`},
		{"name: x\nfamilies:\n  - {name: a, volatile: a..b}\n", `a key is empty`},
		{"name: x\nfamilies:\n  - {name: a, slots: [{path: a}]}\n", `a slot needs space: NAME and minted: client or agent`},
		{"name: x\nfamilies:\n  - {name: a, require: {b: strin}}\n", `require b cannot be "strin"`},
		{"name: x\nfamilies:\n  - {name: a, require: {'b.*': string}}\n", `require b.* ends in a wildcard`},
		{"name: x\nfamilies:\n  - {name: a, inner: {path: b, dialect: nope}}\n", `there is no dialect "nope"`},
		{"name: x\nfamilies:\n  - {name: a, ends: maybe}\n", `line 3: write true, false, or conditions`},
		{"name: X y\nfamilies: [{name: a}]\n", `a table needs a name of lower-case letters`},
		{"name: x\n", `the table has no families`},
		{"name: x\nextends: nope\nfamilies: [{name: a}]\n", `there is no dialect "nope"`},
		{"name: x\nlanes: two\nfamilies: [{name: a}]\n", `lanes cannot be "two"`},
		{"name: x\nrecognise: [{when: {a: 1}}]\nfamilies: [{name: a}]\n", `needs conditions and a score`},
		{"name: [x]\nfamilies: [{name: a}]\n", `line 1: cannot take`},
		{"name: x\nfamilies: {a: b}\n", `line 2`},
		{"name: x\nfamilies:\n\t- a", `line 3`},
		{"- a\n", `a table is a mapping of keys to values`},
		{"", `a table needs a name`},
	} {
		_, err := Parse("my.yaml", []byte(c.table))
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "reading the table my.yaml: ") {
			t.Errorf("%s\n got %v\nwant ...%s", c.table, err, c.want)
		}
	}
	if _, err := Parse("big.yaml", []byte("name: x\nfamilies: [{name: a}]\n#"+strings.Repeat("x", maxTable))); err == nil {
		t.Error("a table of more than a megabyte is read")
	}
}
