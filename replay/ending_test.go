package replay

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agentrec/store"
)

// TestStillRecording holds that a session whose recorder is still there is
// looked at again, and then played as one that ends where it ends: the client
// that killed the recorder of an ACP agent and came back at once hung, since a
// request without a recorded response was met with silence.
func TestStillRecording(t *testing.T) {
	ctx := context.Background()
	file := filepath.Join(t.TempDir(), "session.db")
	db, err := store.Open(ctx, file)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	w, err := db.Begin(ctx, store.Start{Started: time.Unix(1700000000, 0), Dialect: "acp", Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	w.Frame(store.In, time.Millisecond, []byte(`{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s","prompt":[]}}`), store.LF)
	if err := w.Commit(ctx, nil); err != nil {
		t.Fatal(err)
	}

	// As it is: the prompt is refused, not met with silence.
	c := startReplay(t, Options{File: file})
	c.send(`{"jsonrpc":"2.0","id":7,"method":"session/prompt","params":{"sessionId":"s","prompt":[]}}`)
	if got := c.recv(); !strings.Contains(got, `"id":7`) || !strings.Contains(got, "the recording ends at frame 1") {
		t.Errorf("the client got %s", got)
	}
	c.stdin.Close()
	<-c.done

	// The recorder ends while the replay waits: all of it is seen.
	ended := false
	o := Options{File: file}
	seen, session, err := find(ctx, &o, func(time.Duration) {
		if ended {
			return
		}
		ended = true
		w.Frame(store.Out, 2*time.Millisecond, []byte(`{"jsonrpc":"2.0","id":1,"result":{"stopReason":"end_turn"}}`), store.LF)
		if err := w.Commit(ctx, nil); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(ctx, store.End{State: store.Closed, Ended: 3 * time.Millisecond, Wire: [store.Streams]int64{-1, -1, -1}}); err != nil {
			t.Fatal(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer seen.Close()
	if session.State != store.Closed || session.Count() != 2 {
		t.Errorf("found %v with %d frames", session.State, session.Count())
	}
}
