package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"
)

func TestRenameAndTag(t *testing.T) {
	db := newDB(t)
	ctx := t.Context()
	w := begin(t, db, Start{Name: "a", Tags: map[string]string{"x": "1"}})
	s := w.Session()
	for _, err := range []error{db.Rename(ctx, s, "b"), db.SetTag(ctx, s, "x", "2"), db.SetTag(ctx, s, "y", ""), db.Untag(ctx, s, "none")} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if s.Name != "b" || s.Tags["x"] != "2" || len(s.Tags) != 2 {
		t.Errorf("the session is %+v", s)
	}
	if err := db.Untag(ctx, s, "x"); err != nil || len(s.Tags) != 1 {
		t.Errorf("%+v, %v", s.Tags, err)
	}
	// The recorder goes on undisturbed.
	w.Frame(In, 0, []byte("x"), LF)
	closeWriter(t, w)
	if again := w.Session(); again.Name != "b" {
		t.Errorf("the recorder undoes the name: %q", again.Name)
	}
	if err := db.Delete(ctx, s); err != nil {
		t.Fatal(err)
	}
	if err := db.Rename(ctx, s, "c"); !errors.Is(err, ErrNotFound) {
		t.Errorf("renaming a deleted session: %v", err)
	}
	if err := db.SetTag(ctx, s, "c", "c"); !errors.Is(err, ErrNotFound) {
		t.Errorf("tagging a deleted session: %v", err)
	}
	read := openRead(t, db.Path())
	begin(t, db, Start{Name: "z"})
	r, err := read.Find(ctx, "z")
	if err != nil {
		t.Fatal(err)
	}
	if err := read.Rename(ctx, r, "c"); err == nil {
		t.Error("a reader can rename")
	}
}

func rowCount(t *testing.T, db *DB) (n int) {
	t.Helper()
	for _, table := range append(tables, table{name: "session"}) {
		k := 0
		if err := db.write.QueryRow("SELECT count(*) FROM " + table.name).Scan(&k); err != nil {
			t.Fatal(err)
		}
		n += k
	}
	return n
}

func TestDelete(t *testing.T) {
	db, w := proven(t, false)
	w.Event(Event{Kind: EventStart})
	commit(t, w, "")
	if err := db.Delete(t.Context(), w.Session()); !errors.Is(err, ErrRecording) {
		t.Errorf("deleting a live session: %v", err)
	}
	db.SetTag(t.Context(), w.Session(), "k", "v")
	closeWriter(t, w)
	keep := begin(t, db, Start{Name: "keep"})
	keep.Frame(In, 0, []byte("kept"), LF)
	closeWriter(t, keep)
	if err := db.Delete(t.Context(), w.Session()); err != nil {
		t.Fatal(err)
	}
	if n := rowCount(t, db); n != 2 {
		t.Errorf("%d rows are left, want a session and a chunk", n)
	}
	holds(t, db, keep.id, []Frame{{Seq: 1, Raw: []byte("kept"), Size: 4, Term: LF}})
	before, _ := os.Stat(db.Path())
	if err := db.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	db.Close()
	if after, _ := os.Stat(db.Path()); after.Size() >= before.Size() {
		t.Errorf("the file has %d bytes, before %d", after.Size(), before.Size())
	}
	again := openDB(t, db.Path())
	if w := begin(t, again, Start{}); w.id != 3 {
		t.Errorf("a new session gets the number %d, which was used", w.id)
	}
}

func TestPrunable(t *testing.T) {
	at := func(day int) time.Time { return time.Date(2026, 1, day, 0, 0, 0, 0, time.UTC) }
	list := []*Session{
		{ID: 1, Started: at(1), State: Closed}, {ID: 2, Started: at(2), State: Recording},
		{ID: 3, Started: at(3), State: Cut}, {ID: 4, Started: at(4), State: Closed},
	}
	for _, c := range []struct {
		keep  int
		since time.Time
		want  string
	}{
		{0, at(9), "1 3 4 "}, {1, at(9), "1 3 "}, {0, at(3), "1 "}, {3, at(9), "1 "}, {9, at(9), ""}, {0, at(1), ""},
	} {
		got := ""
		for _, s := range Prunable(list, c.keep, c.since) {
			got += fmt.Sprint(s.ID, " ")
		}
		if got != c.want {
			t.Errorf("keep %d since %v: %q, want %q", c.keep, c.since, got, c.want)
		}
	}
}

