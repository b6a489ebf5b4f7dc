package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// recorded makes a closed database with one session of n short frames.
func recorded(t *testing.T, path string, n int) {
	t.Helper()
	db, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	w := begin(t, db, Start{Name: "first"})
	for range n {
		w.Frame(Out, 0, []byte(`{"a":1}`), LF)
	}
	closeWriter(t, w)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func besides(t *testing.T, path string) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if e.Name() != filepath.Base(path) {
			names = append(names, e.Name())
		}
	}
	return names
}

func TestOpenSettings(t *testing.T) {
	path := filepath.Join(t.TempDir(), "odd ?#%20'\"& name.db")
	db := openDB(t, path)
	for pragma, want := range map[string]string{
		"journal_mode": "wal", "synchronous": "1", "page_size": fmt.Sprint(pageSize), "auto_vacuum": "2", "busy_timeout": "250", "trusted_schema": "0",
		"cell_size_check": "1", "application_id": "1634169443", "user_version": "3",
	} {
		got := ""
		if err := db.write.QueryRow("PRAGMA " + pragma).Scan(&got); err != nil || got != want {
			t.Errorf("%s is %s, want %s (%v)", pragma, got, want, err)
		}
	}
	w := begin(t, db, Start{})
	w.Frame(In, 0, []byte("x"), LF)
	commit(t, w, "")
	for _, suffix := range []string{"", "-wal", "-shm"} {
		info, err := os.Stat(path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", path+suffix, info.Mode())
		}
	}
	db.Close()
	if names := besides(t, path); len(names) > 0 {
		t.Errorf("a closed database leaves %v beside it", names)
	}
	if _, err := openRead(t, path).readers.pool.Exec("DELETE FROM session"); err == nil {
		t.Error("a reader can write")
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	good := filepath.Join(dir, "good.db")
	recorded(t, good, 3000)
	whole, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name string, b []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	altered := func(name, stmt string) string {
		path := write(name, whole)
		pool, err := sql.Open("sqlite", path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := pool.Exec(stmt); err != nil {
			t.Fatal(err)
		}
		pool.Close()
		return path
	}
	foreign := write("foreign.db", nil)
	pool, _ := sql.Open("sqlite", foreign)
	if _, err := pool.Exec("CREATE TABLE x (a)"); err != nil {
		t.Fatal(err)
	}
	pool.Close()

	for _, c := range []struct{ path, says string }{
		{dir, "is a directory"},
		{foreign, "of another program"},
		{altered("newer.db", "PRAGMA user_version = 4"), "newer agentrec"},
		{altered("app.db", "PRAGMA application_id = 7"), "of another program"},
		{altered("trigger.db", "CREATE TRIGGER t AFTER INSERT ON frame BEGIN DELETE FROM session; END"), "does not have the tables"},
		{altered("view.db", "DROP TABLE part; CREATE VIEW part AS SELECT 1"), "does not have the tables"},
		{altered("column.db", "ALTER TABLE frame ADD COLUMN x INTEGER"), "does not have the tables"},
		{altered("temp.db", "CREATE TABLE extra (a)"), "does not have the tables"},
		{write("cut.db", whole[:20000]), "damaged or cut short"},
		{write("short.db", whole[:100]), ""},
		{write("noise.db", []byte(strings.Repeat("noise\x00\xff", 5000))), ""},
		{filepath.Join(dir, "none", "x.db"), "there is no"},
		{"/dev/null", "not a regular file"},
	} {
		for name, open := range map[string]func() (*DB, error){
			"Open":     func() (*DB, error) { return Open(t.Context(), c.path) },
			"OpenRead": func() (*DB, error) { return OpenRead(t.Context(), c.path) },
		} {
			before, _ := os.ReadFile(c.path)
			db, err := open()
			if err == nil {
				db.Close()
				t.Errorf("%s(%s) succeeds", name, c.path)
				continue
			}
			if !errors.Is(err, ErrUnusable) || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s(%s): %v; want it to say %q", name, c.path, err, c.says)
			}
			if after, _ := os.ReadFile(c.path); string(after) != string(before) {
				t.Errorf("%s(%s) changes the file", name, c.path)
			}
		}
	}
	missing := filepath.Join(dir, "missing.db")
	if _, err := OpenRead(t.Context(), missing); !errors.Is(err, ErrUnusable) || !strings.Contains(err.Error(), "there is no") {
		t.Errorf("reading a missing file: %v", err)
	}
	empty := write("empty.db", nil)
	if _, err := OpenRead(t.Context(), empty); !errors.Is(err, ErrUnusable) || !strings.Contains(err.Error(), "holds no recording yet") {
		t.Errorf("reading an empty file: %v", err)
	}
	openDB(t, empty)
	for _, name := range besides(t, good) {
		if strings.Contains(name, "missing") || strings.HasPrefix(name, ".agentrec") {
			t.Errorf("%s was left behind", name)
		}
	}
}

func TestReadingWritesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	recorded(t, path, 2000)
	before, _ := os.ReadFile(path)
	db := openRead(t, path)
	s, err := db.Find(t.Context(), "first")
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range s.Frames(t.Context(), 0, 0) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if names := besides(t, path); len(names) > 0 {
		t.Errorf("reading makes %v", names)
	}
	db.Close()
	if names := besides(t, path); len(names) > 0 {
		t.Errorf("reading leaves %v", names)
	}
	if after, _ := os.ReadFile(path); string(after) != string(before) {
		t.Error("reading changes the file")
	}
}

