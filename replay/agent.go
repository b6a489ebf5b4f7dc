package replay

import (
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"agentrec/internal/child"
	"agentrec/internal/tape"
	"agentrec/store"
)

// liveAgent is a real agent whose client is played, and recorded as it is:
//
//	mirror -> feeder (goroutine) -> tape -> stdin
//	mirror <- arrivals <- read (goroutine) <- tape <- stdout
//	                      tail <- watch (goroutine) <- tape <- stderr
type liveAgent struct {
	child    *child.Child
	tape     *tape.Tape
	feeder   *feeder
	arrivals chan arrival
	stop     chan struct{}
	stdout   *os.File
	stderr   *stderrTail
	watched  chan struct{} // closed at the end of stderr
}

// startAgent starts the program at path. What passes is appended to t; its
// stderr goes to side too when that is not nil, and with pieces the bytes of its
// giants arrive as well.
func startAgent(t *tape.Tape, start child.Start, side io.Writer, pieces bool) (*liveAgent, error) {
	c, err := child.Run(start)
	if err != nil {
		return nil, err
	}
	t.Event(store.Event{Kind: store.EventStart})
	a := &liveAgent{
		child: c, tape: t, arrivals: make(chan arrival), stop: make(chan struct{}),
		stdout: os.NewFile(uintptr(c.Stdout), "stdout"), stderr: &stderrTail{side: side}, watched: make(chan struct{}),
	}
	a.feeder = newFeeder(os.NewFile(uintptr(c.Stdin), "stdin"), t, c.Process)
	go a.feeder.run()
	go readAll(&taped{a.stdout, t, store.Out}, a.arrivals, a.stop, pieces)
	go func() {
		defer close(a.watched)
		err := os.NewFile(uintptr(c.Stderr), "stderr")
		defer err.Close()
		io.Copy(a.stderr, &taped{err, t, store.Err}) // an error is the end of it
	}()
	return a, nil
}

// How long what still holds an ended agent's pipes may keep us, and how long an
// agent may take to end when it is told to.
const (
	quietAfterExit = 300 * time.Millisecond
	graceToEnd     = 2 * time.Second
	graceToTerm    = 3 * time.Second
)

// close releases the pipes once the agent has ended. The goroutine that reads
// stdout ends with the last process that holds its pipe.
func (a *liveAgent) close() {
	close(a.stop)
	a.feeder.end()
	select {
	case <-a.watched:
	case <-time.After(quietAfterExit):
	}
}

// taped is a stream of the agent that goes onto the tape as it is read.
type taped struct {
	file   *os.File
	tape   *tape.Tape
	stream store.Stream
}

func (t *taped) Read(p []byte) (int, error) {
	n, err := t.file.Read(p[:min(len(p), tape.MaxChunk)])
	if n > 0 {
		t.tape.Append(t.stream, p[:n]) // what is lost is counted, and shows in the session
	}
	if err != nil {
		t.tape.Event(store.Event{Kind: store.EventEOF, Stream: t.stream})
		if !errors.Is(err, io.EOF) {
			err = io.EOF // a pipe that breaks has ended
		}
	}
	return n, err
}

// stderrTail keeps the end of what an agent writes to stderr.
type stderrTail struct {
	side io.Writer
	mu   sync.Mutex
	kept []byte
}

// maxStderr is how much of stderr is shown when a rerun fails, in bytes.
const maxStderr = 4 << 10

func (t *stderrTail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.side != nil {
		t.side.Write(p)
	}
	t.kept = append(t.kept, p...)
	if over := len(t.kept) - maxStderr; over > 0 {
		t.kept = append(t.kept[:0], t.kept[over:]...)
	}
	return len(p), nil
}

// text returns what is to be shown, "" when it was shown already.
func (t *stderrTail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.side != nil {
		return ""
	}
	return strings.TrimSpace(string(t.kept))
}

// feeder writes to an agent's stdin from a queue, so that an agent that does
// not read cannot keep us from reading what it writes.
type feeder struct {
	stdin   *os.File
	tape    *tape.Tape
	process *os.Process

	mu     sync.Mutex
	wake   *sync.Cond
	queue  []feed
	closed bool
}

// feed is bytes for the agent, its end of input, or a signal.
type feed struct {
	raw    []byte
	giant  func() (io.ReadCloser, error)
	term   store.Terminator
	eof    bool
	signal string
}

func newFeeder(stdin *os.File, t *tape.Tape, p *os.Process) *feeder {
	f := &feeder{stdin: stdin, tape: t, process: p}
	f.wake = sync.NewCond(&f.mu)
	return f
}

func (f *feeder) push(x feed) {
	f.mu.Lock()
	f.queue = append(f.queue, x)
	f.mu.Unlock()
	f.wake.Signal()
}

// end lets run return when its queue is empty.
func (f *feeder) end() {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	f.wake.Signal()
}

func (f *feeder) run() {
	open := true
	shut := func() {
		if open {
			f.stdin.Close()
		}
		open = false
	}
	defer shut()
	for {
		f.mu.Lock()
		for len(f.queue) == 0 && !f.closed {
			f.wake.Wait()
		}
		if len(f.queue) == 0 {
			f.mu.Unlock()
			return
		}
		x := f.queue[0]
		f.queue = f.queue[1:]
		f.mu.Unlock()
		switch {
		case x.signal != "":
			if signalTo(f.process, x.signal) {
				f.tape.Event(store.Event{Kind: store.EventSignal, Signal: x.signal})
			}
		case x.eof:
			if open {
				f.tape.Event(store.Event{Kind: store.EventEOF, Stream: store.In})
			}
			shut()
		case open && f.write(x) != nil:
			shut() // the agent reads no more; what it writes tells the rest
		}
	}
}

func (f *feeder) write(x feed) error {
	if x.giant == nil {
		return f.put(append(x.raw[:len(x.raw):len(x.raw)], x.term.Bytes()...))
	}
	r, err := x.giant()
	if err != nil {
		return err
	}
	defer r.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := r.Read(buf)
		if n > 0 {
			if err := f.put(buf[:n]); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return f.put([]byte(x.term.Bytes()))
		}
		if err != nil {
			return err
		}
	}
}

func (f *feeder) put(b []byte) error {
	for len(b) > 0 {
		part := b[:min(len(b), tape.MaxChunk)]
		b = b[len(part):]
		f.tape.Append(store.In, part) // what is lost is counted, and shows in the session
		if _, err := f.stdin.Write(part); err != nil {
			return err
		}
	}
	return nil
}