const secret = "sk-live-Zm9vYmFyYmF6cXV4"

// secretive records a session with a secret in chunks, rows, a giant, events
// and its own row.
func secretive(t *testing.T, db *DB) *Writer {
	t.Helper()
	w := begin(t, db, Start{Name: "n " + secret, Cwd: "/" + secret, Argv: []string{"a", secret}, Tags: map[string]string{"k": secret}})
	for i := range 3000 {
		w.Frame(In, time.Duration(i)*time.Millisecond, fmt.Appendf(nil, `{"n":%d,"key":"%s"}`, i, secret), CRLF)
		if i == 1000 || i == 2900 {
			commit(t, w, "")
		}
	}
	w.Event(Event{Kind: EventCut, Detail: secret})
	w.part(Out, []byte(secret))
	for range 3 {
		w.part(Out, bytes.Repeat([]byte(secret+"0123456789"), 1<<15))
	}
	w.endParts(Out, time.Hour, LF)
	w.Frame(Err, time.Hour, []byte("clean"), LF)
	return w
}

func hide(p []byte) []byte { return bytes.ReplaceAll(p, []byte(secret), []byte("<redacted>")) }

// hideReader replaces within whole records; the giant is made of such.
func hideReader(_ Frame, r io.Reader) (io.Reader, error) {
	all, err := io.ReadAll(r)
	return bytes.NewReader(hide(all)), err
}

func hideAll() Edit {
	return Edit{
		Frame: func(f Frame) ([]byte, error) { return hide(f.Raw), nil },
		Giant: hideReader,
		Event: func(e *Event) error {
			e.Detail = string(hide([]byte(e.Detail)))
			return nil
		},
		Session: func(s *Session) error {
			for _, p := range []*string{&s.Name, &s.Cwd, &s.Argv[1]} {
				*p = string(hide([]byte(*p)))
			}
			s.Tags["k"] = "<redacted>"
			return nil
		},
	}
}

