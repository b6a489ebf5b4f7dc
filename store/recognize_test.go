package store

import (
	"database/sql"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestRecognize(t *testing.T) {
	dir := t.TempDir()
	ours := filepath.Join(dir, "ours.db")
	recorded(t, ours, 3)
	whole, err := os.ReadFile(ours)
	if err != nil {
		t.Fatal(err)
	}
	files, err := migrationFiles()
	if err != nil {
		t.Fatal(err)
	}
	newer := append([]byte{}, whole...)
	binary.BigEndian.PutUint32(newer[60:], 99)
	foreign := filepath.Join(dir, "foreign.db")
	if err := os.WriteFile(foreign, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	pool := sql.OpenDB(connector(foreign, "DELETE", ""))
	if _, err := pool.Exec("CREATE TABLE notes (text TEXT)"); err != nil {
		t.Fatal(err)
	}
	pool.Close()
	other, err := os.ReadFile(foreign)
	if err != nil {
		t.Fatal(err)
	}
	if err := Recognize(""); err == nil || err.Error() != "its name is empty" {
		t.Errorf("no name: %v", err)
	}
	if err := Recognize(filepath.Join(dir, "no", "a.db")); err == nil || err.Error() != "there is no directory "+filepath.Join(dir, "no") {
		t.Errorf("no directory: %v", err)
	}
	for name, c := range map[string]struct {
		content []byte
		want    string
	}{
		"ours":      {whole, ""},
		"empty":     {nil, ""},
		"text":      {[]byte("notes\n"), "it is not a database"},
		"magic":     {whole[:20], "it is a database that was cut short"},
		"cut":       {whole[:len(whole)-1], "it is a database that was cut short"},
		"cut early": {whole[:200], "it is a database that was cut short"},
		"newer":     {newer, fmt.Sprintf("it was written by a newer agentrec (schema 99, this one knows %d); use that one", len(files))},
		"foreign":   {other, "it is a database of another program"},
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, c.content, 0o600); err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := Recognize(path); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "cut-wal"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Recognize(filepath.Join(dir, "cut")); err != nil {
		t.Errorf("one into which a log is being moved: %v", err)
	}
	if err := Recognize(filepath.Join(dir, "missing")); err != nil {
		t.Errorf("a missing file: %v", err)
	}
	if err := Recognize(dir); err == nil {
		t.Error("a directory is recognized")
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(filepath.Join(dir, "missing"), link); err != nil {
		t.Fatal(err)
	}
	if err := Recognize(link); err == nil || err.Error() != "it is a link to nowhere" { // nor would it be opened
		t.Errorf("a link to a missing file: %v", err)
	}
}

// A database that others create or hold locked is no error, and is not waited
// for.
func TestRecognizeABusyDatabase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	db := openDB(t, path)
	if err := Recognize(path); err != nil { // its tables stand in the log
		t.Errorf("a new one: %v", err)
	}
	tx, err := db.write.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	began := time.Now()
	if err := Recognize(path); err != nil || time.Since(began) > openPatience/2 {
		t.Errorf("a locked one: %v after %v", err, time.Since(began))
	}
}
