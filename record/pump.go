package record

import (
	"runtime"
	"sync/atomic"
	"time"

	"agentrec/internal/tape"
	"agentrec/store"
)

// pump moves one stream: read a chunk, append it to the tape, write it on. It
// neither waits for whole lines nor keeps anything back.
type pump struct {
	tape     *tape.Tape
	append   func(store.Stream, []byte) error // the tape's
	warn     *warner
	stream   store.Stream
	src, dst fd
	buf      []byte
	n        int // bytes of buf in the chunk at hand
	done     chan struct{}

	chunks    atomic.Int64 // read so far
	since     atomic.Int64 // when the append at hand began (tape time), 0 outside one, -1 once rescued
	forwarder atomic.Bool  // inside a write
	ended     atomic.Bool
	hung      atomic.Bool // ended because its reader went away
	first     []byte      // what a rescued pump left to forward
}

func newPump(t *tape.Tape, w *warner, s store.Stream, src, dst fd) *pump {
	return &pump{tape: t, append: t.Append, warn: w, stream: s, src: src, dst: dst, buf: make([]byte, tape.MaxChunk), done: make(chan struct{})}
}

// run pumps until the source ends or the destination is gone. A pump whose
// client never ends its input lives as long as the process.
func (p *pump) run() {
	runtime.LockOSThread() // the thread ends with the goroutine: no other work waits behind a blocked call
	if len(p.first) > 0 && !p.forward(p.first) {
		p.hangup()
		return
	}
	for {
		n, err := read(p.src, p.buf)
		if n <= 0 || err != nil {
			p.eof()
			return
		}
		p.n = n
		p.chunks.Add(1)
		began := max(int64(p.tape.Now()), 1)
		p.since.Store(began)
		failed := p.append(p.stream, p.buf[:n])
		if !p.since.CompareAndSwap(began, 0) {
			// Rescued: another pump has forwarded this chunk and counted it as
			// lost. It is not, or it was counted twice.
			p.tape.Undo(p.stream, n)
			return
		}
		if failed != nil {
			p.warn.lost(p.tape)
		}
		if !p.forward(p.buf[:n]) {
			p.hangup()
			return
		}
	}
}

func (p *pump) forward(b []byte) bool {
	p.forwarder.Store(true)
	err := writeAll(p.dst, b)
	p.forwarder.Store(false)
	return err == nil
}

// eof passes the end of the stream on.
func (p *pump) eof() {
	p.tape.Event(store.Event{Kind: store.EventEOF, Stream: p.stream})
	p.close()
}

// hangup lets the writer meet the same broken pipe that it would have met
// without us.
func (p *pump) hangup() {
	p.hung.Store(true)
	p.tape.Event(store.Event{Kind: store.EventHangup, Stream: p.stream})
	p.close()
}

func (p *pump) close() {
	release(p.src)
	release(p.dst)
	p.ended.Store(true)
	close(p.done)
}

// writing reports whether the pump waits for the reader of its stream.
func (p *pump) writing() bool { return p.forwarder.Load() }

// rescue takes a chunk from a pump whose append does not come back and returns
// the pump that goes on in its place, without a tape; nil when all is well.
func (p *pump) rescue() *pump {
	began := p.since.Load()
	if began <= 0 || p.tape.Now()-time.Duration(began) < tape.Patience || !p.since.CompareAndSwap(began, -1) {
		return nil
	}
	p.tape.Abandon()
	p.tape.Lost(p.stream, p.n)
	p.warn.lost(p.tape)
	next := newPump(p.tape, p.warn, p.stream, p.src, p.dst)
	next.first, next.done = p.buf[:p.n], p.done
	return next
}
