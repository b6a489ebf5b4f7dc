package store

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"math"
	"slices"
	"strings"
	"time"
)

// maxFields bounds the headers of an exchange, unpacked.
const maxFields = 32 << 20

// maxText bounds what stands in a text column of an exchange, in bytes.
const maxText = 1 << 20

// normal gives an exchange the form in which it is stored: whole microseconds,
// no time before the one that must precede it, text in UTF-8, sorted headers,
// and no more than is kept.
func (x *Exchange) normal() {
	for _, p := range []*string{&x.Proto, &x.Method, &x.URL, &x.Error, (*string)(&x.Route), (*string)(&x.End)} {
		*p = clean(*p)
		*p = strings.ToValidUTF8((*p)[:min(len(*p), maxText)], "")
	}
	x.Header, x.Answer, x.Trailer = sorted(x.Header), sorted(x.Answer), sorted(x.Trailer)
	x.After = min(max(x.After, 0), maxSeq)
	x.Time = max(x.Time, 0).Truncate(time.Microsecond)
	x.Omitted = max(x.Omitted, 0)
	if n := len(x.Body) - MaxRequestBody; n > 0 {
		x.Body, x.Omitted = x.Body[:MaxRequestBody], x.Omitted+int64(n)
	}
	at := x.Time
	after := func(t time.Duration) time.Duration {
		at = max(at, t.Truncate(time.Microsecond))
		return at
	}
	switch {
	case x.Status != 0 || len(x.Pieces) > 0:
		x.Answered = after(x.Answered)
	default:
		x.Answered = 0
	}
	x.limitPieces()
	x.Pieces = slices.Clone(x.Pieces)
	for i := range x.Pieces {
		x.Pieces[i].Time = after(x.Pieces[i].Time)
	}
	if x.Ended = after(x.Ended); x.End == "" {
		x.Ended = 0
	}
	x.measure()
}

// measure sets Sent and Received by the bodies.
func (x *Exchange) measure() {
	x.Sent, x.Received = int64(len(x.Body)), 0
	for _, p := range x.Pieces {
		x.Received += int64(len(p.Bytes))
	}
}

// limitPieces leaves out what is beyond the limits of an answer.
func (x *Exchange) limitPieces() {
	room := int64(MaxAnswerBody)
	for i := range x.Pieces {
		n := int64(len(x.Pieces[i].Bytes))
		if i < MaxPieces && n <= room {
			room -= n
			continue
		}
		for _, p := range x.Pieces[i:] {
			x.Omitted += int64(len(p.Bytes))
		}
		x.Pieces = x.Pieces[:i]
		return
	}
}

func sorted(list []Field) []Field {
	byName := func(a, b Field) int { return cmp.Compare(a.Name, b.Name) }
	if slices.IsSortedFunc(list, byName) {
		return list
	}
	list = slices.Clone(list)
	slices.SortStableFunc(list, byName)
	return list
}

// digest is the hash of all that an exchange says but its number, when it began
// and what is derived: a list of values, numbers as eight bytes, big endian, and
// text behind its length (TEXTFORM.md has the order).
func (x *Exchange) digest() [32]byte {
	d := digester{sha256.New()}
	d.number(x.After)
	d.text(string(x.Route), x.Proto, x.Method, x.URL)
	d.fields(x.Header)
	d.number(int64(len(x.Body)))
	d.Write(x.Body)
	d.number(int64(x.Status))
	d.number(since(x.Answered, x.Time))
	d.fields(x.Answer)
	d.number(int64(len(x.Pieces)))
	for _, p := range x.Pieces {
		d.number(since(p.Time, x.Time))
		d.number(int64(len(p.Bytes)))
		d.Write(p.Bytes)
	}
	d.fields(x.Trailer)
	d.text(string(x.End))
	d.number(since(x.Ended, x.Time))
	d.text(x.Error)
	d.number(x.Omitted)
	return [32]byte(d.Sum(nil))
}

// since is the time from began to t in microseconds, 0 when t is not set.
func since(t, began time.Duration) int64 { return max((t - began).Microseconds(), 0) }

type digester struct{ hash.Hash }

func (d digester) number(n int64) {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(n))
	d.Write(b[:])
}

func (d digester) text(list ...string) {
	for _, s := range list {
		d.number(int64(len(s)))
		d.Write([]byte(s))
	}
}

