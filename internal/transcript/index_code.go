package transcript

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"time"

	"agentrec/internal/dialect"
	"agentrec/store"
)

var errIndex = errors.New("not an index of this session")

// encoder writes numbers as varints and texts with their length.
type encoder struct {
	b   []byte
	w   io.Writer // where b goes now and then; nil keeps all in b
	n64 int64     // bytes that went there
	err error     // the first error of w
}

// spill writes what has been encoded, if that is much.
func (e *encoder) spill() {
	if len(e.b) >= 64<<10 {
		e.flush()
	}
}

func (e *encoder) flush() {
	if e.w == nil {
		return
	}
	if e.err == nil {
		_, e.err = e.w.Write(e.b)
	}
	e.n64 += int64(len(e.b))
	e.b = e.b[:0]
}

func (e *encoder) u(v uint64)  { e.b = binary.AppendUvarint(e.b, v) }
func (e *encoder) i(v int64)   { e.b = binary.AppendVarint(e.b, v) }
func (e *encoder) f(v float64) { e.u(math.Float64bits(v)) }
func (e *encoder) s(v string)  { e.u(uint64(len(v))); e.b = append(e.b, v...) }
func (e *encoder) n(v int)     { e.u(uint64(v)) }

func (e *encoder) bool(v bool) {
	if v {
		e.u(1)
	} else {
		e.u(0)
	}
}

// runs writes n numbers, of which neighbours are mostly equal: how many there are
// of each.
func (e *encoder) runs(n int, at func(i int) int64) {
	for i := 0; i < n; {
		v, k := at(i), i+1
		for k < n && at(k) == v {
			k++
		}
		e.n(k - i)
		e.i(v)
		i = k
	}
}

// decoder is the other way round. After the first error it returns zeros.
type decoder struct {
	b   []byte
	err error
}

func (d *decoder) fail() {
	d.b, d.err = nil, errIndex
}

func (d *decoder) u() uint64 {
	if b := d.b; len(b) > 0 && b[0] < 0x80 { // most are so small
		d.b = b[1:]
		return uint64(b[0])
	}
	return d.long()
}