// A reader that began on a quiet file must see what a recorder adds later.
func TestReaderNoticesALaterRecorder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	recorded(t, path, 10)
	reader := openRead(t, path)
	if n := sessionCount(t, reader); n != 1 {
		t.Fatalf("%d sessions", n)
	}
	recorded(t, path, 5000) // opens, writes and closes
	if n := sessionCount(t, reader); n != 2 {
		t.Fatalf("%d sessions after a second recording, want 2", n)
	}
	db := openDB(t, path)
	w := begin(t, db, Start{})
	if n := sessionCount(t, reader); n != 3 {
		t.Fatalf("%d sessions while a third is recorded, want 3", n)
	}
	w.Frame(In, 0, []byte("x"), LF)
	commit(t, w, "")
	s, err := reader.Find(t.Context(), "last")
	if err != nil || s.Count() != 1 {
		t.Fatalf("the reader finds %+v, %v", s, err)
	}
}

func TestRollbackJournalWhereNoLogIsPossible(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	db, err := open(t.Context(), path, "unix-dotfile")
	if err != nil {
		t.Fatal(err)
	}
	w := begin(t, db, Start{})
	w.Frame(In, 0, []byte("x"), LF)
	commit(t, w, "")
	mode, sync := "", 0
	db.write.QueryRow("PRAGMA journal_mode").Scan(&mode)
	db.write.QueryRow("PRAGMA synchronous").Scan(&sync)
	if mode != "delete" || sync != 2 {
		t.Errorf("journal mode %s, synchronous %d; want delete, 2", mode, sync)
	}
	closeWriter(t, w)
	read := openRead(t, path)
	if n := sessionCount(t, read); n != 1 || read.readers.immutable {
		t.Errorf("%d sessions, opened as immutable %v", n, read.readers.immutable)
	}
	begin(t, db, Start{})
	if n := sessionCount(t, read); n != 2 {
		t.Errorf("%d sessions after another began, want 2", n)
	}
	db.Close()
	if names := besides(t, path); len(names) > 0 {
		t.Errorf("reading leaves %v", names)
	}
}

func TestManyOpenOneNewDatabase(t *testing.T) {
	for range 5 {
		path := filepath.Join(t.TempDir(), "a.db")
		var wg sync.WaitGroup
		errs := make(chan error, 8)
		for i := range 8 {
			wg.Go(func() {
				db, err := Open(t.Context(), path)
				if err != nil {
					errs <- err
					return
				}
				defer db.Close()
				_, err = db.Begin(t.Context(), Start{Name: fmt.Sprint(i)})
				errs <- err
			})
		}
		wg.Wait()
		close(errs)
		for err := range errs {
			if err != nil {
				t.Fatal(err)
			}
		}
		if n := sessionCount(t, openRead(t, path)); n != 8 {
			t.Fatalf("%d sessions, want 8", n)
		}
	}
}

func TestTempIsPrivateAndSurvivesACancel(t *testing.T) {
	db, err := OpenTemp(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if db.Path() != "" {
		t.Errorf("its path is %q", db.Path())
	}
	list := some(rand.New(rand.NewPCG(7, 7)), 300)
	w := begin(t, db, Start{})
	addAll(w, list)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.Commit(gone, nil); err == nil {
		t.Fatal("a commit with a cancelled context succeeds")
	}
	commit(t, w, "")
	holds(t, db, 1, list)
}

func TestFind(t *testing.T) {
	db := newDB(t)
	if _, err := db.Find(t.Context(), ""); !errors.Is(err, ErrUnusable) {
		t.Errorf("finding in an empty database: %v", err)
	}
	begin(t, db, Start{UID: "01AAAA", Name: "x"})
	begin(t, db, Start{UID: "01AABB", Name: "x"})
	begin(t, db, Start{UID: "01CCCC", Name: "1"})
	for sel, want := range map[string]int64{"1": 1, "2": 2, "last": 3, "x": 2, "01AAA": 1, "01aabb": 2, "01C": 3} {
		s, err := db.Find(t.Context(), sel)
		if err != nil || s.ID != want {
			t.Errorf("Find(%q) = %+v, %v; want %d", sel, s, err, want)
		}
	}
	for _, sel := range []string{"", "01A", "none", "9"} {
		_, err := db.Find(t.Context(), sel)
		if !errors.Is(err, ErrUnusable) || !strings.Contains(err.Error(), `2 "x"`) {
			t.Errorf("Find(%q): %v; want the list of sessions", sel, err)
		}
	}
}

func TestSecret(t *testing.T) {
	db := newDB(t)
	key, err := db.Secret(t.Context())
	if err != nil || len(key) != 32 {
		t.Fatalf("the key has %d bytes, %v", len(key), err)
	}
	again, err := openRead(t, db.Path()).Secret(t.Context())
	if err != nil || string(again) != string(key) {
		t.Error("the key changes")
	}
	other, err := newDB(t).Secret(t.Context())
	if err != nil || string(other) == string(key) {
		t.Error("two databases have one key")
	}
}
