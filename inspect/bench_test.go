package inspect

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"agentrec/internal/tape"
	"agentrec/store"

	"github.com/gdamore/tcell/v2"
)

// long makes a session of n frames.
func long(t testing.TB, n int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "session.db")
	ctx := context.Background()
	db, err := store.Open(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	w, err := db.Begin(ctx, store.Start{Name: "long", Started: time.Now(), Dialect: "phi"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		raw := fmt.Appendf(nil, `{"type":"event","seq":%d,"runtimeEventType":"textDelta","session_id":{"external_id":null,"id":2},"text":"word %d, "}`, i, i)
		w.Frame(store.Out, time.Duration(i)*100*time.Microsecond, raw, store.LF)
		if i%20_000 == 0 {
			if err := w.Commit(ctx, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(ctx, store.End{State: store.Closed, Wire: [store.Streams]int64{-1, -1, -1}}); err != nil {
		t.Fatal(err)
	}
	return path
}

// A long session opens on its frames at once, and every screen of it reads a
// page or two, wherever it is.
func TestLongSessionReadsTheScreenOnly(t *testing.T) {
	n := longSession + 1000
	d := drive(t, long(t, n), 80, 24)
	d.keys("Enter", "3")
	rows, ok := d.top().pane.rows.(*frameRows)
	if !ok {
		t.Fatalf("shows %T", d.top().pane.rows)
	}
	w := rows.su.story.window
	for _, at := range []struct{ key, want string }{{"g", "     1     0.000 out"}, {"G", fmt.Sprint(n)}, {"PgUp", "event.textDelta"}, {"g", "     1     0.000"}} {
		before := w.reads
		d.keys(at.key).wants(at.want)
		if reads := w.reads - before; reads > 2 {
			t.Errorf("%s reads %d pages", at.key, reads)
		}
	}
	if len(w.pages) > pagesKept {
		t.Errorf("%d pages are kept", len(w.pages))
	}
}

// BenchmarkFirstScreen opens a recording of a million frames and draws the first
// screen.
func BenchmarkFirstScreen(b *testing.B) {
	path := long(b, 1_000_000)
	screen := tcell.NewSimulationScreen("UTF-8")
	if err := screen.Init(); err != nil {
		b.Fatal(err)
	}
	defer screen.Fini()
	for b.Loop() {
		db, err := tape.Open(b.Context(), path)
		if err != nil {
			b.Fatal(err)
		}
		u := newUI(b.Context(), db, path, themeOf(themeDark, true, func(string) string { return "" }))
		s, err := db.Find(b.Context(), "")
		if err != nil {
			b.Fatal(err)
		}
		if err := u.openSession(s); err != nil {
			b.Fatal(err)
		}
		u.root.SetRect(0, 0, 80, 24)
		u.root.Draw(screen)
		b.StopTimer() // what was started behind the screen ends off the clock
		u.release()
		db.Close()
		b.StartTimer()
	}
}
