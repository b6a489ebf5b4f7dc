package transcript

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"agentrec/internal/dialect"
	"agentrec/store"
)

// saying are frames with hard texts: escapes, other alphabets, letters whose
// case is not ASCII's, bytes that are no UTF-8.
var saying = []string{
	`out {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"The Quick brown fox"}}}}`,
	`out {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"a \"quoted\" word,\na new line"}}}}`,
	`out {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Gr\u00fc\u00dfe aus M\u00fcnchen"}}}}`,
	`out {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Grüße aus Köln"}}}}`,
	"out {\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":{\"unit\":\"300 \u212Aelvin\",\"long\":\"me\u017F\u017Fage\"}}",
	"out plain \xff\xfe bytes",
	"err a line of stderr: Panic",
	`in {"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"it said \"no\""}}`,
}

// patterns are searched for in them, as filters.
var patterns = []string{
	`/quick/`, `/(?i)quick BROWN/`, `/quick/i`, `text:"Quick"`, `text:"quick"`, `/"quoted"/`, `text:"\"quoted\" word"`, `/word,\na new/`, `/grüße/i`, `text:"Grüße"`, `text:"München"`,
	`/kelvin/i`, `/message/i`, `/Kelvin/`, `/\x{FFFD}/`, `/n \x{FFFD}/`, `/panic|quick/i`, `/(?:fox|line)$/`, `/f.x/`, `/(brown) (fox)/`, `/-32603: it said/`, `/x+y*/`,
	`/no such thing/`, `text:"ab"`, `not /quick/`, `/quick/ or /panic/i`, `/quick/ and /fox/`, `stderr and /line/`, `.jsonrpc = "2.0" and /fox/`, `out`, `/(?s)Quick.*fox/`, `/[Qq]uick/`, `/quic(k|h)/`,
}

func chosen(t *testing.T, tr *Transcript, expr string) []int64 {
	t.Helper()
	f, err := ParseFilter(expr)
	if err != nil {
		t.Fatal(err)
	}
	var out []int64
	for seq, err := range tr.Choose(t.Context(), f) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, seq)
	}
	return out
}

// TestTextFindsTheSame: with the index a search finds what it finds without, in
// blocks of any length, and rules out blocks that hold nothing.
func TestTextFindsTheSame(t *testing.T) {
	var lines []string
	for i := range 40 {
		for range 3 {
			lines = append(lines, fmt.Sprintf(`out {"jsonrpc":"2.0","method":"filler/%d","params":{}}`, i))
		}
		lines = append(lines, saying[i%len(saying)])
	}
	tr := build(t, "acp", phi(lines...))
	for _, every := range []int{1, 2, 7, 1000} {
		x := newText(tr.Session, tr.Dialect)
		for f, err := range tr.Session.Frames(t.Context(), 1, 0) {
			if err != nil {
				t.Fatal(err)
			}
			x.frame(f)
			if int(f.Seq)%every == 0 {
				x.cut()
			}
		}
		for _, p := range patterns {
			tr.UseText(nil)
			want := chosen(t, tr, p)
			tr.UseText(x)
			if got := chosen(t, tr, p); !slices.Equal(got, want) {
				t.Errorf("blocks of %d, %s: %v with the index, %v without", every, p, got, want)
			}
		}
		f, err := ParseFilter(`/brown/i`)
		if err != nil {
			t.Fatal(err)
		}
		spans, err := x.Where(f.Needle())
		if err != nil {
			t.Fatal(err)
		}
		looked := int64(0)
		for _, s := range spans {
			looked += max(0, min(s.Last, x.Frames())-s.First+1)
		}
		if every == 1 && looked != 5 {
			t.Errorf("%d frames are looked at for 5 hits: %v", looked, spans)
		}
	}
}

