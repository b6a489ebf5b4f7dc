package replay

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"time"

	"agentrec/store"
)

// TB is what Serve needs of a test: *testing.T, *testing.B and *testing.F have it.
type TB interface {
	Helper()
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
	Cleanup(func())
}

// Agent is the agent's side of a recorded session, played to the client under
// test.
type Agent struct {
	Stdin  io.WriteCloser // what the client writes to
	Stdout io.ReadCloser  // what the client reads from
	done   chan error
	stderr *lockedBuffer
	once   sync.Once
	err    error
}

// Serve plays a recorded session to the test's client through two pipes. It
// fails the test when the client sends what the recording does not hold, or
// leaves something out; Wait tells so earlier. Options other than the file and
// the streams may be changed.
//
//	agent := replay.Serve(t, "testdata/hello.agentrec")
//	client := mysdk.New(agent.Stdout, agent.Stdin)
func Serve(t TB, file string, change ...func(*Options)) *Agent {
	t.Helper()
	o := Options{File: file, Wait: 5 * time.Second}
	for _, f := range change {
		f(&o)
	}
	inR, inW, err := os.Pipe()
	if err != nil {
		t.Fatalf("replaying %s: %v", file, err)
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		t.Fatalf("replaying %s: %v", file, errors.Join(err, inR.Close(), inW.Close()))
	}
	a := &Agent{Stdin: inW, Stdout: outR, done: make(chan error, 1), stderr: &lockedBuffer{}}
	o.Stdin, o.Stdout, o.Stderr = inR, outW, a.stderr
	go func() {
		err := Run(context.Background(), o)
		a.done <- errors.Join(err, outW.Close(), inR.Close())
	}()
	t.Cleanup(func() {
		t.Helper()
		if err := a.Wait(); err != nil {
			t.Errorf("replaying %s: %v\n%s", file, err, a.stderr)
		}
		outR.Close()
	})
	return a
}

// Wait ends the client's side and returns what went wrong: nil when all went as
// recorded. What the client has not read is thrown away.
func (a *Agent) Wait() error {
	a.once.Do(func() {
		a.Stdin.Close()
		drained := make(chan struct{})
		go func() {
			defer close(drained)
			io.Copy(io.Discard, a.Stdout) // ends when the replay closes its side, or the client closed this one
		}()
		a.err = <-a.done
		<-drained
		var exit store.Exit
		if errors.As(a.err, &exit) {
			a.err = nil // the agent's own status
		}
	})
	return a.err
}

// Stderr returns what the agent and the replay have written for people so far.
func (a *Agent) Stderr() string { return a.stderr.String() }

// lockedBuffer is a buffer that may be read while it is written.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
