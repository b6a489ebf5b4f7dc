package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// The sides of an exchange, of each of which there is a body.
const (
	sideRequest = iota
	sideAnswer
	sides
)

// exchanges is what a Writer knows of the exchanges of its session.
type exchanges struct {
	base    Chain                  // over the first ones, all ended and committed
	tail    []writtenOf            // the ones after
	pending []int64                // numbers of those not committed, in order of adding
	bases   bases                  // request bodies to pack others with
	failed  map[[32]byte][]attempt // ended requests that a client may have tried again
	err     error                  // of a wrong use, told by Commit
}

// writtenOf is what is known of an exchange that was added.
type writtenOf struct {
	hash  [32]byte
	size  int64 // of the bodies
	ended bool
	after int64

	asked packedBody       // the request's body, as committed, less the data
	parts [sides][]partSum // as committed
	fresh *freshExchange   // nil once committed
}

// partSum tells whether a part is the one that is stored.
type partSum [16]byte

// freshExchange is an exchange ready to be stored.
type freshExchange struct {
	head   Exchange // without bodies
	fields []byte
	pieces []byte
	asked  packedBody
	same   [32]byte // what equal requests have in common
	sums   [sides][]partSum
	parts  []freshPart
}

type freshPart struct {
	side int
	part
}

// attempt is a try of a request that got no good answer.
type attempt struct {
	number int64
	n      int
	ended  time.Duration
}

// Exchange stores an exchange, or replaces an open one by the same that has
// grown, at Commit. Numbers are given in order from 1; with Number 0 it is the
// next one. Its bytes are copied. Text that is not UTF-8 is made so, but for
// header values and bodies.
func (w *Writer) Exchange(x Exchange) {
	s := &w.exchanges
	next := s.base.Frames + int64(len(s.tail)) + 1
	if x.Number == 0 {
		x.Number = next
	}
	switch at := x.Number - s.base.Frames - 1; {
	case x.Number > next || at < 0 || at < int64(len(s.tail)) && s.tail[at].ended:
		s.err = errors.Join(s.err, fmt.Errorf("exchange %d cannot be stored: it has ended, or the one before it is missing", x.Number))
		return
	case x.Number == next:
		s.tail = append(s.tail, writtenOf{})
	}
	x.normal()
	k := &s.tail[x.Number-s.base.Frames-1]
	w.prepare(k, &x)
	if !slices.Contains(s.pending, x.Number) {
		s.pending = append(s.pending, x.Number)
	}
	w.stamp(max(x.Time, x.Answered, x.Ended))
	if n := len(x.Pieces); n > 0 {
		w.stamp(x.Pieces[n-1].Time)
	}
}

// Exchanges returns how many exchanges were added.
func (w *Writer) Exchanges() int64 { return w.exchanges.base.Frames + int64(len(w.exchanges.tail)) }

// ExchangeEnded reports whether exchange number was added with an end, and, of
// one that was added, the seq of the last frame before it.
func (w *Writer) ExchangeEnded(number int64) (ended bool, after int64) {
	at := number - w.exchanges.base.Frames - 1
	if at < 0 {
		return true, 0
	}
	if at >= int64(len(w.exchanges.tail)) {
		return false, 0
	}
	k := &w.exchanges.tail[at]
	return k.ended, k.after
}

// prepare packs an exchange.
func (w *Writer) prepare(k *writtenOf, x *Exchange) {
	s, p := &w.exchanges, &w.db.packer
	k.hash, k.size, k.after = x.digest(), x.Sent+x.Received, x.After
	body := sha256.Sum256(x.Body)
	f := &freshExchange{fields: packFields(p, x.Header, x.Answer, x.Trailer), pieces: packPieces(p, x.Time, x.Pieces), asked: k.asked, same: x.request(body)}
	x.Attempt = s.attempt(x, f.same)
	w.prepareRequest(k, f, x, body)
	w.prepareAnswer(k, f, x)
	if k.ended = x.End != ""; k.ended {
		s.bases = s.bases.add(x.Number, baseURL(x.URL), x.Body, f.asked)
		if x.mayRetry() {
			if s.failed == nil {
				s.failed = map[[32]byte][]attempt{}
			}
			s.failed[f.same] = append(s.failed[f.same], attempt{x.Number, x.Attempt, x.Ended})
		}
	}
	f.head = *x
	f.head.Body, f.head.Pieces = nil, nil
	k.fresh = f
}

// baseURL is the part of a URL that requests with the same history share.
func baseURL(url string) string {
	url, _, _ = strings.Cut(url, "?")
	return url
}

func (w *Writer) prepareRequest(k *writtenOf, f *freshExchange, x *Exchange, sum [32]byte) {
	if len(x.Body) > MaxRaw || len(x.Body) == 0 {
		f.asked = packedBody{}
		w.prepareParts(k, f, sideRequest, [][]byte{x.Body})
		return
	}
	sums := []partSum{partSum(sum[:16])}
	f.sums[sideRequest] = sums
	if slices.Equal(k.parts[sideRequest], sums) {
		return
	}
	if was := k.fresh; was != nil && was.asked.data != nil && slices.Equal(was.sums[sideRequest], sums) {
		f.asked = was.asked
	} else {
		f.asked = w.exchanges.bases.pack(&w.db.packer, x.Number, baseURL(x.URL), x.Body)
	}
	f.parts = append(f.parts, freshPart{sideRequest, part{0, int64(len(x.Body)), f.asked.data}})
}

