package tape

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"agentrec/store"
)

// A recorder without time leaves its tape; the same process, too, can then read
// the whole session.
func TestLeftTapeIsFree(t *testing.T) {
	db := filepath.Join(t.TempDir(), "s.db")
	made, err := Create(db, Start{Started: time.Now(), Argv: []string{"agent"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := made.Append(store.Out, []byte("{\"type\":\"hello\"}\n")); err != nil {
		t.Fatal(err)
	}
	f := made.Follower()
	end := made.Finish(&store.Exit{Code: 7})
	now, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.Complete(now, end); !errors.Is(err, ErrBehind) {
		t.Fatalf("completed without time: %v", err)
	}
	f.Close()
	made.Leave()

	opened, err := Open(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	s, err := opened.Find(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	if s.State != store.Closed || s.Count() != 1 || s.Exit == nil || s.Exit.Code != 7 {
		t.Errorf("%s, %d frames, exit %v", s.State, s.Count(), s.Exit)
	}
}
