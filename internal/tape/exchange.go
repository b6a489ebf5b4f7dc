package tape

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"strconv"
	"sync"
	"time"

	"agentrec/store"
)

// A record of an exchange is its id on the tape as uvarint, one byte that says
// what it tells, and that: JSON, or bytes of a body.
type tell byte

const (
	tellBegin  tell = iota // exchangeBegin
	tellBody               // bytes of the request body
	tellAnswer             // exchangeAnswer
	tellPiece              // one read of the answer's body, or the beginning of a long one
	tellMore               // the rest of it
	tellEnd                // exchangeEnd
)

// Headers are kept as bytes: their values need not be UTF-8.
type exchangeBegin struct {
	Route  store.Route `json:"route"`
	Proto  []byte      `json:"proto"`
	Method []byte      `json:"method"`
	URL    []byte      `json:"url"`
	Header [][]byte    `json:"header,omitempty"` // name, value, name, ...
}

type exchangeAnswer struct {
	Status int      `json:"status"`
	Header [][]byte `json:"header,omitempty"`
}

type exchangeEnd struct {
	End     store.ExchangeEnd `json:"end"`
	Trailer [][]byte          `json:"trailer,omitempty"`
	Reason  []byte            `json:"reason,omitempty"`
	Omitted int64             `json:"omitted,omitempty"`
}

// These append what encoding/json makes of the types above, in a fraction of the
// time: an agent waits for it.
func (r *Request) append(b []byte) []byte {
	b = appendText(append(b, `{"route":`...), string(r.Route))
	b = appendBytes(append(b, `,"proto":`...), r.Proto)
	b = appendBytes(append(b, `,"method":`...), r.Method)
	b = appendBytes(append(b, `,"url":`...), r.URL)
	return append(appendFields(b, "header", r.Header), '}')
}

func appendAnswer(b []byte, status int, header []store.Field) []byte {
	b = strconv.AppendInt(append(b, `{"status":`...), int64(status), 10)
	return append(appendFields(b, "header", header), '}')
}

func appendEnd(b []byte, end store.ExchangeEnd, trailer []store.Field, reason string, omitted int64) []byte {
	b = appendFields(appendText(append(b, `{"end":`...), string(end)), "trailer", trailer)
	if reason != "" {
		b = appendBytes(append(b, `,"reason":`...), reason)
	}
	if omitted > 0 {
		b = strconv.AppendInt(append(b, `,"omitted":`...), omitted, 10)
	}
	return append(b, '}')
}

// appendFields appends a member with names and values in turn, nothing for none.
func appendFields(b []byte, name string, list []store.Field) []byte {
	if len(list) == 0 {
		return b
	}
	b = append(append(append(b, `,"`...), name...), `":[`...)
	for i, f := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendBytes(append(appendBytes(b, f.Name), ','), f.Value)
	}
	return append(b, ']')
}

func appendBytes(b []byte, s string) []byte {
	return append(base64.StdEncoding.AppendEncode(append(b, '"'), []byte(s)), '"')
}

// appendText appends a word of ours, in which nothing needs an escape.
func appendText(b []byte, word string) []byte {
	return append(append(append(b, '"'), word...), '"')
}

func unpackFields(list [][]byte) []store.Field {
	var out []store.Field
	for i := 0; i+1 < len(list); i += 2 {
		out = append(out, store.Field{Name: string(list[i]), Value: string(list[i+1])})
	}
	return out
}

// Request is what is known of an exchange when it begins.
type Request struct {
	Route  store.Route
	Proto  string
	Method string
	URL    string // absolute, of the upstream
	Header []store.Field
	Body   []byte // what has been read of it already: it goes with the beginning
}

// Exchange is one LLM exchange under way. What is told of it is on the tape when
// the call returns, stamped with the time of the call. No call fails or waits
// longer than Patience: what cannot be kept counts as lost. Its methods are safe
// for concurrent use; bytes are copied.
type Exchange struct {
	tape *Tape
	id   uint64

	mu      sync.Mutex
	gone    bool     // its beginning is not on the tape, or it has ended
	unbegun bool     // the former
	kept    [2]int64 // bytes of the request and the answer
	stopped [2]bool  // a body is kept up to its first byte that is not
	pieces  int
	omitted int64
	queue   []telling
	waits   bool // within Together
}

const (
	ofRequest = iota
	ofAnswer
)

// most is what is kept of the bodies.
var most = [2]int64{store.MaxRequestBody, store.MaxAnswerBody}

// Exchange begins an exchange. The caller ends it with End.
func (t *Tape) Exchange(r Request) *Exchange {
	x := &Exchange{tape: t, id: t.exchanges.Add(1)}
	x.Together(func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.gone = x.tell(tellBegin, 0, r.append(x.record(tellBegin, 512))) != nil
		x.body(ofRequest, tellBody, tellBody, r.Body)
	})
	return x
}

// Body tells the next bytes of the request body, as they are read.
func (x *Exchange) Body(p []byte) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.body(ofRequest, tellBody, tellBody, p)
	x.flush() // also within Together: the upstream is about to get it
}

// Together appends with one write what is told within it.
func (x *Exchange) Together(tell func()) {
	x.mu.Lock()
	x.waits = true
	x.mu.Unlock()
	tell()
	x.mu.Lock()
	defer x.mu.Unlock()
	x.waits = false
	x.flush()
}

