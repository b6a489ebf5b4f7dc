package dialect

import (
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// differ says where a node of quickYAML is not that of the YAML reader.
func differ(quick, whole *yaml.Node, at string) string {
	for whole.Kind == yaml.AliasNode {
		whole = whole.Alias
	}
	switch {
	case quick == nil:
		return at + ": nothing"
	case quick.Kind != whole.Kind || quick.Tag != whole.Tag || quick.Value != whole.Value || quick.Line != whole.Line || quick.Style != whole.Style || len(quick.Content) != len(whole.Content):
		return at + ": " + quick.Tag + " " + quick.Value + " is not " + whole.Tag + " " + whole.Value
	}
	for i := range quick.Content {
		if d := differ(quick.Content[i], whole.Content[i], at+"."+whole.Content[i/2*2].Value); d != "" {
			return d
		}
	}
	return ""
}

// compareQuick holds quickYAML to the YAML reader: where it knows a document, it
// reads the same.
func compareQuick(t *testing.T, text string) (known bool) {
	t.Helper()
	n := quickYAML(text)
	if n == nil {
		return false
	}
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		return true // the built-in tables are YAML, and no others are read quickly
	}
	if len(doc.Content) != 1 {
		t.Fatalf("%q has no value but was read", text)
	}
	if d := differ(n, doc.Content[0], ""); d != "" {
		t.Fatalf("%s\nin %.300q", d, text)
	}
	return true
}

// The built-in tables are read quickly, and as the YAML reader reads them.
func TestQuickTables(t *testing.T) {
	for _, name := range Names() {
		text, err := Source(name)
		if err != nil {
			t.Fatal(err)
		}
		if !compareQuick(t, string(text)) {
			t.Errorf("the table %s uses more of YAML than quickYAML knows: commands start slower", name)
		}
		if !compareQuick(t, string(headOf(text))) {
			t.Errorf("the head of the table %s uses more of YAML than quickYAML knows", name)
		}
	}
}

// quickSeeds are documents in and out of what quickYAML knows.
var quickSeeds = []string{
	"a: 1\nb:\n  - x\n  - {c: [d, \"e\"], f: 'it''s'}\n# note\ng: &h {i: true}\nj: *h\n",
	"a: >-\n  one\n  two\nb: null\n", "- a\n- b: c\n  d: e\n-   f: g\n    h: i\n", "a:\n- b\n- c\n",
	"a: b # c\nd: 'e' # f\ng: h#i\n", "a: >-\n  one\n\n  two\n", "a: |\n  one\n", "a: 1.5\n", "a: 0x10\n", "a: 2001-01-01\n", "a: ~\n", "a:\nb: c\n",
	"a: [b,\n  c]\n", "\"a: b\": c\n", "a: {b: c, d}\n", "a: b: c\n", "<<: *a\n", "a: yes\n", "a: .inf\n", "a: 1_000\n", "a: 010\n", "a: +1\n", "a: -\n", "? a\n: b\n",
	"a: b\na: c\n", "a: b\n  c\n", "a: \"b\\tc\"\n", "a: [b, , c]\n", "a: [b c, d:e]\n", "a\n", "", "---\na: b\n", "a: b\r\n", "a:\tb\n", "\ta: b\n", "a: {}\nb: []\n", "a: [ ]\n", "a:  b  \n",
	"a: !!str b\n", "a: *b\n", "a: &b c\nd: [*b, *b]\n", "a: [a: b]\n", "a: {b:c}\n", "a: {\"b\":c}\n", "'a' : b\n", "a: 'b' c\n", "a: é\n", "a: \x00\n", "a: =\n", "=: a\n", "a: - b\n", "a: {-: b}\n", "a: [-]\n", "a: [?]\n", "-: a\n", "a:" + strings.Repeat("+", 2000) + " b: c\n", "0: [A?]",
}

func TestQuickYAML(t *testing.T) {
	known := 0
	for _, text := range quickSeeds {
		if compareQuick(t, text) {
			known++
		}
	}
	if known < 10 {
		t.Errorf("only %d of %d were read", known, len(quickSeeds))
	}
}

func FuzzQuickYAML(f *testing.F) {
	for _, text := range quickSeeds {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { compareQuick(t, text) })
}