func (d *decoder) long() uint64 {
	v, n := binary.Uvarint(d.b)
	if n <= 0 {
		d.fail()
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) i() int64 {
	v := d.u()
	return int64(v>>1) ^ -int64(v&1)
}

func (d *decoder) runs(n int, set func(i int, v int64)) {
	for i := 0; i < n; {
		k := d.u()
		v := d.i()
		if k < 1 || k > uint64(n-i) {
			d.fail()
			return
		}
		for ; k > 0; k-- {
			set(i, v)
			i++
		}
	}
}

func (d *decoder) f() float64  { return math.Float64frombits(d.u()) }
func (d *decoder) bool() bool  { return d.u() == 1 }
func (d *decoder) s() string   { return string(d.bytes()) }
func (d *decoder) i32() int32  { return int32(d.i()) }
func (d *decoder) u16() uint16 { return uint16(d.u()) }

func (d *decoder) bytes() []byte {
	n := d.n()
	if n > len(d.b) {
		d.fail()
		return nil
	}
	v := d.b[:n:n]
	d.b = d.b[n:]
	return v
}

// grams returns what a long text holds, nil when that is not known.
func (d *decoder) grams() *grams {
	b := d.bytes()
	if len(b) == 0 {
		return nil
	}
	g := new(grams)
	if len(b) != len(g) {
		d.fail()
		return nil
	}
	copy(g[:], b)
	return g
}

// n returns a number of elements, each of which takes a byte at least.
func (d *decoder) n() int {
	v := d.u()
	if v > uint64(len(d.b)) {
		d.fail()
		return 0
	}
	return int(v)
}

// entriesAtOnce is how many entries stand in one chunk of columns: equal values
// stand beside each other and pack well.
const entriesAtOnce = 4096

// encode writes all that a transcript holds but its events and exchanges.
func (t *Transcript) encode() []byte {
	e := &encoder{}
	t.encodeTo(e)
	return e.b
}

func (t *Transcript) encodeTo(e *encoder) {
	e.n(len(t.Entries))
	var last Entry
	for from := 0; from < len(t.Entries); from += entriesAtOnce {
		chunk := t.Entries[from:min(from+entriesAtOnce, len(t.Entries))]
		for _, x := range chunk {
			e.i(int64(x.Time - last.Time))
			last.Time = x.Time
		}
		for _, x := range chunk {
			e.u(uint64(x.Size))
		}
		e.runs(len(chunk), func(i int) int64 { return int64(chunk[i].Pair) })
		e.runs(len(chunk), func(i int) int64 { return int64(chunk[i].Turn) })
		e.runs(len(chunk), func(i int) int64 { return int64(chunk[i].Part) })
		e.runs(len(chunk), func(i int) int64 { return int64(chunk[i].Label) })
		e.runs(len(chunk), func(i int) int64 { return int64(chunk[i].Conversation) })
		for _, x := range chunk {
			e.b = append(e.b, byte(x.Stream), byte(x.Role), byte(x.Shows), byte(x.Flags))
		}
		e.spill()
	}
	t.encodeTables(e)
	e.flush()
}

func (t *Transcript) encodeTables(e *encoder) {
	e.n(len(t.Labels))
	for _, x := range t.Labels {
		e.s(x.Name)
		e.i(x.Frames)
		e.i(x.Bytes)
	}
	e.n(len(t.Conversations))
	for _, x := range t.Conversations {
		e.s(x.Name)
		e.i(x.First)
		e.i(x.Last)
		e.n(x.Turns)
	}
	e.n(len(t.Turns))
	for _, x := range t.Turns {
		e.s(x.Conversation)
		e.i(x.First)
		e.i(x.Last)
		e.i(int64(x.Start))
		e.i(int64(x.End))
		e.s(x.Prompt)
		e.s(x.Outcome)
		e.bool(x.Failed)
		e.i(x.Frames)
		e.n(x.Calls)
		e.usage(x.Usage)
		e.u(uint64(x.conversation))
		e.bool(x.answered)
		e.spill()
	}
	e.n(len(t.Calls))
	for _, x := range t.Calls {
		e.s(x.ID)
		e.s(x.Name)
		e.u(uint64(x.Conversation))
		e.i(int64(x.Turn))
		e.i(x.Seq)
		e.i(x.ArgsSeq)
		e.i(x.ResultSeq)
		e.i(x.LastSeq)
		e.i(int64(x.Start))
		e.i(int64(x.End))
		e.bool(x.Failed)
		e.i(int64(x.item))
		e.spill()
	}
	e.n(len(t.Folds))
	for i := range t.Folds {
		x := &t.Folds[i]
		e.u(uint64(x.Shows))
		e.u(uint64(x.Stream))
		e.u(uint64(x.Conversation))
		e.i(int64(x.Turn))
		e.s(x.Part)
		e.i(x.First)
		e.i(x.Last)
		e.i(x.Whole)
		e.i(int64(x.Start))
		e.i(int64(x.End))
		e.i(x.Frames)
		e.i(x.Size)
		e.s(string(x.text))
		if x.grams != nil {
			e.s(string(x.grams[:]))
		} else {
			e.s("")
		}
		e.i(int64(x.item))
		e.spill()
	}
	e.n(len(t.items))
	for _, x := range t.items {
		e.u(uint64(x.kind))
		e.i(int64(x.index))
	}
	for _, list := range [][]int64{t.Errors, t.duplicates, t.Open(), t.openServed()} {
		e.n(len(list))
		for _, x := range list {
			e.i(x)
		}
	}
	e.s(t.Agent)
	e.usage(t.Usage)
}

// openServed returns the open requests that other frames speak of.
func (t *Transcript) openServed() []int64 {
	var out []int64
	for _, seq := range t.Open() {
		if t.served(seq) {
			out = append(out, seq)
		}
	}
	return out
}

func (e *encoder) usage(u Usage) {
	e.i(u.Frames)
	e.i(u.Input)
	e.i(u.Output)
	e.i(u.Cached)
	e.f(u.Cost)
}

func (d *decoder) usage() Usage {
	return Usage{Frames: d.i(), Input: d.i(), Output: d.i(), Cached: d.i(), Cost: d.f()}
}

// decodeTranscript reads what encode wrote. Its events and exchanges
// are the caller's to set.
func decodeTranscript(b []byte, s *store.Session, dl *dialect.Dialect) (*Transcript, error) {
	d := &decoder{b: b}
	t := &Transcript{Session: s, Dialect: dl}
	n := d.n()
	if int64(n) != s.Count() {
		return nil, errIndex
	}
	t.Entries = make([]Entry, n)
	var last Entry
	for from := 0; from < n; from += entriesAtOnce {
		chunk := t.Entries[from:min(from+entriesAtOnce, n)]
		for i := range chunk {
			last.Time += time.Duration(d.i())
			chunk[i].Time = last.Time
		}
		for i := range chunk {
			chunk[i].Size = uint32(d.u())
		}
		d.runs(len(chunk), func(i int, v int64) { chunk[i].Pair = int32(v) })
		d.runs(len(chunk), func(i int, v int64) { chunk[i].Turn = int32(v) })
		d.runs(len(chunk), func(i int, v int64) { chunk[i].Part = int32(v) })
		d.runs(len(chunk), func(i int, v int64) { chunk[i].Label = uint16(v) })
		d.runs(len(chunk), func(i int, v int64) { chunk[i].Conversation = uint16(v) })
		if len(d.b) < 4*len(chunk) {
			return nil, errIndex
		}
		for i := range chunk {
			c := d.b[4*i : 4*i+4]
			chunk[i].Stream, chunk[i].Role, chunk[i].Shows, chunk[i].Flags = store.Stream(c[0]), dialect.Role(c[1]), Shows(c[2]), Flags(c[3])
		}
		d.b = d.b[4*len(chunk):]
	}
	t.decodeTables(d)
	if d.err != nil || len(d.b) > 0 {
		return nil, errIndex
	}
	return t, nil
}

func (t *Transcript) decodeTables(d *decoder) {
	t.Labels = make([]Label, d.n())
	for i := range t.Labels {
		t.Labels[i] = Label{Name: d.s(), Frames: d.i(), Bytes: d.i()}
	}
	t.Conversations = make([]Conversation, d.n())
	for i := range t.Conversations {
		t.Conversations[i] = Conversation{Name: d.s(), First: d.i(), Last: d.i(), Turns: int(d.u())}
	}
	t.Turns = make([]Turn, d.n())
	for i := range t.Turns {
		t.Turns[i] = Turn{
			Conversation: d.s(), First: d.i(), Last: d.i(), Start: time.Duration(d.i()), End: time.Duration(d.i()), Prompt: d.s(), Outcome: d.s(),
			Failed: d.bool(), Frames: d.i(), Calls: int(d.u()), Usage: d.usage(), conversation: d.u16(), answered: d.bool(),
		}
	}
	t.Calls = make([]Call, d.n())
	for i := range t.Calls {
		t.Calls[i] = Call{
			ID: d.s(), Name: d.s(), Conversation: d.u16(), Turn: d.i32(), Seq: d.i(), ArgsSeq: d.i(), ResultSeq: d.i(), LastSeq: d.i(),
			Start: time.Duration(d.i()), End: time.Duration(d.i()), Failed: d.bool(), item: d.i32(),
		}
	}
	t.Folds = make([]Fold, d.n())
	for i := range t.Folds {
		t.Folds[i] = Fold{
			Shows: Shows(d.u()), Stream: store.Stream(d.u()), Conversation: d.u16(), Turn: d.i32(), Part: d.s(), First: d.i(), Last: d.i(), Whole: d.i(),
			Start: time.Duration(d.i()), End: time.Duration(d.i()), Frames: d.i(), Size: d.i(), text: bytes.Clone(d.bytes()), grams: d.grams(), item: d.i32(),
		}
	}
	t.items = make([]itemRef, d.n())
	for i := range t.items {
		t.items[i] = itemRef{kind: Kind(d.u()), index: d.i32()}
	}
	for _, list := range []*[]int64{&t.Errors, &t.duplicates, &t.open, &t.subscribed} {
		if n := d.n(); n > 0 {
			*list = make([]int64, n)
		}
		for i := range *list {
			(*list)[i] = d.i()
		}
	}
	t.Agent = d.s()
	t.Usage = d.usage()
}
