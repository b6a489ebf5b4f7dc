package record

import (
	"io"
	"testing"
	"time"
)

// TestNobodyWaitsForAReaderOfStderr: what is said blocks neither who says it
// nor who says something after it.
func TestNobodyWaitsForAReaderOfStderr(t *testing.T) {
	r, w := io.Pipe() // a write waits for a read
	defer r.Close()
	warn := newWarner(w)
	said := make(chan struct{})
	go func() {
		defer close(said)
		warn.say("one of %d", 2)
		warn.say("two of %d", 2)
		warn.wait()
	}()
	select {
	case <-said:
	case <-time.After(30 * time.Second):
		t.Fatal("waits for a reader")
	}
	got := make([]byte, 100)
	if n, err := r.Read(got); err != nil || string(got[:n]) != "agentrec: one of 2\n" {
		t.Errorf("said %q, %v", got[:n], err)
	}
}
