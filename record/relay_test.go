//go:build unix

package record

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"agentrec/internal/tape"
	"agentrec/store"
)

// TestAFrozenFileSystemStopsNoConnection: an append that does not come back is
// given up, and its chunk and what follows are passed on.
func TestAFrozenFileSystemStopsNoConnection(t *testing.T) {
	for _, late := range []error{nil, os.ErrInvalid} {
		tp, err := tape.Create(filepath.Join(t.TempDir(), "session.db"), tape.Start{Started: time.Now(), Unredacted: true})
		if err != nil {
			t.Fatal(err)
		}
		defer tp.Discard()
		near, src := net.Pipe()
		dst, far := net.Pipe()
		var said bytes.Buffer
		r := &recording{tape: tp, warn: newWarner(&said)}
		relay := newRelay(r, store.Out, src, dst)
		thaw, thawed := make(chan struct{}), make(chan struct{})
		relay.append = func(s store.Stream, b []byte) error {
			if strings.HasPrefix(string(b), "frozen") {
				<-thaw
				defer close(thawed)
				return late
			}
			return tp.Append(s, b)
		}
		var runs sync.WaitGroup
		runs.Go(relay.run)
		for _, text := range []string{"first\n", "frozen\n", "after\n"} {
			go io.WriteString(near, text)
			got := make([]byte, len(text))
			if _, err := io.ReadFull(far, got); err != nil || string(got) != text {
				t.Fatalf("forwarded %q, %v; want %q", got, err, text)
			}
		}
		close(thaw)
		<-thawed
		near.Close()
		runs.Wait()
		// As for a pump: the chunk that was given up counts as lost unless it is
		// on the tape; a failing append would have counted it itself.
		for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
			end := tp.Finish(nil)
			if end.Lost[store.Out] == int64(len("after\n")) && end.Wire[store.Out] == int64(len("first\nafter\n")) {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("%v: lost %v of %v", late, end.Lost, end.Wire)
			}
		}
		r.warn.wait()
		if !strings.HasPrefix(said.String(), "agentrec: not everything is recorded: the file system of the database does not answer; forwarding goes on") {
			t.Errorf("said %q", said.String())
		}
	}
}

// flaky is a listener that fails as one does without files, then gives what it
// has, then waits for Close.
type flaky struct {
	net.Listener
	fails int
	have  []net.Conn
	gone  chan struct{}
}

func (f *flaky) Accept() (net.Conn, error) {
	if f.fails > 0 {
		f.fails--
		return nil, &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", syscall.EMFILE)}
	}
	if len(f.have) > 0 {
		c := f.have[0]
		f.have = f.have[1:]
		return c, nil
	}
	<-f.gone
	return nil, net.ErrClosed
}

func (f *flaky) Close() error {
	select {
	case <-f.gone:
	default:
		close(f.gone)
	}
	return nil
}

// TestTooManyClientsEndNothing: a client that could not be accepted is no
// reason to serve nobody any more.
func TestTooManyClientsEndNothing(t *testing.T) {
	near, client := net.Pipe()
	l := &flaky{fails: 2, have: []net.Conn{client}, gone: make(chan struct{})}
	var said syncBuffer
	o := &Options{DB: filepath.Join(t.TempDir(), "session.db"), Connect: "unix:" + filepath.Join(t.TempDir(), "none"), Stderr: &said}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- o.accept(ctx, l) }()
	near.SetReadDeadline(time.Now().Add(30 * time.Second))
	if _, err := near.Read(make([]byte, 1)); !errors.Is(err, io.EOF) { // there is no agent
		t.Errorf("the client met %v", err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if got := said.String(); !strings.Contains(got, "agentrec: a client was not accepted: ") || !strings.Contains(got, "connect to the agent") {
		t.Errorf("said %q", got)
	}
}

// syncBuffer is a buffer that many may write to.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}