func (w *Writer) prepareAnswer(k *writtenOf, f *freshExchange, x *Exchange) {
	pieces := make([][]byte, len(x.Pieces))
	for i, p := range x.Pieces {
		pieces[i] = p.Bytes
	}
	w.prepareParts(k, f, sideAnswer, pieces)
}

// prepareParts cuts what the pieces hold into parts and packs those that are
// not stored like this.
func (w *Writer) prepareParts(k *writtenOf, f *freshExchange, side int, pieces [][]byte) {
	var buf []byte
	n := int64(0)
	flush := func() {
		sum := sumOf(buf)
		f.sums[side] = append(f.sums[side], sum)
		if old := k.parts[side]; n >= int64(len(old)) || old[n] != sum {
			f.parts = append(f.parts, freshPart{side, part{n, int64(len(buf)), w.db.packer.pack(nil, buf)}})
		}
		n++
		buf = buf[:0]
	}
	for _, p := range pieces {
		for len(p) > 0 {
			take := min(len(p), partRaw-len(buf))
			buf = append(buf, p[:take]...)
			if p = p[take:]; len(buf) == partRaw {
				flush()
			}
		}
	}
	if len(buf) > 0 {
		flush()
	}
}

func sumOf(b []byte) partSum {
	sum := sha256.Sum256(b)
	return partSum(sum[:16])
}

// mayRetry reports whether clients try such a request again: no answer, a
// broken or abandoned one, or a status that says so.
func (x *Exchange) mayRetry() bool {
	switch x.Status {
	case 408, 409, 425, 429:
		return true
	}
	return x.End != Done || x.Status >= 500
}

// attempt is which try of an equal request x is.
func (s *exchanges) attempt(x *Exchange, asked [32]byte) int {
	n := 1
	for _, a := range s.failed[asked] {
		if a.number < x.Number && a.ended <= x.Time {
			n = max(n, a.n+1)
		}
	}
	return n
}

// chain is the proof of all exchanges that were added.
func (s *exchanges) chain() Chain {
	c := s.base
	for i := range s.tail {
		c.link(s.tail[i].hash, s.tail[i].size)
	}
	return c
}

func (w *Writer) commitExchanges(ctx context.Context, tx *sql.Tx) error {
	s := &w.exchanges
	if s.err != nil {
		return s.err
	}
	for _, number := range s.pending {
		k := &s.tail[number-s.base.Frames-1]
		f, x := k.fresh, &k.fresh.head
		_, err := tx.ExecContext(ctx, replaceExchange, w.id<<seqBits|number, x.After, x.Time.Microseconds(), x.Route, x.Proto, x.Method,
			x.URL, x.Status, x.Answered.Microseconds(), x.Ended.Microseconds(), x.End, x.Error, x.Attempt, x.Omitted, f.fields, f.pieces,
			f.asked.base, x.Sent, x.Received, f.same[:], k.hash[:])
		if err != nil {
			return err
		}
		for side, sums := range f.sums {
			if len(sums) < len(k.parts[side]) || k.parts[side] == nil {
				_, err := tx.ExecContext(ctx, "DELETE FROM body WHERE session = ? AND exchange = ? AND side = ? AND n >= ?", w.id, number, side, len(sums))
				if err != nil {
					return err
				}
			}
		}
		for _, p := range f.parts {
			_, err := tx.ExecContext(ctx, "INSERT OR REPLACE INTO body (session, exchange, side, n, size, data) VALUES (?, ?, ?, ?, ?, ?)",
				w.id, number, p.side, p.n, p.size, p.data)
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// committed forgets what a commit has stored.
func (s *exchanges) committed() {
	for _, number := range s.pending {
		k := &s.tail[number-s.base.Frames-1]
		k.asked, k.parts, k.fresh = k.fresh.asked, k.fresh.sums, nil
		k.asked.data = nil
	}
	s.pending = nil
	done := 0
	for done < len(s.tail) && s.tail[done].ended {
		s.base.link(s.tail[done].hash, s.tail[done].size)
		done++
	}
	s.tail = slices.Delete(s.tail, 0, done)
}

// loadExchanges restores what a former writer knew.
func (w *Writer) loadExchanges(ctx context.Context, q queryer) error {
	s := &w.exchanges
	rows, err := q.QueryContext(ctx, "SELECT id, after, ended, state, status, attempt, body + answer, request, hash FROM exchange WHERE id BETWEEN ? AND ? ORDER BY id",
		w.id<<seqBits, w.id<<seqBits|maxSeq)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var x Exchange
		var k writtenOf
		var id, ended int64
		var asked, hash []byte
		if err := rows.Scan(&id, &k.after, &ended, &x.End, &x.Status, &x.Attempt, &k.size, &asked, &hash); err != nil {
			return err
		}
		x.Number = id & maxSeq
		if x.Number != w.Exchanges()+1 || len(hash) != len(k.hash) || len(asked) != sha256.Size || k.size < 0 {
			return fmt.Errorf("exchange %d is %w", w.Exchanges()+1, errDamaged)
		}
		k.hash, k.ended = [32]byte(hash), x.End != ""
		s.tail = append(s.tail, k)
		if k.ended && x.mayRetry() {
			if s.failed == nil {
				s.failed = map[[32]byte][]attempt{}
			}
			s.failed[[32]byte(asked)] = append(s.failed[[32]byte(asked)], attempt{x.Number, x.Attempt, micros(ended)})
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	s.committed()
	return nil
}
