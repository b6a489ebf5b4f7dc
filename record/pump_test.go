//go:build unix

package record

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"agentrec/internal/tape"
	"agentrec/store"
)

// TestAFrozenFileSystemStopsNothing: an append that does not come back is given
// up after a second, and another thread forwards its chunk and what follows.
func TestAFrozenFileSystemStopsNothing(t *testing.T) {
	for _, late := range []error{nil, os.ErrInvalid} {
		tp, err := tape.Create(filepath.Join(t.TempDir(), "session.db"), tape.Start{Started: time.Now(), Unredacted: true})
		if err != nil {
			t.Fatal(err)
		}
		defer tp.Discard()
		source, sr := pipeEnds(t)
		sink, dw := pipeEnds(t)
		var said bytes.Buffer
		warn := newWarner(&said)
		p := newPump(tp, warn, store.Out, duplicate(t, source), duplicate(t, dw))
		thaw, thawed := make(chan struct{}), make(chan struct{})
		real := p.append
		p.append = func(s store.Stream, b []byte) error {
			if strings.HasPrefix(string(b), "frozen") {
				<-thaw
				return late
			}
			return real(s, b)
		}
		send := func(text string) {
			t.Helper()
			if _, err := io.WriteString(sr, text); err != nil {
				t.Fatal(err)
			}
		}
		want := func(text string) {
			t.Helper()
			got := make([]byte, len(text))
			if _, err := io.ReadFull(sink, got); err != nil || string(got) != text {
				t.Fatalf("forwarded %q, %v; want %q", got, err, text)
			}
		}
		go func() { defer close(thawed); p.run() }()
		send("first\n")
		want("first\n")
		if p.rescue() != nil {
			t.Error("rescued a pump that only waits for input")
		}
		send("frozen\n")
		var next *pump
		for deadline := time.Now().Add(20 * time.Second); next == nil; time.Sleep(10 * time.Millisecond) {
			if next = p.rescue(); time.Now().After(deadline) {
				t.Fatal("not rescued")
			}
		}
		go next.run()
		want("frozen\n")
		send("after\n")
		want("after\n")
		close(thaw)
		<-thawed
		sr.Close()
		<-next.done
		end := tp.Finish(nil)
		// The chunk that was given up counts as lost unless it is on the tape; a
		// failing append would have counted it itself.
		if end.Lost[store.Out] != int64(len("after\n")) || end.Wire[store.Out] != int64(len("first\nafter\n")) {
			t.Errorf("%v: lost %v of %v", late, end.Lost, end.Wire)
		}
		warn.wait()
		if !strings.HasPrefix(said.String(), "agentrec: not everything is recorded: the file system of the database does not answer; forwarding goes on") ||
			strings.Count(said.String(), "\n") != 1 {
			t.Errorf("said %q", said.String())
		}
	}
}

// duplicate returns a descriptor that is the pump's own to close.
func duplicate(t *testing.T, f *os.File) fd {
	t.Helper()
	n, err := syscall.Dup(int(f.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	return n
}

// pipeEnds returns a pipe's read and write ends.
func pipeEnds(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	return r, w
}