func TestRewriteLeavesNoOldBytes(t *testing.T) {
	db := newDB(t)
	other := begin(t, db, Start{Name: "other"})
	other.Frame(In, 0, []byte("untouched"), LF)
	closeWriter(t, other)
	w := secretive(t, db)
	if _, err := db.Rewrite(t.Context(), w.Session(), hideAll()); !errors.Is(err, ErrRecording) {
		t.Errorf("rewriting a live session: %v", err)
	}
	closeWriter(t, w)
	s := w.Session()
	was := s.Chains
	n, err := db.Rewrite(t.Context(), s, hideAll())
	if err != nil || n.Frames != 3001 {
		t.Fatalf("%d frames changed, %v", n.Frames, err)
	}
	if !s.Edited || s.Original == nil || *s.Original != was || s.Chains == was || s.Count() != 3002 || s.Name != "n <redacted>" || s.Tags["k"] != "<redacted>" || s.Argv[1] != "<redacted>" || s.State != Closed {
		t.Errorf("the session is %+v", s)
	}
	for f, err := range s.Frames(t.Context(), 0, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf(`{"n":%d,"key":"<redacted>"}`, f.Seq-1); f.Seq <= 3000 && (string(f.Raw) != want || f.Term != CRLF || f.Time != time.Duration(f.Seq-1)*time.Millisecond) {
			t.Fatalf("frame %d is %q", f.Seq, f.Raw)
		}
	}
	if got, err := Verify(t.Context(), s); err != nil || got.Verdict != IsEdited {
		t.Errorf("it verifies as %+v, %v", got, err)
	}
	// A second time keeps the recorder's proof, and one that changes nothing
	// changes nothing.
	if n, err := db.Rewrite(t.Context(), s, hideAll()); n != (Rewritten{}) || err != nil {
		t.Errorf("a second time %d frames changed, %v", n, err)
	}
	if _, err := db.Rewrite(t.Context(), s, Edit{Frame: func(f Frame) ([]byte, error) { return append(f.Raw[:len(f.Raw):len(f.Raw)], ' '), nil }}); err != nil || *s.Original != was {
		t.Errorf("the recorder's proof is lost, %v", err)
	}
	if err := db.Scrub(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, suffix := range []string{"", "-wal"} {
		b, err := os.ReadFile(db.Path() + suffix)
		if err != nil {
			t.Fatal(err)
		}
		for _, old := range []string{secret, secret[8:]} {
			if bytes.Contains(b, []byte(old)) {
				t.Errorf("%q stands in the file%s", old, suffix)
			}
		}
	}
	holds(t, db, other.id, []Frame{{Seq: 1, Raw: []byte("untouched"), Size: 9, Term: LF}})
	text := export(t, s)
	if bytes.Contains(text, []byte(secret)) {
		t.Error("the secret is exported")
	}
	if second, back := again(t, text); !bytes.Equal(second, text) || !back.Edited || *back.Original != was {
		t.Error("an edited session does not come back from the text form")
	}
}

func TestScrubFailsWhileSomebodyReads(t *testing.T) {
	db := newDB(t)
	w := secretive(t, db)
	closeWriter(t, w)
	reader := openRead(t, db.Path())
	tx, err := reader.readers.pool.Begin()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	if err := tx.QueryRow("SELECT count(*) FROM chunk").Scan(&n); err != nil {
		t.Fatal(err)
	}
	if err := db.Delete(t.Context(), w.Session()); err != nil {
		t.Fatal(err)
	}
	if err := db.Scrub(t.Context()); err == nil || !strings.Contains(err.Error(), "try again") {
		t.Errorf("scrubbing while somebody reads: %v", err)
	}
	tx.Rollback()
	if err := db.Scrub(t.Context()); err != nil {
		t.Errorf("scrubbing afterwards: %v", err)
	}
}

func TestRewriteFailsWhole(t *testing.T) {
	db := newDB(t)
	w := secretive(t, db)
	closeWriter(t, w)
	s := w.Session()
	was := s.Chains
	for name, e := range map[string]Edit{
		"an error":     {Frame: func(f Frame) ([]byte, error) { return nil, map[bool]error{true: errors.New("no")}[f.Seq == 2000] }},
		"a line feed":  {Frame: func(f Frame) ([]byte, error) { return []byte("a\nb"), nil }},
		"giant error":  {Giant: func(Frame, io.Reader) (io.Reader, error) { return nil, errors.New("no") }},
		"event error":  {Event: func(*Event) error { return errors.New("no") }},
		"giant's feed": {Giant: func(Frame, io.Reader) (io.Reader, error) { return strings.NewReader("a\nb"), nil }},
	} {
		if _, err := db.Rewrite(t.Context(), s, e); err == nil {
			t.Errorf("%s does not fail", name)
		}
	}
	if err := s.Refresh(t.Context()); err != nil || s.Edited || s.Chains != was {
		t.Errorf("a failed rewrite changes the session: %+v, %v", s, err)
	}
	if got, err := Verify(t.Context(), s); err != nil || got.Verdict != Whole {
		t.Errorf("it verifies as %+v, %v", got, err)
	}
}

func TestRewriteOfATextFile(t *testing.T) {
	db, err := OpenTemp(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	w := secretive(t, db)
	closeWriter(t, w)
	s := w.Session()
	if n, err := db.Rewrite(t.Context(), s, hideAll()); n.Frames != 3001 || err != nil {
		t.Errorf("%d frames changed, %v", n.Frames, err)
	}
}
