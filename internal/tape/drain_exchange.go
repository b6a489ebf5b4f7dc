package tape

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"agentrec/internal/redact"
	"agentrec/store"
)

// openExchange is an exchange whose end the drain has not met.
type openExchange struct {
	store.Exchange
	start place  // the record it begins in
	block []byte // where the bytes of the last pieces are kept
	size  int    // of all pieces

	grown bool          // since it was stored
	seen  int           // its status as stored
	when  time.Time     // it was stored
	took  time.Duration // that took
}

// How an open exchange is stored again: when its answer begins, and when it has
// grown. Redaction reads all of it each time, so this waits between two times,
// and longer the longer it takes.
const (
	storePause = time.Second / 2
	storeShare = 10 // of the time, at most one part
)

// exchange takes a record of an exchange.
func (d *Drain) exchange(rec record, here place) error {
	id, n := binary.Uvarint(rec.data)
	if n <= 0 || n == len(rec.data) {
		return fmt.Errorf("read an exchange of the tape: %w", errDamaged)
	}
	what, data := tell(rec.data[n]), rec.data[n+1:]
	if what == tellBegin {
		return d.begin(id, rec.time, data, here)
	}
	x := d.begun[id]
	if x == nil { // an earlier drain stored it to its end, or it was let go
		if d.letGo[id] && (what == tellPiece || what == tellMore || what == tellBody) {
			d.cutOff += int64(len(data))
		}
		return nil
	}
	d.weight += len(data)
	x.grown = true
	var err error
	switch what {
	case tellBody:
		x.Body = append(x.Body, data...)
	case tellAnswer:
		var a exchangeAnswer
		err = json.Unmarshal(data, &a)
		x.Status, x.Answered, x.Answer = a.Status, rec.time, unpackFields(a.Header)
	case tellPiece:
		x.Pieces = append(x.Pieces, store.Piece{Time: rec.time, Bytes: x.keep(data)})
		x.size += len(data)
	case tellMore:
		if n := len(x.Pieces); n > 0 {
			p := &x.Pieces[n-1]
			p.Bytes = append(p.Bytes, data...)
			x.size += len(data)
		}
	case tellEnd:
		var e exchangeEnd
		if err = json.Unmarshal(data, &e); err == nil {
			x.End, x.Ended, x.Trailer, x.Error, x.Omitted = e.End, rec.time, unpackFields(e.Trailer), string(e.Reason), e.Omitted
			d.storeExchange(x)
			delete(d.begun, id)
		}
	}
	if err != nil {
		return fmt.Errorf("read an exchange of the tape: %w", errors.Join(err, errDamaged))
	}
	return nil
}

// begin takes the beginning of an exchange, unless it is stored to its end.
func (d *Drain) begin(id uint64, t time.Duration, data []byte, here place) error {
	d.at.Exchanges++
	var b exchangeBegin
	if err := json.Unmarshal(data, &b); err != nil {
		return fmt.Errorf("read an exchange of the tape: %w", errors.Join(err, errDamaged))
	}
	x := &openExchange{start: here}
	x.Number, x.Time, x.After = d.at.Exchanges-d.dropped, t, d.writer.Last()
	x.Route, x.Proto, x.Method, x.URL, x.Header = b.Route, string(b.Proto), string(b.Method), string(b.URL), unpackFields(b.Header)
	if x.Number <= d.writer.Exchanges() {
		ended, after := d.writer.ExchangeEnded(x.Number)
		if ended {
			return nil
		}
		x.After = after
	}
	if d.begun == nil {
		d.begun = map[uint64]*openExchange{}
	}
	d.begun[id] = x
	d.weight += len(data)
	d.storeExchange(x)
	return nil
}

// storeExchange stores an exchange as far as it may be seen.
func (d *Drain) storeExchange(x *openExchange) {
	began := time.Now()
	y := x.Exchange
	if y.End == "" {
		y.Pieces = redact.Settled(y.Answer, y.Pieces)
		if y.Status == 0 && store.FieldOf(y.Header, "content-length") != strconv.Itoa(len(y.Body)) {
			y.Body = nil
		}
	}
	if d.redactor != nil {
		d.redactor.Exchange(&y)
	}
	d.writer.Exchange(y)
	d.weight += len(y.Body) + x.size
	x.grown, x.seen, x.when = false, x.Status, time.Now()
	x.took = x.when.Sub(began)
}

// keep copies bytes to where those of the pieces are kept.
func (x *openExchange) keep(p []byte) []byte {
	const least, most = 4 << 10, 1 << 20
	if cap(x.block)-len(x.block) < len(p) {
		x.block = make([]byte, 0, max(len(p), min(max(x.size, least), most)))
	}
	from := len(x.block)
	x.block = append(x.block, p...)
	return x.block[from:len(x.block):len(x.block)]
}

// openExchanges returns the exchanges that are open, in order.
func (d *Drain) openExchanges() []*openExchange {
	return slices.SortedFunc(maps.Values(d.begun), func(a, b *openExchange) int { return int(a.Number - b.Number) })
}

// storeGrown stores the open exchanges that have grown and whose turn it is, and
// reports whether some are left.
func (d *Drain) storeGrown() (left bool) {
	for _, x := range d.openExchanges() {
		switch {
		case !x.grown:
		case x.Status != x.seen, time.Since(x.when) >= max(storePause, storeShare*x.took):
			d.storeExchange(x)
		default:
			left = true
		}
	}
	return left
}

// mostHeld is how much of the tape stays for the sake of an exchange that does
// not end, in bytes. The tape is read again from its beginning after a crash.
const mostHeld = 1 << 30

// tooLong is why an exchange is cut that keeps more.
const tooLong = "it stayed open for too long"

// dropOld ends the exchanges that keep too much of the tape: nothing else could
// be recorded when it is full.
func (d *Drain) dropOld() {
	for id, x := range d.begun {
		if d.at.Offset-x.start.Offset <= d.spare {
			continue
		}
		x.End, x.Ended, x.Error = store.CutShort, d.now, tooLong
		d.storeExchange(x)
		delete(d.begun, id)
		if d.letGo == nil {
			d.letGo = map[uint64]bool{}
		}
		d.letGo[id] = true
	}
}

// cutExchanges ends the exchanges that are open: nothing more is known of them.
func (d *Drain) cutExchanges(at time.Duration, why string) {
	for _, x := range d.openExchanges() {
		x.End, x.Ended, x.Error = store.CutShort, at, why
		d.storeExchange(x)
	}
	d.begun = nil
}