// TestTextKept: the index of a session that has ended is written, found again,
// made anew when it does not fit, and forgotten.
func TestTextKept(t *testing.T) {
	ctx := context.Background()
	var lines []string
	for i := range 3000 {
		lines = append(lines, fmt.Sprintf(`out {"n":%d,"text":"%s"}`, i, strings.Repeat(fmt.Sprintf("word-%d ", i), 20)))
	}
	tr := build(t, "ndjson", phi(lines...))
	s, d, dir := tr.Session, tr.Dialect, t.TempDir()
	open := func() (*Text, int) {
		t.Helper()
		read := 0
		x, err := openText(ctx, s, d, dir, 100, func(int64) { read++ })
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(x.Close)
		return x, read
	}
	hits := func(x *Text) {
		t.Helper()
		tr.UseText(x)
		if got := chosen(t, tr, `/word-2345 /`); !slices.Equal(got, []int64{2346}) {
			t.Errorf("found %v", got)
		}
		spans, err := x.Where(NeedleOf("word-2345 "))
		if err != nil || spans[0].First == 1 && spans[0].Last >= 3000 {
			t.Errorf("nothing is ruled out: %v, %v", spans, err)
		}
	}
	x, read := open()
	if read == 0 || x.file == nil {
		t.Errorf("the first index was not made: read %d times, file %v", read, x.file)
	}
	hits(x)
	x, read = open()
	if read != 0 {
		t.Error("the index was made again")
	}
	hits(x)
	file, err := filepath.Glob(filepath.Join(dir, "*"+textSuffix))
	if err != nil || len(file) != 1 {
		t.Fatal(file, err)
	}
	whole, err := os.ReadFile(file[0])
	if err != nil {
		t.Fatal(err)
	}
	if info, _ := os.Stat(file[0]); info.Mode().Perm() != 0o600 && os.PathSeparator == '/' {
		t.Errorf("mode %v", info.Mode())
	}
	for _, damage := range []func([]byte) []byte{
		func(b []byte) []byte { return b[:len(b)-1] },
		func(b []byte) []byte { return append(b, 0) },
		func(b []byte) []byte { return b[:10] },
		func(b []byte) []byte { b[0]++; return b },
		func(b []byte) []byte { b[len(textMagic)+9]++; return b },
		func([]byte) []byte { return nil },
	} {
		if err := os.WriteFile(file[0], damage(bytes.Clone(whole)), 0o600); err != nil {
			t.Fatal(err)
		}
		if x, read = open(); read == 0 {
			t.Error("a damaged index was taken")
		}
		hits(x)
	}
	stale := filepath.Join(dir, s.UID+"-0000000000000000"+textSuffix)
	if err := os.WriteFile(stale, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(file[0]); err != nil {
		t.Fatal(err)
	}
	open()
	if _, err := os.Stat(stale); err == nil {
		t.Error("the index of the session as it was is still there")
	}
	if err := forget(dir, s.UID, textSuffix, ""); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if x, err := openText(ctx, s, d, dir, 5000, nil); x != nil || err != nil {
		t.Errorf("a short session has an index: %v", err)
	}
	if x, err := openText(ctx, s, d, filepath.Join(file[0], "no", "folder"), 100, func(int64) {}); x == nil || err != nil {
		t.Errorf("without a place to keep it: %v", err)
	}
}

// TestTextGrows: the index of a session that is being recorded follows it, and
// what it does not know yet is looked at.
func TestTextGrows(t *testing.T) {
	ctx := context.Background()
	db, err := store.OpenTemp(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	w, err := db.Begin(ctx, store.Start{Started: time.Unix(1700000000, 0), Argv: []string{"agent"}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := db.Find(ctx, "last")
	if err != nil {
		t.Fatal(err)
	}
	own := *s
	d, err := dialect.Builtin("ndjson")
	if err != nil {
		t.Fatal(err)
	}
	tr, err := Build(ctx, s, d)
	if err != nil {
		t.Fatal(err)
	}
	x, err := openText(ctx, &own, d, t.TempDir(), 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	tr.UseText(x)
	n := int64(0)
	for round := range 10 {
		for range 1000 {
			n++
			w.Frame(store.Out, time.Duration(n), fmt.Appendf(nil, `{"n":"number %d.","pad":%q}`, n, strings.Repeat("x", 100)), store.LF)
		}
		if err := w.Commit(ctx, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := tr.Extend(ctx); err != nil {
			t.Fatal(err)
		}
		for _, indexed := range []bool{false, true} {
			if indexed {
				if err := x.Extend(ctx, func(int64) {}); err != nil || x.Frames() != n {
					t.Fatalf("%d frames indexed of %d, %v", x.Frames(), n, err)
				}
			}
			for _, at := range []int64{1, n / 2, n} {
				if got := chosen(t, tr, fmt.Sprintf(`/number %d\./`, at)); !slices.Equal(got, []int64{at}) {
					t.Errorf("round %d, indexed %v: number %d found at %v", round, indexed, at, got)
				}
			}
		}
	}
}

// TestTextGiant: a frame that is not looked into may hold anything.
func TestTextGiant(t *testing.T) {
	x := newText(&store.Session{}, nil)
	x.frame(store.Frame{Seq: 1, Raw: []byte("first"), Size: 5})
	x.frame(store.Frame{Seq: 2, Size: store.MaxRaw + 1})
	x.frame(store.Frame{Seq: 3, Raw: []byte("third"), Size: 5})
	spans, err := x.Where(NeedleOf("third"))
	if want := []Span{{2, maxSeq}}; err != nil || !slices.Equal(spans, want) {
		t.Errorf("%v, want %v, %v", spans, want, err)
	}
	spans, err = x.Where(NeedleOf("nowhere"))
	if want := []Span{{2, 2}, {4, maxSeq}}; err != nil || !slices.Equal(spans, want) {
		t.Errorf("%v, want %v, %v", spans, want, err)
	}
}

// TestFoldMay: what a text holds that is too long to be kept is known all the
// same.
func TestFoldMay(t *testing.T) {
	var lines []string
	delta := func(text string) {
		lines = append(lines, fmt.Sprintf(`out {"type":"event","seq":1,"runtimeEventType":"textDelta","text":%q}`, text))
	}
	for range 40 {
		delta(strings.Repeat("pad ", 1000))
	}
	delta("nee")
	delta("d")
	delta("le ")
	tr := build(t, "phi", phi(lines...))
	for text, want := range map[string]bool{"needle": true, "NEEDLE": true, "ad pa": true, "haystack": false} {
		if got := tr.FoldMay(0, NeedleOf(text)); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
	back, err := decodeTranscript(tr.encode(), tr.Session, tr.Dialect)
	if err != nil || back.FoldMay(0, NeedleOf("haystack")) || !back.FoldMay(0, NeedleOf("needle")) {
		t.Errorf("lost on the way through the index: %v", err)
	}
}

// FuzzNeedle holds needles against what they are for: where a regular
// expression or a text is found, its needle may be.
func FuzzNeedle(f *testing.F) {
	for _, p := range patterns {
		for _, s := range saying {
			f.Add(strings.Trim(p, "/"), s)
		}
	}
	f.Add(`(?i)strasse|k+s`, "STRA\u017F\u017FE")
	f.Fuzz(func(t *testing.T, expr, text string) {
		var g grams
		var room []byte
		g.add([]byte(text))
		if strings.Contains(text, expr) && !NeedleOf(expr).may(&g) {
			t.Errorf("%q is in %q", expr, text)
		}
		for _, e := range []string{expr, "(?i)" + expr, "(?s)" + expr} {
			re, err := regexp.Compile(e)
			if err != nil || !re.MatchString(text) {
				continue
			}
			if !NeedleOfRegexp(re).may(&g) {
				t.Errorf("%q is found in %q", e, text)
			}
			if !WordOf(re).In([]byte(text), &room) {
				t.Errorf("%q is found in %q without %q", e, text, WordOf(re).text)
			}
		}
	})
}
