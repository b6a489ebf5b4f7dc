package dialect

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agentrec/store"
)

var update = flag.Bool("update", false, "write the golden files anew")

// talk reads a conversation written by hand from a protocol's description:
// lines of a stream and a frame.
func talk(t testing.TB, file string) []line {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out []line
	for l := range bytes.Lines(text) {
		stream, raw, ok := bytes.Cut(bytes.TrimSuffix(l, []byte("\n")), []byte(" "))
		if !ok {
			t.Fatalf("%s: %q", file, l)
		}
		out = append(out, line{map[string]store.Stream{"in": store.In, "out": store.Out}[string(stream)], raw})
	}
	return out
}

// report says how a dialect reads a conversation, a line a frame.
func report(d *Dialect, lines []line) string {
	var b strings.Builder
	paired, unpaired, open := pairs(d, lines)
	for i, l := range lines {
		fmt.Fprintf(&b, "%3d %-3s ", i, l.stream)
		describe(&b, d.Read(l.stream, l.raw))
		if p, ok := paired[i]; ok {
			fmt.Fprintf(&b, " -> %d", p)
		}
		for _, s := range d.Slots(l.stream, l.raw) {
			fmt.Fprintf(&b, " %s", slotMark(s, l.raw))
		}
		if v := spans(d.Volatile(l.stream, l.raw), l.raw); v != "" {
			fmt.Fprintf(&b, " volatile %.120s", v)
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "unpaired %v, open %v\n", unpaired, open)
	return b.String()
}

func slotMark(s Slot, raw []byte) string {
	mark := "uses "
	if s.Mints {
		mark = "mints "
	}
	return mark + s.Namespace + "=" + string(raw[s.Start:s.End])
}

func describe(b *strings.Builder, r Reading) {
	fmt.Fprintf(b, "%s %s", r.Label, [...]string{"raw", "request", "response", "notification", "cancel"}[r.Role])
	for _, m := range append(r.Members, r.Parts...) {
		b.WriteString(" [")
		describe(b, m)
		b.WriteString("]")
	}
	say := func(name string, on bool, value any) {
		if on {
			fmt.Fprintf(b, " %s %.100s", name, fmt.Sprint(value))
		}
	}
	say("query", r.Rule != nil && r.Rule.Class == Query, "")
	say("conversation", r.Conversation != "", r.Conversation)
	say("opens", r.Opens != "", r.Opens)
	say("about", r.About != "", r.About)
	say("target", r.Target != "", r.Target)
	say("together", r.Together != "", r.Together)
	say("ends", r.Ends, "")
	say("failed", r.Failed, "")
	if r.Shows != ShowsNothing {
		fmt.Fprintf(b, " %s %.100q", r.Shows, r.Text)
	}
	say("delta of", r.Delta, r.Part)
	say("snapshot of", r.Snapshot, r.Part)
	say("call", r.CallID != "", r.CallID)
	say("name", r.Name != "", r.Name)
	say("args", r.Args != "", r.Args)
	say("agent", r.Agent != "", r.Agent)
	if r.Usage != (Usage{}) {
		fmt.Fprintf(b, " usage %+v", r.Usage)
	}
	if r.Inner != nil {
		b.WriteString(" {")
		describe(b, *r.Inner)
		b.WriteString("}")
	}
}

// More conversations: of real software in other versions (phi 0.20, pi 0.74.2,
// codex 0.171, rpi 0.3 and 0.16), and
// written from a protocol's description. Each with what it must be read
// as. The golden files are read by people before they are kept.
func TestTalks(t *testing.T) {
	files, err := filepath.Glob("testdata/talks/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no conversations", err)
	}
	speaks := map[string]string{"harbour": "testdata/tables/harbour.yaml", "mcp-phi": "mcp", "phi-bugs": "phi", "phi-0.20": "phi", "codex-0.171": "codex", "pi-0.74.2": "pi-0.83", "claude-more": "claude", "claude-blocks": "claude", "rpi-0.16": "rpi2", "rpi-0.3": "rpi"}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		t.Run(name, func(t *testing.T) {
			lines := talk(t, file)
			want := name
			if s, ok := speaks[name]; ok {
				want = s
			}
			d, err := Load(want)
			if err != nil {
				t.Fatal(err)
			}
			if got, _ := detect(nil, lines); got != want && name != "harbour" {
				t.Errorf("detected %s, want %s", got, want)
			}
			golden(t, strings.TrimSuffix(file, ".txt")+".golden", report(d, lines))
		})
	}
}

// The real conversations, frame by frame.
func TestWireReports(t *testing.T) {
	for _, c := range conversations {
		t.Run(c.file, func(t *testing.T) {
			golden(t, "testdata/wire/"+c.file+".golden", report(builtinDialect(t, c.dialect), wire(t, c.file)))
		})
	}
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		a, b := strings.Split(got, "\n"), strings.Split(string(want), "\n")
		for i := range min(len(a), len(b)) {
			if a[i] != b[i] {
				t.Fatalf("%s line %d\n got %s\nwant %s", file, i+1, a[i], b[i])
			}
		}
		t.Fatalf("%s has %d lines, got %d", file, len(b), len(a))
	}
}
