package dialect

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"unicode"
	"unicode/utf8"

	"agentrec/store"
)

// FuzzRead reads any bytes with every built-in dialect. The oracle is the
// contract of Read and Slots, not their code.
func FuzzRead(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s), uint8(0))
		f.Add([]byte(s), uint8(1))
	}
	files, err := filepath.Glob("testdata/wire/*.wire.ndjson")
	if err != nil || len(files) == 0 {
		f.Fatal("no conversations", err)
	}
	for _, file := range files {
		for i, l := range wire(f, strings.TrimSuffix(filepath.Base(file), ".wire.ndjson")) {
			if i < 12 {
				f.Add(l.raw, uint8(l.stream))
			}
		}
	}
	var all []*Dialect
	for _, name := range Names() {
		all = append(all, builtinDialect(f, name))
	}
	f.Fuzz(func(t *testing.T, raw []byte, s uint8) {
		before := string(raw)
		stream := store.Stream(s % store.Streams)
		for _, d := range all {
			r := d.Read(stream, raw)
			if r.JSON != Valid(raw) {
				t.Errorf("%s: JSON is %v", d.Name(), r.JSON)
			}
			checkReading(t, d, r)
			last := 0
			for _, slot := range d.Slots(stream, raw) {
				if slot.Start < last || slot.End <= slot.Start || slot.End > len(raw) || !Valid(raw[slot.Start:slot.End]) || slot.Namespace == "" {
					t.Fatalf("%s: slot %+v in %q", d.Name(), slot, raw)
				}
				last = slot.End
			}
			d.Volatile(stream, raw).Find(raw)
			d.Secret(stream, raw).Find(raw)
			for _, p := range d.Check(stream, raw) {
				if p.Path == "" || p.Got == "" || p.Want == "" {
					t.Errorf("%s: problem %+v", d.Name(), p)
				}
			}
			if out := d.Refuse(raw, "no\nway"); out != nil && !Valid(out) {
				t.Errorf("%s refuses with %q", d.Name(), out)
			}
		}
		if string(raw) != before {
			t.Fatal("the frame was changed")
		}
	})
}

func checkReading(t *testing.T, d *Dialect, r Reading) {
	t.Helper()
	if (r.Rule == nil) != (r.Role == Raw) {
		t.Errorf("%s: role %d with rule %v", d.Name(), r.Role, r.Rule)
	}
	if r.Label == "" || len(r.Label) > maxLabel || !utf8.ValidString(r.Label) || strings.ContainsFunc(r.Label, func(c rune) bool { return unicode.IsControl(c) || unicode.IsSpace(c) }) {
		t.Errorf("%s: label %q", d.Name(), r.Label)
	}
	if len(r.Members) > maxMembers {
		t.Errorf("%s: %d members", d.Name(), len(r.Members))
	}
	for _, m := range r.Members {
		checkReading(t, d, m)
	}
	if r.Inner != nil {
		checkReading(t, d, *r.Inner)
	}
}

func TestReadAny(t *testing.T) {
	d := builtinDialect(t, "ndjson")
	for raw, want := range map[string]string{
		"": "empty", " \t": "empty", "DEBUG loading": "text", `{"a":1}`: "json", `{"type":"x y"}`: "x_y", `{"method":"a/b"}`: "a/b", "42": "json",
		`{"type":"` + strings.Repeat("é", 200) + `"}`: strings.Repeat("é", 46) + "…", "{\"type\":\"a\\u001b[31mb\"}": "a\ufffd[31mb", "{\"type\":\"\xff\"}": "\ufffd",
		"{\"type\":\"a\u202eb\"}": "a\ufffdb",
	} {
		if got := d.Read(store.In, []byte(raw)).Label; got != want {
			t.Errorf("%q is labelled %q, want %q", raw, got, want)
		}
	}
	if r := d.Read(store.Err, []byte(`{"type":"x"}`)); r.Role != Raw || r.Label != "err" {
		t.Errorf("a frame of stderr is %+v", r)
	}
	if r := d.Read(store.In, []byte(`{"type":"x"}`)); r.Role != Notification || r.Rule.Class != Act || !d.OneLane() {
		t.Errorf("a frame of no known protocol is %+v", r)
	}
}

func TestReadAllocations(t *testing.T) {
	for name, raw := range map[string]string{
		"phi":    `{"type":"event","seq":3,"runtimeEventType":"textDelta","session_id":{"external_id":null,"id":2},"text":"Hello, "}`,
		"ndjson": `{"type":"event","seq":3}`,
		"acp":    `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Let me "},"messageId":"m1"}}}`,
		"pi":     `{"type":"message_update","usage":{"input":100},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"Let me "}}`,
		"claude": `{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Let me "}},"session_id":"7ac9","parent_tool_use_id":null,"uuid":"0e56"}`,
		"mcp":    `{"jsonrpc":"2.0","id":4,"result":{}}`,
	} {
		d, frame := builtinDialect(t, name), []byte(raw)
		if n := testing.AllocsPerRun(100, func() { d.Read(store.Out, frame) }); n > 0 {
			t.Errorf("%s: %v allocations to read %s", name, n, raw)
		}
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "own.yaml")
	if err := os.WriteFile(file, []byte("name: own\nfamilies: [{name: any}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"phi": "phi", file: "own"} {
		if d, err := Load(name); err != nil || d.Name() != want {
			t.Errorf("Load(%s): %v", name, err)
		}
	}
	for _, name := range []string{"no-such", filepath.Join(dir, "absent.yaml"), dir + "/"} {
		if _, err := Load(name); err == nil {
			t.Errorf("Load(%s) succeeded", name)
		}
	}
	a, b := builtinDialect(t, "phi"), builtinDialect(t, "ndjson")
	if a.Version() == b.Version() || len(a.Version()) != 12 {
		t.Errorf("versions %s and %s", a.Version(), b.Version())
	}
}

// BenchmarkRead reads the real conversations, as labelling a session does: a
// frame an operation.
func BenchmarkRead(b *testing.B) {
	for _, c := range conversations {
		b.Run(c.dialect+"/"+c.file, func(b *testing.B) {
			d, lines := builtinDialect(b, c.dialect), wire(b, c.file)
			total := 0
			for _, l := range lines {
				total += len(l.raw)
			}
			b.SetBytes(int64(total / len(lines)))
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				l := lines[i%len(lines)]
				d.Read(l.stream, l.raw)
			}
		})
	}
}

func BenchmarkSlots(b *testing.B) {
	d, lines := builtinDialect(b, "acp"), wire(b, "acp__ts24-client__ts24-rich-agent")
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		l := lines[i%len(lines)]
		d.Slots(l.stream, l.raw)
	}
}

func TestReadConcurrently(t *testing.T) {
	d, lines := builtinDialect(t, "acp"), wire(t, "acp__ts24-client__ts24-rich-agent")
	want := make([]string, len(lines))
	for i, l := range lines {
		want[i] = show(d.Read(l.stream, l.raw))
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i, l := range lines {
				if got := show(d.Read(l.stream, l.raw)); got != want[i] {
					t.Errorf("line %d: %s", i, got)
				}
				d.Slots(l.stream, l.raw)
				d.Check(l.stream, l.raw)
			}
		})
	}
	wg.Wait()
}
