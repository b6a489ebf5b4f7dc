package dialect

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agentrec/store"
)

// folder writes files and returns their directory.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestSetFolder: the tables of a folder are told by the first frames like the
// built-in ones, and take the place of a built-in one of their name.
func TestSetFolder(t *testing.T) {
	dir := folder(t, map[string]string{
		"bird.yaml": "name: bird\nrecognise: [{when: {chirp: {is: string}}, score: 110}]\nfamilies: [{name: chirp, when: {chirp: {is: string}}, shows: text, text: chirp}]\n",
		"phi.yml":   "name: phi\nrecognise: [{when: {type: hello}, score: 100}]\nfamilies: [{name: mine}]\n",
		"mute.json": `{"name": "mute", "families": [{"name": "all"}]}`,
		"notes.txt": "not a table",
	})
	set, err := LoadSet(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ raw, want, label string }{
		{`{"chirp":"tweet"}`, "bird", "chirp"},
		{`{"type":"hello","protocol_version":1,"server_name":"x"}`, "phi", "mine"},
		{`{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}`, "acp", "response"},
		{`{"a":1}`, "ndjson", "json"},
	} {
		det := set.Detector([]string{"x"})
		det.Observe(store.Out, []byte(c.raw))
		d := det.Dialect()
		if r := d.Read(store.Out, []byte(c.raw)); d.Name() != c.want || c.want != "ndjson" && r.Label != c.label {
			t.Errorf("%s: %s reads %s, want %s and %s", c.raw, d.Name(), r.Label, c.want, c.label)
		}
	}
	for recorded, want := range map[string]string{"bird": "bird", "mute": "mute", "pi": "pi", "": "", "gone": ""} {
		got := ""
		if d := set.Choose(recorded); d != nil {
			got = d.Name()
		}
		if got != want {
			t.Errorf("a session of %q is read by %q, want %q", recorded, got, want)
		}
	}
	one, err := LoadSet("acp")
	if err != nil || one.Choose("pi").Name() != "acp" {
		t.Errorf("the dialect that was asked for does not count: %v", err)
	}
}

func TestSetWrong(t *testing.T) {
	ok := "name: a\nfamilies: [{name: x}]\n"
	many := map[string]string{}
	for i := range maxOwn + 1 {
		name := "t" + strings.Repeat("x", i)
		many[name+".yaml"] = strings.Replace(ok, ": a", ": "+name, 1)
	}
	signs := "name: s\nrecognise: [" + strings.Repeat("{when: {a: 1}, score: 1}, ", maxSigns+1) + "]\nfamilies: [{name: x}]\n"
	for want, files := range map[string]map[string]string{
		"holds no table":       {"a.txt": ok},
		"two tables named a":   {"a.yaml": ok, "b.yaml": ok},
		"more than 100 tables": many,
		"bad.yaml":             {"bad.yaml": "name: ["},
		"recognise has more":   {"s.yaml": signs},
	} {
		if _, err := LoadSet(folder(t, files)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if _, err := LoadSet("no-such"); err == nil || !strings.Contains(err.Error(), `there is no dialect "no-such"`) {
		t.Error(err)
	}
}