// Answer tells that the head of the answer came.
func (x *Exchange) Answer(status int, header []store.Field) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.gone && x.tell(tellAnswer, 0, appendAnswer(x.record(tellAnswer, 512), status, header)) != nil {
		x.stopped[ofAnswer] = true
	}
}

// Piece tells what one read of the answer's body gave. It is called before the
// bytes are forwarded.
func (x *Exchange) Piece(p []byte) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(p) == 0 {
		return
	}
	if x.pieces++; x.pieces > store.MaxPieces {
		x.stopped[ofAnswer] = true
	}
	x.body(ofAnswer, tellPiece, tellMore, p)
}

// End tells how the exchange ended. What is told after it is not kept.
func (x *Exchange) End(end store.ExchangeEnd, trailer []store.Field, reason string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.gone {
		x.tell(tellEnd, 0, appendEnd(x.record(tellEnd, 64), end, trailer, reason, x.omitted))
	}
	x.gone = true
}

// body appends bytes of a body in records of at most MaxChunk.
func (x *Exchange) body(side int, first, rest tell, p []byte) {
	for len(p) > 0 {
		n := min(len(p), MaxChunk)
		switch {
		case x.gone:
			x.tape.lanes[kindExchange].lost.Add(int64(len(p)))
			return
		case x.stopped[side] || x.kept[side]+int64(n) > most[side]:
			x.stopped[side] = true
			x.omitted += int64(len(p))
			return
		}
		if x.tell(first, n, append(x.record(first, n), p[:n]...)) != nil {
			x.omitted += int64(len(p) - n)
			x.tape.lanes[kindExchange].lost.Add(int64(len(p) - n))
			return
		}
		x.kept[side] += int64(n)
		first, p = rest, p[n:]
	}
}

// telling is one record on its way to the tape.
type telling struct {
	what  tell
	time  time.Duration
	bytes []byte // the whole record
	size  int    // of the bytes of a body in it
}

// record begins a record that tells about so many bytes.
func (x *Exchange) record(what tell, size int) []byte {
	b := make([]byte, 0, binary.MaxVarintLen64+1+size)
	return append(binary.AppendUvarint(b, x.id), byte(what))
}

// tell appends a record with so many bytes of a body, at once or at the end of
// Together.
func (x *Exchange) tell(what tell, size int, record []byte) error {
	x.queue = append(x.queue, telling{what, x.tape.Now(), record, size})
	if x.waits {
		return nil
	}
	return x.flush()
}

// flush appends what waits with one write or, where there is no room for all,
// what has some.
func (x *Exchange) flush() error {
	list := x.queue
	x.queue = nil
	if len(list) == 0 {
		return nil
	}
	err := x.append(list)
	if err == nil {
		return nil
	}
	if len(list) > 1 && errors.Is(err, errFull) {
		for i, t := range list {
			// What comes behind a loss is no beginning of a body.
			if side, of := t.side(); x.unbegun || of && x.stopped[side] || x.append(list[i:i+1]) != nil {
				x.lost(t)
			}
		}
		return err
	}
	for _, t := range list {
		x.lost(t)
	}
	return err
}

// side is of which side of the exchange a record tells.
func (t telling) side() (side int, of bool) {
	switch t.what {
	case tellBody:
		return ofRequest, true
	case tellAnswer, tellPiece, tellMore:
		return ofAnswer, true
	}
	return 0, false
}

// lost counts a record that is not on the tape. No more of its kind is kept.
func (x *Exchange) lost(t telling) {
	if t.what == tellBegin {
		x.gone, x.unbegun = true, true
	}
	side, of := t.side()
	if !of {
		return
	}
	x.stopped[side] = true
	if t.what != tellAnswer {
		x.omitted += int64(t.size)
		x.tape.lanes[kindExchange].lost.Add(int64(t.size))
	}
}

// append appends records. A file system that does not answer is given up after
// Patience, so the append has a goroutine of its own, which ends with it.
func (x *Exchange) append(list []telling) error {
	t := x.tape
	if t.dead.Load() {
		return errAbandoned
	}
	done := make(chan error, 1)
	go func() { done <- t.exchange(list) }()
	patience := time.NewTimer(Patience)
	defer patience.Stop()
	var err error
	select {
	case err = <-done:
	case <-patience.C:
		t.Abandon()
		return errAbandoned
	}
	if err != nil {
		t.fail(err)
	}
	return err
}

// mostTogether is how much of a buffer for records is kept.
const mostTogether = 256 << 10

// exchange appends records of an exchange with one write. For bytes of a body
// there must be room.
func (t *Tape) exchange(list []telling) error {
	t.exchanging.Lock()
	defer t.exchanging.Unlock()
	all := t.together[:0]
	bytes := false
	for _, r := range list {
		rec := t.lanes[kindExchange].seal.seal(r.time, r.bytes, 0)
		if len(rec) > maxSealed {
			return errors.New("a header is too long for the tape")
		}
		all = append(all, rec...)
		bytes = bytes || r.what == tellBody || r.what == tellPiece || r.what == tellMore
	}
	if cap(all) <= mostTogether {
		t.together = all
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.dead.Load():
		return errAbandoned
	case bytes && t.end+int64(len(all))-t.drained.Load() > t.limit.Load():
		return errFull
	}
	return t.put(all)
}
