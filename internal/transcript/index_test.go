package transcript

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"agentrec/internal/dialect"
	"agentrec/store"
)

func indexFiles(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestIndex: a transcript from its index is the one that was derived, finding by
// finding.
func TestIndex(t *testing.T) {
	files, err := filepath.Glob("testdata/wire/*.wire.ndjson")
	if err != nil || len(files) == 0 {
		t.Fatal("no conversations", err)
	}
	for _, file := range files {
		s := session(t, wire(t, file), store.Event{Kind: store.EventExit, Exit: &store.Exit{}})
		dir := filepath.Join(t.TempDir(), "cache", "agentrec")
		first, err := openIndexed(t.Context(), s, nil, dir, 1)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(indexFiles(t, dir)); n != 1 {
			t.Fatalf("%s: %d files in the cache", file, n)
		}
		second, err := openIndexed(t.Context(), s, nil, dir, 1)
		if err != nil {
			t.Fatal(err)
		}
		if second.pass != nil {
			t.Errorf("%s: derived again", file)
		}
		if a, b := dump(t, first), dump(t, second); a != b {
			t.Errorf("%s: %s", file, firstDifference(a, b))
		}
		if a, b := rules(t, first), rules(t, second); a != b {
			t.Errorf("%s: found %s, from the index %s", file, a, b)
		}
		if grown, err := second.Extend(t.Context()); grown || err != nil {
			t.Errorf("%s: a session that ended grew: %v", file, err)
		}
	}
}

// TestIndexUnfit: what is not the index of this session is not used.
func TestIndexUnfit(t *testing.T) {
	lines := phi(`in {"type":"run","query":"one"}`, `out {"type":"done","seq":1,"outcome":"completed"}`)
	s := session(t, lines)
	dir := t.TempDir()
	open := func() *Transcript {
		t.Helper()
		tr, err := openIndexed(t.Context(), s, nil, dir, 1)
		if err != nil {
			t.Fatal(err)
		}
		return tr
	}
	want := dump(t, open())
	path := indexFiles(t, dir)[0]
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for cut := 0; cut < len(whole); cut += 1 + len(whole)/50 {
		for _, bad := range [][]byte{whole[:cut], append(append([]byte{}, whole[:cut]...), append([]byte{whole[cut] ^ 0x40}, whole[cut+1:]...)...)} {
			if err := os.WriteFile(path, bad, 0o600); err != nil {
				t.Fatal(err)
			}
			tr := open()
			if tr.pass == nil {
				t.Errorf("a bad index was used (byte %d)", cut)
			}
			if got := dump(t, tr); got != want {
				t.Error(firstDifference(want, got))
			}
		}
	}
	if again := open(); again.pass != nil {
		t.Error("the index was not written again")
	}

	// The content has changed: the old index goes.
	s.Chains[store.In].Hash[0]++
	if tr := open(); tr.pass == nil {
		t.Error("the index of other content was used")
	}
	if files := indexFiles(t, dir); len(files) != 1 || files[0] == path {
		t.Errorf("left: %v", files)
	}

	// Another reading of the same content has its own.
	d, err := dialect.Builtin("ndjson")
	if err != nil {
		t.Fatal(err)
	}
	if tr, err := openIndexed(t.Context(), s, d, dir, 1); err != nil || tr.pass == nil || len(tr.Turns) != 0 {
		t.Errorf("the index of another dialect was used: %v", err)
	}
	if err := forget(dir, s.UID, indexSuffix, ""); err != nil || len(indexFiles(t, dir)) != 0 {
		t.Errorf("not forgotten: %v", err)
	}
}

// TestIndexOnlyWhenEnded: a session that grows, a short one, and a cache that
// cannot be written are derived.
func TestIndexOnlyWhenEnded(t *testing.T) {
	s := session(t, phi(`in {"type":"run","query":"one"}`))
	dir := t.TempDir()
	if tr, err := openIndexed(t.Context(), s, nil, dir, 2); err != nil || tr.pass == nil || len(indexFiles(t, dir)) != 0 {
		t.Errorf("a short session: %v", err)
	}
	s.State = store.Recording
	if tr, err := openIndexed(t.Context(), s, nil, dir, 1); err != nil || tr.pass == nil || len(indexFiles(t, dir)) != 0 {
		t.Errorf("a session that grows: %v", err)
	}
	s.State = store.Closed
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if tr, err := openIndexed(t.Context(), s, nil, filepath.Join(file, "below"), 1); err != nil || len(tr.Turns) != 1 {
		t.Errorf("a cache that cannot be written: %v", err)
	}
}

// TestPruneIndexes drops what was not used for longest.
func TestPruneIndexes(t *testing.T) {
	dir := t.TempDir()
	for i, name := range []string{"new", "old", "oldest"} {
		path := filepath.Join(dir, name+indexSuffix)
		if err := os.WriteFile(path, make([]byte, 100), 0o600); err != nil {
			t.Fatal(err)
		}
		at := time.Now().Add(-time.Duration(i) * time.Hour)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	other := filepath.Join(dir, "other.txt")
	if err := os.WriteFile(other, make([]byte, 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	pruneIndexes(dir, 250)
	left := indexFiles(t, dir)
	if len(left) != 3 || left[0] != filepath.Join(dir, "new"+indexSuffix) || left[1] != filepath.Join(dir, "old"+indexSuffix) || left[2] != other {
		t.Errorf("left: %v", left)
	}
}

func BenchmarkReopen(b *testing.B) {
	s := longSession(b, benchFrames())
	dir := b.TempDir()
	if _, err := openIndexed(context.Background(), s, nil, dir, 1); err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	for b.Loop() {
		t, err := openIndexed(context.Background(), s, nil, dir, 1)
		if err != nil || t.pass != nil {
			b.Fatal("derived again", err)
		}
	}
}
