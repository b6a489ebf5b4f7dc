package store

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	sqlite3 "modernc.org/sqlite/lib"
)

// A full disk fails a commit whole; when there is room again nothing is lost
// and nothing twice.
func TestFullDisk(t *testing.T) {
	db := newDB(t)
	list := some(rand.New(rand.NewPCG(13, 13)), 400)
	w := begin(t, db, Start{})
	addAll(w, list[:100])
	commit(t, w, "a")
	pages := 0
	if err := db.write.QueryRow("PRAGMA page_count").Scan(&pages); err != nil {
		t.Fatal(err)
	}
	if _, err := db.write.Exec("PRAGMA max_page_count = 1"); err != nil { // no more than it has
		t.Fatal(err)
	}
	for i := 100; i < 400; i += 100 {
		addAll(w, list[i:i+100])
		if err := w.Commit(t.Context(), []byte("b")); code(err) != sqlite3.SQLITE_FULL {
			t.Fatalf("a commit on a full disk: %v", err)
		}
	}
	if err := w.Close(t.Context(), End{State: Closed}); code(err) != sqlite3.SQLITE_FULL {
		t.Fatalf("a close on a full disk: %v", err)
	}
	holds(t, db, 1, list[:100])
	if _, err := db.write.Exec("PRAGMA max_page_count = 100000"); err != nil {
		t.Fatal(err)
	}
	closeWriter(t, w)
	holds(t, db, 1, list)
}

// While another program holds the database a commit fails soon, as Busy, and
// stays pending.
func TestLockedDatabase(t *testing.T) {
	db := newDB(t)
	other := openDB(t, db.Path())
	w := begin(t, db, Start{})
	list := some(rand.New(rand.NewPCG(14, 14)), 50)
	addAll(w, list)
	tx, err := other.write.Begin()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Commit(t.Context(), nil); !Busy(err) {
		t.Errorf("a commit into a locked database: %v", err)
	}
	if _, err := db.Begin(t.Context(), Start{}); !Busy(err) {
		t.Errorf("a session in a locked database: %v", err)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	commit(t, w, "")
	holds(t, db, 1, list)
}

func TestBeginTwice(t *testing.T) {
	db := newDB(t)
	begin(t, db, Start{UID: "u"})
	if _, err := db.Begin(t.Context(), Start{UID: "u"}); !errors.Is(err, ErrExists) {
		t.Errorf("a second session with one uid: %v", err)
	}
	if n := sessionCount(t, db); n != 1 {
		t.Errorf("%d sessions", n)
	}
}

// Every sample is as agentrec writes it and verifies.
func TestSamplesComeBack(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "samples", "*.agentrec"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d samples, %v", len(files), err)
	}
	for _, file := range files {
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		db := openRead(t, file)
		list, err := db.Sessions(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var got []byte
		for _, s := range list {
			got = append(got, export(t, s)...)
			if v, err := Verify(t.Context(), s); err != nil || v.Verdict == Damaged {
				t.Errorf("%s: %+v, %v", file, v, err)
			}
		}
		if string(got) != string(want) {
			t.Errorf("%s is not how agentrec writes it", file)
		}
	}
}
