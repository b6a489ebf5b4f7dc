package tape

import (
	"encoding/binary"
	"encoding/json"
	"errors"
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

func packFields(list []store.Field) [][]byte {
	var out [][]byte
	for _, f := range list {
		out = append(out, []byte(f.Name), []byte(f.Value))
	}
	return out
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
	kept    [2]int64 // bytes of the request and the answer
	stopped [2]bool  // a body is kept up to its first byte that is not
	pieces  int
	omitted int64
}

const (
	ofRequest = iota
	ofAnswer
)

// most is what is kept of the bodies.
var most = [2]int64{store.MaxRequestBody, store.MaxAnswerBody}

// Exchange begins an exchange. The caller ends it with End.
func (t *Tape) Exchange(r Request) *Exchange {
	t.talks.Lock()
	t.talk++
	x := &Exchange{tape: t, id: t.talk}
	t.talks.Unlock()
	x.gone = x.tellJSON(tellBegin, exchangeBegin{r.Route, []byte(r.Proto), []byte(r.Method), []byte(r.URL), packFields(r.Header)}) != nil
	return x
}

// Body tells the next bytes of the request body, as they are read.
func (x *Exchange) Body(p []byte) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.body(ofRequest, tellBody, tellBody, p)
}

// Answer tells that the head of the answer came.
func (x *Exchange) Answer(status int, header []store.Field) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.gone && x.tellJSON(tellAnswer, exchangeAnswer{status, packFields(header)}) != nil {
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
		x.tellJSON(tellEnd, exchangeEnd{end, packFields(trailer), []byte(reason), x.omitted})
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
		if err := x.tell(first, p[:n]); err != nil {
			x.stopped[side] = true
			x.omitted += int64(len(p))
			x.tape.lanes[kindExchange].lost.Add(int64(len(p)))
			return
		}
		x.kept[side] += int64(n)
		first, p = rest, p[n:]
	}
}

func (x *Exchange) tellJSON(what tell, v any) error {
	b, err := json.Marshal(v)
	if err == nil {
		err = x.tell(what, b)
	}
	return err
}

// tell appends one record. A file system that does not answer is given up after
// Patience, so the append has a goroutine of its own, which ends with it.
func (x *Exchange) tell(what tell, p []byte) error {
	t := x.tape
	if t.dead.Load() {
		return errAbandoned
	}
	b := make([]byte, 0, binary.MaxVarintLen64+1+len(p))
	b = append(append(binary.AppendUvarint(b, x.id), byte(what)), p...)
	now := t.Now()
	done := make(chan error, 1)
	go func() { done <- t.exchange(now, b, what == tellBody || what == tellPiece || what == tellMore) }()
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

// exchange appends a record of an exchange; bytes tells that it holds such, for
// which there must be room.
func (t *Tape) exchange(now time.Duration, b []byte, bytes bool) error {
	t.talks.Lock()
	defer t.talks.Unlock()
	rec := t.lanes[kindExchange].seal.seal(now, b)
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.dead.Load():
		return errAbandoned
	case len(rec) > maxSealed:
		return errors.New("a header is too long for the tape")
	case bytes && t.end+int64(len(rec))-t.drained.Load() > t.limit.Load():
		return errFull
	}
	return t.put(rec)
}
