package tape

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"agentrec/store"
)

// TestASessionWithoutATapeIsNotRecorded: nobody records it any more, so it is
// shown as cut and may be deleted; a young one is left alone.
func TestASessionWithoutATapeIsNotRecorded(t *testing.T) {
	for name, c := range map[string]struct {
		age  time.Duration
		gone bool
	}{"old": {2 * time.Minute, true}, "young": {0, false}} {
		tape, err := Create(filepath.Join(t.TempDir(), "session.db"), Start{Started: time.Now().Add(-c.age), Argv: []string{"agent"}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(tape.remove)
		appendTo(t, tape, store.Out, "one\n")
		db := openStore(t, tape.db)
		d := begin(t, tape, db)
		if err := d.drainAll(t.Context(), tape.length.Load()); err != nil {
			t.Fatal(err)
		}
		db.Close()
		for _, open := range []func(context.Context, string) (*store.DB, error){Open, OpenWrite} {
			db, err := open(t.Context(), tape.db)
			if err != nil {
				t.Fatal(err)
			}
			if s, _ := frames(t, db); s.State != store.Recording {
				t.Errorf("%s, with its tape: %s (%s)", name, s.State, s.Reason)
			}
			db.Close()
		}
		if err := os.Remove(tape.path); err != nil {
			t.Fatal(err)
		}
		read, err := Open(t.Context(), tape.db)
		if err != nil {
			t.Fatal(err)
		}
		if s, got := frames(t, read); (s.State == store.Cut && s.Reason == tapeGone) != c.gone || len(got) != 1 {
			t.Errorf("%s: %s (%s), %d frames", name, s.State, s.Reason, len(got))
		}
		read.Close()
		write, err := OpenWrite(t.Context(), tape.db)
		if err != nil {
			t.Fatal(err)
		}
		defer write.Close()
		s, _ := frames(t, write)
		if err := write.Delete(t.Context(), s); c.gone && err != nil || !c.gone && !errors.Is(err, store.ErrRecording) {
			t.Errorf("%s: deleting it: %v", name, err)
		}
	}
}
