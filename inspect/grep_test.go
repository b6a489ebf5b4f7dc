package inspect

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agentrec/internal/transcript"
	"agentrec/store"
)

// grepHits runs grep and returns its hits.
func grepHits(t *testing.T, o grepOptions) []hit {
	t.Helper()
	var b bytes.Buffer
	o.Out, o.JSON = &b, true
	err := grep(context.Background(), o)
	var none Findings
	if err != nil && !errors.As(err, &none) {
		t.Fatal(err)
	}
	var hits []hit
	for l := range strings.Lines(b.String()) {
		var h hit
		if err := json.Unmarshal([]byte(l), &h); err != nil {
			t.Fatal(err)
		}
		hits = append(hits, h)
	}
	if (err != nil) != (len(hits) == 0) {
		t.Errorf("%d hits and %v", len(hits), err)
	}
	return hits
}

func TestGrep(t *testing.T) {
	steps := append(phiSteps[:len(phiSteps):len(phiSteps)],
		step{store.Out, `{"type":"event","runtimeEventType":"userEvent","event":{"text":"tab\there \u00e9l\u00C8ve \ud83e\udd16 \"quoted\""}}`},
		step{store.Err, "pure TEXT é"},
	)
	path := record(t, "one", steps)
	for _, c := range []struct {
		pattern string
		o       grepOptions
		want    string // seq-last:match
	}{
		{"hello", grepOptions{}, "1-1:hello 4-4:hello"},
		{"llo, rea", grepOptions{}, "5-6:llo, rea"}, // split over two deltas
		{"Hello", grepOptions{}, "5-5:Hello"},       // in one of them: no second hit for the whole
		{"HELLO", grepOptions{IgnoreCase: true}, "1-1:hello 4-4:hello 5-5:Hello"},
		{"LO, R", grepOptions{IgnoreCase: true}, "5-6:lo, r"},
		{`re..y\.`, grepOptions{Regexp: true}, "6-6:ready."},
		{`o, r`, grepOptions{Regexp: true}, "5-6:o, r"},
		{"4 °C", grepOptions{}, "11-11:4 °C 12-12:4 °C"},
		{"°c", grepOptions{IgnoreCase: true}, "11-11:°C 12-12:°C"},
		{"tab\there", grepOptions{}, "14-14:tab\there"},
		{"élÈve", grepOptions{}, "14-14:élÈve"},
		{"ÉLÈVE", grepOptions{IgnoreCase: true}, "14-14:élÈve"},
		{`él.ve`, grepOptions{Regexp: true}, "14-14:élÈve"},
		{"🤖", grepOptions{}, "14-14:🤖"},
		{`"quoted"`, grepOptions{}, `14-14:"quoted"`},
		{"text", grepOptions{IgnoreCase: true, Filter: mustFilter(t, "err")}, "15-15:TEXT"},
		{"type", grepOptions{Filter: mustFilter(t, "prompt")}, "4-4:type 9-9:type"},
		{"type", grepOptions{Most: 1}, "1-1:type"},
		{"nowhere at all", grepOptions{}, ""},
	} {
		c.o.Pattern, c.o.Files = c.pattern, []string{path}
		var got []string
		for _, h := range grepHits(t, c.o) {
			got = append(got, fmt.Sprintf("%d-%d:%s", h.Seq, h.Last, h.Text[h.Start:h.End]))
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%q: %s, want %s", c.pattern, s, c.want)
		}
	}
}