func (d digester) fields(list []Field) {
	d.number(int64(len(list)))
	for _, f := range list {
		d.text(f.Name, f.Value)
	}
}

// request is the hash that equal requests have in common; body is that of the
// body.
func (x *Exchange) request(body [32]byte) [32]byte {
	d := digester{sha256.New()}
	d.text(x.Method, x.URL)
	d.Write(body[:])
	return [32]byte(d.Sum(nil))
}

// packSized compresses b, behind its length.
func packSized(p *packer, b []byte) []byte {
	return p.pack(binary.AppendUvarint(nil, uint64(len(b))), b)
}

func unpackSized(dec *unpacker, b []byte, most int) ([]byte, error) {
	length, k := binary.Uvarint(b)
	if k <= 0 || length > uint64(most) {
		return nil, fmt.Errorf("%w: bad length", errDamaged)
	}
	return unpack(dec, b[k:], int64(length))
}

// packFields stores the three lists of header lines.
func packFields(p *packer, lists ...[]Field) []byte {
	var b []byte
	for _, list := range lists {
		b = binary.AppendUvarint(b, uint64(len(list)))
		for _, f := range list {
			for _, s := range []string{f.Name, f.Value} {
				b = append(binary.AppendUvarint(b, uint64(len(s))), s...)
			}
		}
	}
	return packSized(p, b)
}

func unpackFields(dec *unpacker, packed []byte, lists ...*[]Field) error {
	b, err := unpackSized(dec, packed, maxFields)
	if err != nil {
		return err
	}
	bad := fmt.Errorf("%w: bad headers", errDamaged)
	number := func() uint64 {
		n, k := binary.Uvarint(b)
		if k <= 0 || n > uint64(len(b)) { // every line and byte takes one
			return math.MaxUint64
		}
		b = b[k:]
		return n
	}
	text := func() (string, bool) {
		n := number()
		if n > uint64(len(b)) {
			return "", false
		}
		s := string(b[:n])
		b = b[n:]
		return s, true
	}
	for _, list := range lists {
		n := number()
		if n > uint64(len(b)) {
			return bad
		}
		for range n {
			name, ok := text()
			value, more := text()
			if !ok || !more {
				return bad
			}
			*list = append(*list, Field{name, value})
		}
	}
	if len(b) > 0 {
		return bad
	}
	return nil
}

// packPieces stores sizes and times of the pieces, column by column.
func packPieces(p *packer, began time.Duration, list []Piece) []byte {
	b := binary.AppendUvarint(nil, uint64(len(list)))
	for _, x := range list {
		b = binary.AppendUvarint(b, uint64(len(x.Bytes)))
	}
	last := began
	for _, x := range list {
		b = binary.AppendUvarint(b, uint64((x.Time - last).Microseconds()))
		last = x.Time
	}
	return packSized(p, b)
}

// unpackPieces returns the pieces without bytes, and their sizes, which add up
// to total.
func unpackPieces(dec *unpacker, packed []byte, began time.Duration, total int64) ([]Piece, []int64, error) {
	b, err := unpackSized(dec, packed, MaxPieces*2*binary.MaxVarintLen64)
	if err != nil {
		return nil, nil, err
	}
	bad := fmt.Errorf("%w: bad pieces", errDamaged)
	number := func(most uint64) (uint64, bool) {
		n, k := binary.Uvarint(b)
		if k <= 0 || n > most {
			return 0, false
		}
		b = b[k:]
		return n, true
	}
	count, ok := number(MaxPieces)
	if !ok || count > uint64(len(b)) {
		return nil, nil, bad
	}
	if count == 0 && total == 0 && len(b) == 0 {
		return nil, nil, nil
	}
	list, sizes := make([]Piece, count), make([]int64, count)
	left := uint64(total)
	for i := range sizes {
		n, ok := number(left)
		if !ok {
			return nil, nil, bad
		}
		left -= n
		sizes[i] = int64(n)
	}
	at := uint64(began.Microseconds())
	for i := range list {
		n, ok := number(math.MaxInt64/1000 - at)
		if !ok {
			return nil, nil, bad
		}
		at += n
		list[i].Time = time.Duration(at) * time.Microsecond
	}
	if left != 0 || len(b) > 0 {
		return nil, nil, bad
	}
	return list, sizes, nil
}
