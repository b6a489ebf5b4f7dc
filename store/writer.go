package store

import (
	"bytes"
	"time"
)

// Start is what is known of a session when its recording begins.
type Start struct {
	ID         int64  // the next one when zero
	UID        string // a new ULID when empty
	Name       string
	Tags       map[string]string
	Started    time.Time // now when zero
	Host       string
	Cwd        string
	Folders    map[string]string // see Session
	Argv       []string
	Version    string
	Dialect    string
	Unredacted bool
	Edited     bool
	Parent     string
}

// End is how a session's recording ended.
type End struct {
	State  State // Closed or Cut
	Reason string
	Ended  time.Duration
	Exit   *Exit
	Wire   [Streams]int64 // bytes the pumps counted; -1 when unknown
}

// Writer adds frames and events to one session. What is added becomes visible,
// all or nothing, at Commit. Not safe for concurrent use.
//
// Frames gather in the open end. When that has 256 KiB, or 1.5 MiB of frames that
// repeat each other, it becomes a chunk; the rows that earlier commits stored of
// it go away in the commit that stores the chunk.
type Writer struct {
	db   *DB
	id   int64
	seen *Session // as committed
	turn int64    // of the last commit

	chainer chainer
	chains  [Streams]Chain // with all that was added
	seq     int64          // the last one given
	until   time.Duration  // the latest time met
	dialect string

	open   []meta // the open end
	raw    []byte // its payload
	stored int    // how many of open are rows already

	before  [Streams]span // the last long frames in raw
	growing bool          // frames in raw repeat each other

	packed    []packed // chunks not committed
	drop      int64    // rows up to this seq go with them, 0 for none
	events    []Event  // not committed
	lastEvent int64    // number of the last event committed

	giants    [Streams]*giant // open
	ended     []*giant        // not committed
	lastGiant int64

	exchanges exchanges
}

// packed is a chunk ready to be stored.
type packed struct {
	first, last, size int64
	chains            []byte
	columns, payload  []byte
}

// Session returns the session as committed so far.
func (w *Writer) Session() *Session {
	s := *w.seen
	return &s
}

// SetDialect names the dialect that the first frames decided on.
func (w *Writer) SetDialect(name string) { w.dialect = name }

// Last returns the seq of the last frame added, 0 before the first.
func (w *Writer) Last() int64 { return w.seq }

// Frame adds a frame and returns its seq. raw is copied; it should not be
// longer than MaxRaw (a longer one becomes a giant). If a giant is open on
// stream, raw is its last part.
func (w *Writer) Frame(stream Stream, t time.Duration, raw []byte, term Terminator) int64 {
	if w.giants[stream] != nil || len(raw) > MaxRaw {
		w.part(stream, raw)
		return w.endParts(stream, t, term)
	}
	w.makeRoom(stream, raw)
	w.chainer.add(&w.chains[stream], raw, term)
	return w.add(meta{kind: kindOf(stream, term), size: int64(len(raw)), time: w.stamp(t)}, raw)
}

// makeRoom seals the open end if the frame does not belong into it.
func (w *Writer) makeRoom(stream Stream, raw []byte) {
	have := len(w.raw)
	switch repeats := w.repeats(stream, raw); {
	case have+len(raw) > chunkMost:
		w.seal()
	case repeats:
		w.growing = true
	case len(raw) >= alone || have >= chunkRaw && (!w.growing || len(raw) >= long) || len(raw) >= long && have+len(raw) > chunkRaw+long:
		w.seal()
	}
	w.noteLong(stream, raw)
}

// noteLong remembers where a long frame will lie in raw.
func (w *Writer) noteLong(stream Stream, raw []byte) {
	if len(raw) >= long {
		w.before[stream] = span{len(w.raw), len(w.raw) + len(raw)}
	}
}

// span is where a frame lies in the open end.
type span struct{ from, to int }

// repeats reports whether a long frame has most of its bytes from the long one
// before it on its stream: samples of that stand at about the same place in it.
func (w *Writer) repeats(stream Stream, raw []byte) bool {
	const samples, length, slack = 8, 24, 512
	at := w.before[stream]
	if len(raw) < long || at.to == 0 {
		return false
	}
	was := w.raw[at.from:at.to]
	grown := len(raw) - len(was)
	found := 0
	for i := 1; i <= samples; i++ {
		place := i * (len(was) - length) / (samples + 1)
		from := max(0, place+min(0, grown)-slack)
		to := min(len(raw), place+max(0, grown)+length+slack)
		if from < to && bytes.Contains(raw[from:to], was[place:place+length]) {
			found++
		}
	}
	return found > samples/2
}

// stamp turns a time into stored microseconds and remembers the latest.
func (w *Writer) stamp(t time.Duration) int64 {
	t = max(t, 0)
	w.until = max(w.until, t)
	return t.Microseconds()
}

// add takes a frame, which the chains hold already, into the open end.
func (w *Writer) add(m meta, raw []byte) int64 {
	w.seq++
	w.open = append(w.open, m)
	w.raw = append(w.raw, raw...)
	// After a long frame, only the next one tells whether they belong together.
	if len(w.open) >= chunkFrames || len(w.raw) >= chunkMost || len(w.raw) >= chunkRaw && len(raw) < long && !w.growing {
		w.seal()
	}
	return w.seq
}

// seal makes a chunk of the open end, which the next commit stores.
func (w *Writer) seal() {
	if len(w.open) == 0 {
		return
	}
	w.packed = append(w.packed, packed{
		first: w.seq - int64(len(w.open)) + 1, last: w.seq, size: int64(len(w.raw)), chains: packChains(w.chains),
		columns: packColumns(&w.db.packer, w.open), payload: w.payload(),
	})
	if w.stored > 0 {
		w.drop = w.seq
	}
	w.open, w.stored = w.open[:0], 0
	w.growing, w.before = false, [Streams]span{}
	if w.raw = w.raw[:0]; cap(w.raw) > 4*chunkRaw {
		w.raw = nil
	}
}

// payload returns the bytes of the open end, packed.
func (w *Writer) payload() []byte {
	if len(w.open) == 1 {
		return w.db.packer.packLong(w.raw)
	}
	return w.db.packer.pack(nil, w.raw)
}

// Event adds a lifecycle event after the last frame added.
func (w *Writer) Event(e Event) {
	e.After = w.seq
	e.Time = time.Duration(w.stamp(e.Time)) * time.Microsecond
	w.events = append(w.events, e)
}