func mustFilter(t *testing.T, expr string) *transcript.Filter {
	t.Helper()
	f, err := transcript.ParseFilter(expr)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestGrepSessions names the session of each hit when there are several.
func TestGrepSessions(t *testing.T) {
	path := record(t, "one", phiSteps)
	recordInto(t, path, "two", phiSteps)
	hits := grepHits(t, grepOptions{Pattern: "Say hello", Files: []string{path}})
	if len(hits) != 2 || hits[0].Session != 1 || hits[1].Session != 2 {
		t.Errorf("hits: %+v", hits)
	}
	hits = grepHits(t, grepOptions{Pattern: "Say hello", Files: []string{path}, Filter: mustFilter(t, "name = two")})
	if len(hits) != 1 || hits[0].Session != 2 {
		t.Errorf("hits: %+v", hits)
	}
	var b bytes.Buffer
	if err := grep(context.Background(), grepOptions{Pattern: "Say hello", Files: []string{path}, Out: &b}); err != nil {
		t.Fatal(err)
	}
	want := "1 #4          0.004 run                      Say hello\n2 #4          0.004 run                      Say hello\n"
	if b.String() != want {
		t.Errorf("printed\n%swant\n%s", b.String(), want)
	}
	b.Reset()
	if err := grep(context.Background(), grepOptions{Pattern: "type", Count: true, Files: []string{path}, Out: &b}); err != nil {
		t.Fatal(err)
	}
	if b.String() != "1 12\n2 12\n" {
		t.Errorf("counted %q", b.String())
	}
}

// TestGrepGiant finds a text that stands astride two blocks of a giant.
func TestGrepGiant(t *testing.T) {
	ctx := context.Background()
	path := record(t, "one", phiSteps)
	db, err := store.Open(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	w, err := db.Begin(ctx, store.Start{Name: "giant"})
	if err != nil {
		t.Fatal(err)
	}
	size := store.MaxRaw + 100
	at := 3*giantBlock - 3
	part := []byte(strings.Repeat("x", 1<<20))
	whole := bytes.Repeat(part, size/len(part)+1)[:size]
	copy(whole[at:], "needle")
	if err := w.Part(store.Out, whole); err != nil {
		t.Fatal(err)
	}
	if _, err := w.EndParts(store.Out, 0, store.LF); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(ctx, store.End{State: store.Closed}); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	hits := grepHits(t, grepOptions{Pattern: "needle", Files: []string{path}})
	if len(hits) != 1 || hits[0].Session != 2 || hits[0].Seq != 1 || hits[0].Label != "giant" || len(hits[0].Text) > 200 {
		t.Errorf("%d hits", len(hits))
	}
}

// TestSurroundings cuts at the borders of characters.
func TestSurroundings(t *testing.T) {
	b := []byte(strings.Repeat("é", 200) + "match" + strings.Repeat("é", 200))
	for i := range 3 {
		text, start, end := surroundings(b[i:], []int{400 - i, 405 - i})
		if text[start:end] != "match" || !json.Valid([]byte(`"`+text+`"`)) || strings.ContainsRune(text, '\uFFFD') {
			t.Errorf("%d: %q", i, text)
		}
	}
}

// TestGrepIndexed: a long session is searched by its text index, with the same
// hits when that is made, when it is there, and without.
func TestGrepIndexed(t *testing.T) {
	cache := ownCache(t)
	path := long(t, longSession+1000)
	for text, want := range map[string]int{"word 20500,": 1, "20499, word 20500,": 1, `WORD 20500`: 0, "no such words": 0, "word 12": 1111} {
		for range 2 {
			if got := len(grepHits(t, grepOptions{Pattern: text, Files: []string{path}})); got != want {
				t.Errorf("%s: %d hits, want %d", text, got, want)
			}
		}
		re := grepOptions{Pattern: strings.ReplaceAll(text, " ", `\s`), Regexp: true, IgnoreCase: text != "WORD 20500", Files: []string{path}}
		if got := len(grepHits(t, re)); got != want {
			t.Errorf("%s: %d hits, want %d", re.Pattern, got, want)
		}
	}
	keptText(t, cache)
}

// ownCache gives the test a cache directory of its own.
func ownCache(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"XDG_CACHE_HOME", "HOME", "LocalAppData"} {
		t.Setenv(name, dir)
	}
	return dir
}

// keptText fails the test unless one text index is in the cache directory.
func keptText(t *testing.T, dir string) {
	t.Helper()
	n := 0
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".text") {
			n++
		}
		return err
	})
	if err != nil || n != 1 {
		t.Errorf("%d text indexes are kept, want 1: %v", n, err)
	}
}

// TestSearchIndexed: a search in the UI, of a session and of all, uses the text
// index.
func TestSearchIndexed(t *testing.T) {
	cache := ownCache(t)
	path := long(t, longSession+1000)
	for range 2 {
		d := drive(t, path, 80, 24)
		d.keys("Enter", "3")
		su := d.top().pane.rows.(*frameRows).su
		wait := func(until func() bool) {
			for !until() {
				(<-d.posts)()
			}
		}
		wait(func() bool { return su.story.t != nil })
		for expr, want := range map[string]string{"WORD 20500,": "hit 1 of 1", "no such words": "0 hits"} {
			d.keys("/").types(expr)
			wait(func() bool { return su.hunt.done })
			d.keys("Ctrl-L").wants(want)
		}
	}
	keptText(t, cache)
}

// TestFindingsOfLongSession: a long session is checked once; what that came to
// is kept for all looks at it as it is.
func TestFindingsOfLongSession(t *testing.T) {
	ownCache(t)
	path := long(t, longSession+1000)
	says := func(want string) {
		t.Helper()
		var out bytes.Buffer
		if err := show(t.Context(), showOptions{File: path, Seq: seqs{From: 1, To: 1}, Out: &out}); err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("%v: no %q in %.600s", err, want, out.String())
		}
	}
	says("findings  none")
	l, err := openLook(t.Context(), path, "", "")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	kept, known := keptFindings(l)
	if !known || len(kept.Integrity)+len(kept.Others) > 0 || kept.File == "" {
		t.Fatalf("kept is %v, %v", kept, known)
	}
	kept.Others = []Finding{{Seq: 20_500, Rule: "protocol/stray", Level: LevelError, Message: "as if there were one"}}
	keepFindings(l, kept)
	says("findings  1 finding")
	d := drive(t, path, 80, 24)
	d.keys("Enter").settle()
	d.keys("4").settle()
	d.wants("1 finding", "#20500", "as if there were one").keys("Enter").wants("#20500 out")

	// Damage is told also after that, and where nothing else can be.
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	middle := bytes.LastIndex(b, []byte{0x28, 0xb5, 0x2f, 0xfd}) // the last chunk
	copy(b[middle+40:], bytes.Repeat([]byte{0xff}, 8))
	bad := filepath.Join(t.TempDir(), "bad.db")
	if err := os.WriteFile(bad, b, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"", t.TempDir()} { // with what is kept of the sound one, and without
		if dir != "" {
			ownCache(t)
		}
		damaged, err := openLook(t.Context(), bad, "", "")
		if err != nil {
			t.Fatal(err)
		}
		list, err := findingsOf(t.Context(), damaged)
		damaged.Close()
		if err != nil || !slices.ContainsFunc(list, func(f Finding) bool { return f.Rule == "integrity/damaged" }) {
			t.Errorf("found %v, %v", list, err)
		}
		var out bytes.Buffer
		err = check(t.Context(), checkOptions{Files: []string{bad}, Level: LevelWarning, Format: formatText, Out: &out})
		if err == nil || !strings.Contains(out.String(), "integrity/damaged") {
			t.Errorf("%v: %s", err, out.String())
		}
	}
}
