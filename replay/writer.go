package replay

import (
	"fmt"
	"io"
	"sync"
	"time"

	"agentrec/store"
)

// writer sends what the engine has released. It takes from an unbounded queue
// of places, not of bytes, so the engine never waits for a client that does not
// read. Frames are rendered when their turn comes.
type writer struct {
	out     io.Writer
	err     *sideWriter
	session *store.Session
	data    *payloads

	mu     sync.Mutex
	wake   *sync.Cond
	queue  []outgoing
	busy   bool
	closed bool
	failed error // the client stopped reading
	status int   // an injected death: the status to leave with
	faults []Entry
	broken error // a frame could not be read from the recording
	idle   chan struct{}

	// what follows belongs to run's goroutine
	script  *script
	view    *view
	greeted int64 // frames of the agent up to this seq were sent before the script was made
	pace    pace
	faulty  *faulty // nil for none
	buf     []byte
	sent    int64
}

func newWriter(out io.Writer, side *sideWriter, data *payloads) *writer {
	w := &writer{out: out, err: side, session: data.session, data: data, idle: make(chan struct{}, 1)}
	w.wake = sync.NewCond(&w.mu)
	return w
}

func (w *writer) push(list []outgoing) {
	if len(list) == 0 {
		return
	}
	w.mu.Lock()
	w.queue = append(w.queue, list...)
	w.mu.Unlock()
	w.wake.Signal()
}

// close lets run return once the queue is empty, or at once when now is set.
func (w *writer) close(now bool) {
	w.mu.Lock()
	w.closed = true
	if now {
		w.queue = nil
	}
	w.mu.Unlock()
	w.wake.Signal()
}

// state reports whether everything has been written, and why writing ended.
func (w *writer) state() (idle bool, failed, broken error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.queue) == 0 && !w.busy, w.failed, w.broken
}

// happened notes a fault that was done.
func (w *writer) happened(f Fault, seq int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.faults = append(w.faults, Entry{Kind: Faulted, Seq: seq, Message: "fault " + f.String()})
}

func (w *writer) dead(status int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.status = max(1, status)
}

// death returns the status of an injected death, 0 for none.
func (w *writer) death() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.status
}

func (w *writer) faultNotes() []Entry {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.faults
}

// run writes until close.
func (w *writer) run() {
	defer w.data.close()
	for {
		w.mu.Lock()
		w.busy = false
		for len(w.queue) == 0 && !w.closed {
			select {
			case w.idle <- struct{}{}:
			default:
			}
			w.wake.Wait()
		}
		list := w.queue
		w.queue = nil
		w.busy = true
		done := w.closed && len(list) == 0
		w.mu.Unlock()
		if done {
			w.mu.Lock()
			w.busy = false
			w.mu.Unlock()
			return
		}
		w.write(list)
	}
}

func (w *writer) write(list []outgoing) {
	for _, o := range list {
		if w.failed != nil || w.broken != nil || w.faulty != nil && w.faulty.over {
			break
		}
		if o.other == nil && w.early(o.item) {
			continue
		}
		if err := w.one(o); err != nil {
			w.mu.Lock()
			w.broken = err
			w.mu.Unlock()
		}
	}
	w.flush()
}

// early reports whether a frame was sent before the script was made.
func (w *writer) early(i int32) bool {
	it := w.script.item(i)
	return it.stream == store.Out && int64(it.seq) <= w.greeted
}

// The bytes that are gathered before a write.
const writeSize = 64 << 10

func (w *writer) one(o outgoing) error {
	if o.other != nil {
		if o.other.begin != nil {
			o.other.begin(w)
		}
		w.buf = append(w.buf, o.other.raw...)
		return nil
	}
	it := w.script.item(o.item)
	w.view.advance(int(o.epoch))
	f, err := w.data.get(int64(it.seq))
	if err != nil {
		return err
	}
	if it.stream == store.Err {
		w.flush()
		w.err.write(append(append([]byte(nil), f.Raw...), f.Term.Bytes()...))
		return nil
	}
	if wait := w.pace.before(int64(it.seq)); wait > 0 {
		w.flush()
		time.Sleep(wait)
	} else if w.pace.apart(it.role) {
		w.flush()
		w.pace.settle()
	}
	if f.Raw == nil && f.Size > 0 {
		return w.giant(f)
	}
	if w.faulty != nil {
		w.harm(f, w.script.rendered(w.view, o.item, f.Raw))
		return nil
	}
	w.buf = append(append(w.buf, w.script.rendered(w.view, o.item, f.Raw)...), f.Term.Bytes()...)
	w.sent++
	if len(w.buf) >= writeSize || w.pace.full() {
		w.flush()
	}
	return nil
}

// harm writes a frame with the faults that are due.
func (w *writer) harm(f store.Frame, raw []byte) {
	writes, wait := w.faulty.apply(f.Seq, append(append([]byte(nil), raw...), f.Term.Bytes()...), f.Term)
	if wait > 0 {
		w.flush()
		time.Sleep(wait)
	}
	held := w.faulty.hold
	for i, b := range writes {
		w.buf = append(w.buf, b...)
		if i+1 < len(writes) || !held {
			w.flush()
			if len(writes) > 1 {
				time.Sleep(time.Millisecond) // so that a reader sees several reads
			}
		}
	}
	w.faulty.hold = false
	w.sent++
}

// giant streams a frame that is too long to be held; nothing in it is replaced.
func (w *writer) giant(f store.Frame) error {
	w.flush()
	r, err := w.session.Reader(w.data.ctx, f.Seq)
	if err != nil {
		return fmt.Errorf("reading frame %d: %w", f.Seq, err)
	}
	defer r.Close()
	buf := make([]byte, writeSize)
	for {
		n, err := r.Read(buf)
		w.buf = append(w.buf, buf[:n]...)
		if err == io.EOF {
			w.buf = append(w.buf, f.Term.Bytes()...)
			w.sent++
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading frame %d: %w", f.Seq, err)
		}
		w.flush()
	}
}

func (w *writer) flush() {
	if len(w.buf) == 0 || w.failed != nil {
		w.buf = w.buf[:0]
		return
	}
	_, err := w.out.Write(w.buf)
	w.buf = w.buf[:0]
	if err != nil {
		w.mu.Lock()
		w.failed = err
		w.mu.Unlock()
		return
	}
	w.pace.flushed()
}

// sideWriter writes to stderr without ever blocking the caller: what does not
// fit in its bounded queue is dropped.
type sideWriter struct {
	lines chan []byte
	done  chan struct{}
}

// maxSide is how many pieces of stderr may wait for a reader.
const maxSide = 4096

func newSideWriter(out io.Writer) *sideWriter {
	s := &sideWriter{lines: make(chan []byte, maxSide), done: make(chan struct{})}
	go func() {
		defer close(s.done)
		for line := range s.lines {
			if _, err := out.Write(line); err != nil {
				for range s.lines { // nobody reads; take the rest away
				}
			}
		}
	}()
	return s
}

func (s *sideWriter) write(b []byte) {
	select {
	case s.lines <- b:
	default:
	}
}

// close ends the writer, but does not wait long for a reader that is not there:
// then its goroutine stays in the write until the process ends.
func (s *sideWriter) close() {
	close(s.lines)
	select {
	case <-s.done:
	case <-time.After(200 * time.Millisecond):
	}
}
