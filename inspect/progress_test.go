package inspect

import (
	"bytes"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"agentrec/store"
)

// The line comes after a while, is gone before anything else is printed, and
// does not come where a line of the command's own is not over.
func TestProgressLine(t *testing.T) {
	var screen bytes.Buffer
	p := &progress{out: &screen, what: "check"}
	out := p.before(&screen)
	p.show(patience - 1)
	if screen.Len() > 0 {
		t.Errorf("too early: %q", screen.String())
	}
	p.frames.Add(1234)
	p.show(patience)
	fmt.Fprint(out, "a finding")
	p.show(2 * patience)
	fmt.Fprint(out, ", whole\n")
	p.show(2 * patience)
	p.start(time.Hour)()
	want := "agentrec: check: 1s, 1234 frames read\r\x1b[Ka finding, whole\nagentrec: check: 2s, 1234 frames read\r\x1b[K"
	if got := screen.String(); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// Whatever reads or stores frames tells how many.
func TestWorkIsWatched(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	var seen atomic.Int64
	ctx := store.Watch(t.Context(), func(n int) { seen.Add(int64(n)) })
	db, err := store.Open(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	w, err := db.Begin(ctx, store.Start{})
	if err != nil {
		t.Fatal(err)
	}
	for range 30_000 {
		w.Frame(store.Out, 0, []byte("{}"), store.LF)
	}
	if err := w.Close(ctx, store.End{State: store.Closed}); err != nil {
		t.Fatal(err)
	}
	if n := seen.Swap(0); n != 30_000 {
		t.Errorf("storing told of %d frames", n)
	}
	for _, err := range w.Session().Frames(ctx, 11, 25_000) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if n := seen.Load(); n != 24_990 {
		t.Errorf("reading told of %d frames", n)
	}
}
