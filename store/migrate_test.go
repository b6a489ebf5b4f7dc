package store

import (
	"database/sql"
	"os"
	"path/filepath"
	"testing"

	"agentrec/migrations"
)

// version1 makes a database as the first schema had it, with one closed session
// of one frame.
func version1(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "session.db")
	schema, err := migrations.FS.ReadFile("0001_init.sql")
	if err != nil {
		t.Fatal(err)
	}
	pool, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	chains := chainsOf([]Frame{{Stream: In, Raw: []byte("hello"), Term: LF}})
	for _, stmt := range []struct {
		text string
		args []any
	}{
		{"PRAGMA page_size = 16384", nil},
		{"PRAGMA journal_mode = WAL", nil},
		{string(schema), nil},
		{"PRAGMA application_id = 1634169443", nil},
		{"PRAGMA user_version = 1", nil},
		{"INSERT INTO meta (key, value) VALUES ('secret', randomblob(32))", nil},
		{`INSERT INTO session (uid, name, started, host, cwd, argv, version, dialect, parent, unredacted, edited, state, reason, ended,
			last_seq, chains, wire_in, wire_out, wire_err, turn) VALUES ('01ARZ3NDEKTSV4RRFFQ69G5FAV', 'old', 0, '', '', '[]', '', '', '',
			0, 0, 'closed', '', 5, 1, ?, -1, -1, -1, 2)`, []any{packChains(chains)}},
		{"INSERT INTO frame (id, kind, time, size, raw) VALUES (?, ?, 5, 5, ?)", []any{1<<seqBits | 1, kindOf(In, LF), []byte("hello")}},
	} {
		if _, err := pool.Exec(stmt.text, stmt.args...); err != nil {
			t.Fatalf("%.60s: %v", stmt.text, err)
		}
	}
	return path
}

// A database of an older schema is read as it is, and not changed by that.
func TestOldDatabaseReads(t *testing.T) {
	path := version1(t)
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	db := openRead(t, path)
	s, err := db.Find(t.Context(), "old")
	if err != nil {
		t.Fatal(err)
	}
	if f, err := s.Frame(t.Context(), 1); err != nil || string(f.Raw) != "hello" {
		t.Errorf("its frame is %q, %v", f.Raw, err)
	}
	holdsExchanges(t, db, s.ID, nil)
	if got, err := Verify(t.Context(), s); err != nil || got.Verdict != Whole {
		t.Errorf("it is %v, %v", got, err)
	}
	into := newDB(t)
	if _, err := into.Copy(t.Context(), s); err != nil {
		t.Errorf("copying it: %v", err)
	}
	text := export(t, s)
	if _, list := again(t, text); list.Chains != s.Chains {
		t.Error("its text form has another proof")
	}
	if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
		t.Error("reading it has changed it", err)
	}

	// Whoever has it open sees what comes after it was migrated.
	w := begin(t, openDB(t, path), Start{})
	x := exchange("{}", "answer")
	x.Number = 1
	w.Exchange(x)
	closeWriter(t, w)
	holdsExchanges(t, db, w.id, []Exchange{x})
	if f, err := s.Frame(t.Context(), 1); err != nil || string(f.Raw) != "hello" {
		t.Errorf("its frame is %q, %v", f.Raw, err)
	}
}

// Opened for writing it becomes a current one and keeps what it has.
func TestOldDatabaseIsMigrated(t *testing.T) {
	path := version1(t)
	db := openDB(t, path)
	s, err := db.Find(t.Context(), "1")
	if err != nil {
		t.Fatal(err)
	}
	holds(t, db, s.ID, []Frame{{Seq: 1, Stream: In, Time: 5000, Raw: []byte("hello"), Size: 5, Term: LF}})
	if got, err := Verify(t.Context(), s); err != nil || got.Verdict != Whole {
		t.Errorf("it is %v, %v", got, err)
	}
	version := 0
	if err := db.write.QueryRow("PRAGMA user_version").Scan(&version); err != nil || version < exchangeVersion {
		t.Errorf("its version is %d, %v", version, err)
	}
}
