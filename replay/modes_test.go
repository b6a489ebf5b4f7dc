package replay

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agentrec/internal/tape"
	"agentrec/store"
)

// A recorder that had to leave in a hurry leaves the end of its session on the
// tape. Recording the file again must not bring that session back.
func TestRecordAgainTakesLeftTapes(t *testing.T) {
	ctx := context.Background()
	file := filepath.Join(t.TempDir(), "s.db")
	db, err := store.Open(ctx, file)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	leaveTape(t, file)
	count := func() int {
		db, err := tape.OpenWrite(ctx, file)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		list, err := db.Sessions(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	before := -1
	err = recordTo(ctx, file, []string{"agent"}, func(context.Context, string, []string) error {
		before = count()
		return nil
	})
	if err != nil || before != 0 {
		t.Fatalf("the recorder found %d sessions (%v), want none", before, err)
	}

	// Two sessions, one of them on a tape, are too many to record over.
	leaveTape(t, file)
	if got := count(); got != 1 {
		t.Fatalf("%d sessions, want 1", got)
	}
	leaveTape(t, file)
	err = recordTo(ctx, file, []string{"agent"}, func(context.Context, string, []string) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "2 sessions") {
		t.Fatalf("recording over two sessions: %v", err)
	}
	if got := count(); got != 2 {
		t.Fatalf("%d sessions after the refusal, want 2", got)
	}
}

// leaveTape puts a tape beside file that nobody holds, as a recorder that did
// not find the time to drain it leaves one.
func leaveTape(t *testing.T, file string) {
	t.Helper()
	dir, base := t.TempDir(), filepath.Base(file)
	made, err := tape.Create(filepath.Join(dir, base), tape.Start{Started: time.Now(), Argv: []string{"agent"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { made.Discard() }) // takes the key with it
	if err := made.Append(store.Out, []byte("{\"type\":\"hello\"}\n")); err != nil {
		t.Fatal(err)
	}
	made.Finish(&store.Exit{})
	path := filepath.Join(dir, base+"-tape-"+made.UID())
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(file), filepath.Base(path)), raw, 0o600); err != nil {
		t.Fatal(err)
	}
}
