package inspect

import (
	"bytes"
	"database/sql"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agentrec/store"

	_ "modernc.org/sqlite"
)

// TestOneDamagedSessionHidesNoOther: lists and searches go on with the rest, and
// say which it is.
func TestOneDamagedSessionHidesNoOther(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mix.db")
	db, err := store.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"first", "second"} {
		w, err := db.Begin(t.Context(), store.Start{UID: "01K4ZQ9S3M8N5V0T2B7C6D1E4" + word[:1], Name: word, Started: time.Now(), Argv: []string{"agent"}})
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			w.Frame(store.Out, 0, []byte(`{"word":"`+word+`","needle":1}`), store.LF)
		}
		if err := w.Close(t.Context(), store.End{State: store.Closed}); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	raw, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := raw.Exec("UPDATE chunk SET payload = x'00' WHERE id >> 40 = 1"); err != nil {
		t.Fatal(err)
	}
	raw.Close()

	var out bytes.Buffer
	err = ls(t.Context(), lsOptions{File: path, Out: &out, Color: ColorNever, Now: time.Now()})
	if err == nil || !strings.Contains(err.Error(), "session 1") {
		t.Errorf("ls: %v", err)
	}
	rows := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(rows) != 3 || !strings.Contains(rows[1], "first") || !strings.HasSuffix(rows[1], "damaged") || !strings.Contains(rows[2], "second") {
		t.Errorf("ls prints\n%s", out.String())
	}
	out.Reset()
	err = grep(t.Context(), grepOptions{Pattern: "needle", Files: []string{path}, Count: true, Out: &out, Color: ColorNever})
	if err == nil || !strings.Contains(err.Error(), "session 1") || !strings.Contains(out.String(), "20") {
		t.Errorf("grep: %v, prints\n%s", err, out.String())
	}
}
