package store

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestAReplacedDatabaseIsNotTouched: what was put in the place of a database that
// is open for writing is no part of it. SQLite leaves the log of such a database
// under its name, and would apply it to the file that is there now.
func TestAReplacedDatabaseIsNotTouched(t *testing.T) {
	dir := t.TempDir()
	// open leaves the open database at path with a log that is not in the file yet.
	open := func(path string) *DB {
		t.Helper()
		db := openDB(t, path)
		w := begin(t, db, Start{Name: "replaced"})
		for range 100 {
			w.Frame(Out, 0, make([]byte, 1000), LF)
			commit(t, w, "here")
		}
		return db
	}
	logs := func(path string) {
		t.Helper()
		for _, suffix := range []string{"-wal", "-shm"} {
			if exists(path + suffix) {
				t.Errorf("%s is left", path+suffix)
			}
		}
	}

	other := filepath.Join(dir, "other.db")
	recorded(t, other, 3)
	path := filepath.Join(dir, "replaced.db")
	db := open(path)
	kept := filepath.Join(dir, "kept.db") // the same file, under a name that stays
	if err := os.Link(path, kept); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(other, path); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	logs(path)
	now := openDB(t, path)
	list, err := now.Sessions(t.Context())
	if err != nil || len(list) != 1 || list[0].Name != "first" || list[0].Count() != 3 {
		t.Errorf("the other database holds %+v, %v", list, err)
	}
	was := openDB(t, kept)
	if s, err := was.Find(t.Context(), ""); err != nil || s.Name != "replaced" || s.Count() != 100 {
		t.Errorf("the first database holds %+v, %v", s, err)
	}

	path = filepath.Join(dir, "garbage.db")
	db = open(path)
	if err := os.WriteFile(path+"-new", []byte("garbage\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+"-new", path); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	logs(path)
	if _, err := Open(t.Context(), path); !errors.Is(err, ErrUnusable) {
		t.Errorf("opened: %v", err)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "garbage\n" {
		t.Errorf("it holds %q, %v", b, err)
	}

	// Where nobody can tell what has the name, the log stays.
	loop := filepath.Join(dir, "loop")
	if err := os.Symlink(loop, loop); err != nil {
		t.Fatal(err)
	}
	unknown := standing{real: filepath.Join(loop, "x"), file: db.opened.file}
	if unknown.moved() {
		t.Error("what cannot be looked at has moved")
	}

	// A log that came with the new file is not ours to remove.
	path = filepath.Join(dir, "both.db")
	db = open(path)
	for _, suffix := range []string{"", "-wal"} {
		if err := os.WriteFile(path+"-new", []byte("theirs"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+"-new", path+suffix); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(path + "-wal"); err != nil || string(b) != "theirs" {
		t.Errorf("their log holds %q, %v", b, err)
	}
}
