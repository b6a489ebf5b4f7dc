package transcript

import (
	"bytes"
	"context"
	"fmt"
	"math/bits"
	"os"
	"sync"

	"agentrec/internal/dialect"
	"agentrec/store"
)

// Text is an index of what stands in the frames of a session: it tells in which
// blocks of frames a text may be, so that a search reads only those. A block
// has about a quarter of a megabyte, and the index takes a thirty-second of
// that: one bit for every hash of three bytes. It rules out, and never confirms. Reading it is safe from several goroutines, Extend and Close are
// not safe beside anything else but that.
type Text struct {
	mu   sync.RWMutex
	s    *store.Session
	d    *dialect.Dialect
	list []segment
	last int64    // frames up to this one are indexed
	file *os.File // of segments that are not in memory; nil when none is

	block grams // of the block that is being filled
	first int64 // its first frame, 0 while it is empty
	fill  int64 // bytes in it
}

const (
	blockBytes  = 256 << 10 // of frames that fill a block
	blockFrames = 16 << 10
	segBlocks   = 512 // blocks of a segment
)

// segment is up to segBlocks blocks, laid out so that the bits of one hash
// stand side by side.
type segment struct {
	ends  []int64 // the last frame of each block
	width int     // bytes for a hash
	rows  []byte  // nil when they stand in the file
	at    int64   // where
}

// Span is a range of frames, both ends included.
type Span struct{ First, Last int64 }

func newText(s *store.Session, d *dialect.Dialect) *Text { return &Text{s: s, d: d} }

// Frames returns how many frames the index knows.
func (x *Text) Frames() int64 {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.last
}

// Extend indexes the frames that have been stored since and calls progress now
// and then with the number of the frame it has come to.
func (x *Text) Extend(ctx context.Context, progress func(seq int64)) error {
	const batch = 4096
	if x.s.State == store.Recording {
		if err := x.s.Refresh(ctx); err != nil {
			return fmt.Errorf("indexing the text of session %d: %w", x.s.ID, err)
		}
	}
	for {
		to := min(x.last+batch, x.s.Count())
		if x.last >= to {
			return nil
		}
		x.mu.Lock()
		err := x.take(ctx, to)
		x.mu.Unlock()
		if err != nil {
			return err
		}
		progress(x.last)
	}
}

func (x *Text) take(ctx context.Context, to int64) error {
	for f, err := range x.s.Frames(ctx, x.last+1, to) {
		if err != nil {
			return fmt.Errorf("indexing the text of session %d: %w", x.s.ID, err)
		}
		x.frame(f)
	}
	return nil
}

// frame takes the next frame: its bytes, and what they say with JSON's escapes
// read, since a search looks for both.
func (x *Text) frame(f store.Frame) {
	giant := f.Raw == nil && f.Size > 0
	if giant {
		x.cut()
		for i := range x.block {
			x.block[i] = 0xFF // it is not looked into: anything may be there
		}
	}
	if x.first == 0 {
		x.first = f.Seq
	}
	x.last = f.Seq
	x.block.add(f.Raw)
	if bytes.IndexByte(f.Raw, '\\') >= 0 {
		x.block.add([]byte(Unescaped(f.Raw)))
		r := x.d.Read(f.Stream, f.Raw)
		each(&r, func(_ int, y *dialect.Reading) { x.block.add([]byte(y.Text)) })
	}
	x.fill += int64(len(f.Raw))
	if giant || x.fill >= blockBytes || f.Seq-x.first+1 >= blockFrames {
		x.cut()
	}
}

// cut ends the block that is being filled.
func (x *Text) cut() {
	if x.first == 0 {
		return
	}
	if n := len(x.list); n == 0 || len(x.list[n-1].ends) == segBlocks || x.list[n-1].rows == nil {
		x.list = append(x.list, segment{width: segBlocks / 8, rows: make([]byte, segBlocks/8<<gramBits)})
	}
	g := &x.list[len(x.list)-1]
	n := len(g.ends)
	g.ends = append(g.ends, x.last)
	for i, b := range x.block {
		for ; b != 0; b &= b - 1 {
			h := i<<3 | bits.TrailingZeros8(b)
			g.rows[h*g.width+n>>3] |= 1 << (n & 7)
		}
	}
	x.block, x.first, x.fill = grams{}, 0, 0
}

// Where returns the ranges of frames, in order and apart from each other, in
// which the needle may be; all that the index does not know is among them.
func (x *Text) Where(n Needle) ([]Span, error) {
	if x == nil || n.Anywhere() {
		return everything, nil
	}
	x.mu.RLock()
	defer x.mu.RUnlock()
	var out []Span
	first := int64(1)
	for i := range x.list {
		g := &x.list[i]
		in, err := x.find(g, n)
		if err != nil {
			return nil, err
		}
		for k, end := range g.ends {
			if in[k>>3]>>(k&7)&1 == 1 {
				out = appendSpan(out, Span{first, end})
			}
			first = end + 1
		}
	}
	if x.first > 0 && n.may(&x.block) {
		out = appendSpan(out, Span{x.first, x.last})
	}
	return appendSpan(out, Span{x.last + 1, maxSeq}), nil
}

const maxSeq = 1<<62 - 1

var everything = []Span{{1, maxSeq}}

func appendSpan(list []Span, s Span) []Span {
	if n := len(list); n > 0 && list[n-1].Last+1 == s.First {
		list[n-1].Last = s.Last
		return list
	}
	return append(list, s)
}

// find returns a bit for each block of a segment: whether the needle may be in
// it.
func (x *Text) find(g *segment, n Needle) ([]byte, error) {
	in := bytes.Repeat([]byte{0xFF}, g.width)
	and := func(row []byte) {
		for i := range in {
			in[i] &= row[i]
		}
	}
	for _, h := range n.grams {
		row, err := x.row(g, h)
		if err != nil {
			return nil, err
		}
		and(row)
	}
	for _, k := range n.all {
		row, err := x.find(g, k)
		if err != nil {
			return nil, err
		}
		and(row)
	}
	if len(n.either) == 0 {
		return in, nil
	}
	any := make([]byte, g.width)
	for _, k := range n.either {
		row, err := x.find(g, k)
		if err != nil {
			return nil, err
		}
		for i := range any {
			any[i] |= row[i]
		}
	}
	and(any)
	return in, nil
}

func (x *Text) row(g *segment, h uint16) ([]byte, error) {
	if g.rows != nil {
		return g.rows[int(h)*g.width : (int(h)+1)*g.width], nil
	}
	row := make([]byte, g.width)
	if _, err := x.file.ReadAt(row, g.at+int64(h)*int64(g.width)); err != nil {
		return nil, fmt.Errorf("reading the text index of session %d: %w", x.s.ID, err)
	}
	return row, nil
}

// Close closes the file of the index.
func (x *Text) Close() {
	if x != nil && x.file != nil {
		_ = x.file.Close() // it was only read
	}
}

// Unescaped reads the escapes of JSON strings wherever they stand in a frame.
func Unescaped(raw []byte) string {
	quoted := make([]byte, 0, len(raw)+2)
	return Unquote(append(append(append(quoted, '"'), raw...), '"'))
}
