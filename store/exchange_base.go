package store

import (
	"bytes"
	"errors"
	"math"
	"slices"
)

// An agent sends its whole history again with each request. So the body of a
// request is packed as the delta from an earlier one, its base. The bodies of a
// row take the one before as their base, each 16th the 16th before, each 256th
// the 256th before: so reading any one takes few others, and what is new is
// stored about twice.

const (
	// radix is how many bodies follow each other as base and delta.
	radix = 16
	// mostBases is how many bodies must be read to read one, at most.
	mostBases = 40
	// mostRows is how many different bodies of one URL a writer keeps as the
	// start of rows: agents ask for titles and answers at the same place.
	mostRows = 3
	// mostKept bounds the bodies that a writer keeps, in bytes.
	mostKept = 64 << 20
	// shortBody is the length from which a base is worth it.
	shortBody = 1 << 10
)

// baseRow is a row of bodies that each resemble the one before.
type baseRow struct {
	url  string
	n    int     // bodies of the row so far
	path []based // of falling levels
}

// based is a body that a later one of the row may take as its base.
type based struct {
	level  int   // 0, 1 for each 16th, 2 for each 256th, ...
	depth  int   // how many bodies must be read before it
	number int64 // of the exchange
	body   []byte
}

// level is that of the row's next body.
func (r *baseRow) level() int {
	if r.n == 0 {
		return math.MaxInt
	}
	level := 0
	for n := r.n; n%radix == 0; n /= radix {
		level++
	}
	return level
}

// next returns the base for the next body of the row, for exchange number.
func (r *baseRow) next(number int64) *based {
	level := r.level()
	for i := len(r.path) - 1; i >= 0; i-- {
		if b := &r.path[i]; b.level >= level && b.number < number && b.depth < mostBases {
			return b
		}
	}
	return nil
}

// add takes the body of an exchange that has ended into the row.
func (r *baseRow) add(b based) {
	b.level = r.level()
	for len(r.path) > 0 && r.path[len(r.path)-1].level <= b.level {
		r.path = r.path[:len(r.path)-1]
	}
	r.path = append(r.path, b)
	r.n++
}

func (r *baseRow) size() int {
	n := 0
	for _, b := range r.path {
		n += len(b.body)
	}
	return n
}

// bases are the rows of a session, newest last.
type bases []*baseRow

// packedBody is a request body as it is stored.
type packedBody struct {
	data  []byte
	base  int64    // the exchange whose body it is packed with, 0 for none
	depth int      // how many bodies must be read before it
	row   *baseRow // where the base comes from
}

// pack packs a request body with the base that makes it smallest.
func (list bases) pack(p *packer, number int64, url string, body []byte) packedBody {
	var best packedBody
	for i := len(list) - 1; i >= 0 && len(body) >= shortBody; i-- {
		r := list[i]
		if r.url != url {
			continue
		}
		b := r.next(number)
		if b == nil {
			continue
		}
		if data := packWith(p, b.body, body); best.data == nil || len(data) < len(best.data) {
			best = packedBody{data, b.number, b.depth + 1, r}
		}
		if len(best.data) < len(body)/20 {
			return best // by itself it would not be so small
		}
	}
	if data := p.pack(nil, body); best.data == nil || len(best.data) > len(data)/8*7 {
		return packedBody{data: data}
	}
	return best
}

// add takes the body of an exchange that has ended in, which was packed as p
// says.
func (list bases) add(number int64, url string, body []byte, p packedBody) bases {
	if len(body) < shortBody || len(body) > MaxRaw {
		return list
	}
	row := p.row
	if i := slices.Index(list, row); i >= 0 && row != nil {
		list = slices.Delete(list, i, i+1)
	} else {
		row = &baseRow{url: url}
	}
	row.add(based{depth: p.depth, number: number, body: bytes.Clone(body)})
	list = append(list, row)
	same, kept := 0, 0
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].url == url {
			same++
		}
		if kept += list[i].size(); kept > mostKept || list[i].url == url && same > mostRows {
			list = slices.Delete(list, i, i+1)
		}
	}
	return list
}

// packWith compresses b as a delta from base.
func packWith(p *packer, base, b []byte) []byte { return packSized(p, makeDelta(base, b)) }

// unpackWith is packWith backwards; b must unpack to exactly size bytes.
func unpackWith(dec *unpacker, base, b []byte, size int64) ([]byte, error) {
	delta, err := unpackSized(dec, b, maxPacked)
	if err != nil {
		return nil, err
	}
	return applyDelta(base, delta, size)
}

var errBases = errors.New("the body that it builds on is none")
