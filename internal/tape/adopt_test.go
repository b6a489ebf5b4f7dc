//go:build linux

package tape

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"agentrec/store"
)

// twice is a context that ends after it was asked twice.
type twice struct {
	context.Context
	asked int
}

func (c *twice) Err() error {
	if c.asked++; c.asked > 2 {
		return context.Canceled
	}
	return nil
}

// TestABusyRecorderTakesOverToo: a follower that has never caught up with its
// tape brings in those of dead recorders all the same.
func TestABusyRecorderTakesOverToo(t *testing.T) {
	dead := create(t)
	appendTo(t, dead, store.Out, "one\n")
	kill(t, dead)
	busy, err := Create(dead.db, Start{Started: time.Now().Add(time.Millisecond), Argv: []string{"busy"}, Unredacted: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(busy.remove)
	for range 8 * maxWeight / MaxChunk {
		appendTo(t, busy, store.Out, strings.Repeat("x", MaxChunk-1)+"\n")
	}
	f := busy.Follower()
	defer f.Close()
	f.tried = time.Now()
	if err := f.turn(&twice{Context: t.Context()}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dead.path); err != nil {
		t.Errorf("taken over at once: %v", err)
	}
	f.tried = time.Now().Add(-adoptAtLatest)
	if err := f.turn(&twice{Context: t.Context()}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dead.path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("not taken over: %v", err)
	}
	if f.drain.reader.next >= busy.length.Load() {
		t.Error("it had caught up")
	}
}
