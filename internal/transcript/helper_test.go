package transcript

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"os"
	"testing"
	"time"

	"agentrec/internal/dialect"
	"agentrec/store"
)

// line is a row of a conversation captured by a line tee.
type line struct {
	T    float64 `json:"t_ms"`
	Dir  string  `json:"dir"`
	Line string  `json:"line"`
}

// session stores frames as a closed session in a temporary database.
func session(t *testing.T, lines []line, events ...store.Event) *store.Session {
	t.Helper()
	ctx := context.Background()
	db, err := store.OpenTemp(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	w, err := db.Begin(ctx, store.Start{Started: time.Unix(1700000000, 0), Argv: []string{"agent"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range lines {
		stream := map[string]store.Stream{"c2s": store.In, "s2c": store.Out, "err": store.Err}[l.Dir]
		w.Frame(stream, time.Duration(l.T*1000)*time.Microsecond, []byte(l.Line), store.LF)
	}
	for _, e := range events {
		w.Event(e)
	}
	if err := w.Close(ctx, store.End{State: store.Closed, Exit: &store.Exit{}}); err != nil {
		t.Fatal(err)
	}
	s, err := db.Find(ctx, "last")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// wire reads a captured conversation.
func wire(t *testing.T, path string) []line {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return rows(t, data)
}

func rows(t testing.TB, data []byte) []line {
	t.Helper()
	var lines []line
	r := bufio.NewReader(bytes.NewReader(data))
	for {
		row, err := r.ReadBytes('\n')
		if len(bytes.TrimSpace(row)) > 0 {
			var l line
			if err := json.Unmarshal(row, &l); err != nil {
				t.Fatal(err)
			}
			lines = append(lines, l)
		}
		if err != nil {
			return lines
		}
	}
}

func build(t *testing.T, name string, lines []line, events ...store.Event) *Transcript {
	t.Helper()
	var d *dialect.Dialect
	if name != "" {
		var err error
		if d, err = dialect.Builtin(name); err != nil {
			t.Fatal(err)
		}
	}
	tr, err := Build(context.Background(), session(t, lines, events...), d)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}
