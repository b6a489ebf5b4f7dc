package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"
)

const (
	// chunkRaw is how many payload bytes fill a chunk.
	chunkRaw = 256 << 10
	// chunkFrames bounds a chunk of very short frames.
	chunkFrames = 16 << 10
	// alone is the length from which a frame gets a chunk for itself, so that
	// reading its neighbours does not unpack it, nor the other way round.
	alone = chunkRaw
	// chunkMost is how much fills a chunk of long frames that repeat each
	// other, as agents send that repeat a whole message for each word: together
	// they take little more than one of them.
	chunkMost = 3 << 19
	// long is the length from which to look for that; of shorter ones enough
	// stand in any chunk.
	long = 32 << 10
	// partRaw is the most that one part of a giant holds.
	partRaw = 1 << 20

	// maxPayload bounds what a chunk may unpack to, maxPacked what it may
	// take in the file, maxColumns its columns unpacked.
	maxPayload = chunkMost + MaxRaw
	maxPacked  = maxPayload + 1<<20
	maxColumns = chunkFrames * (1 + binary.MaxVarintLen64*2)

	// pageSize is that of new databases. Chunks fill small pages better than
	// large ones, and rows, which do not, are few.
	pageSize = 4096

	// seqBits is the room for a seq beside the session's number in a row id.
	seqBits = 40
	maxSeq  = 1<<seqBits - 1

	// maxSession is the highest session number.
	maxSession = 1<<(63-seqBits) - 1
)

// errDamaged marks stored bytes that this package did not write.
var errDamaged = errors.New("damaged")

// IsDamaged reports whether err of a read says that what is stored is damaged:
// other sessions of the file may be whole.
func IsDamaged(err error) bool { return errors.Is(err, errDamaged) }

// kind holds a frame's stream (2 bits), terminator (2 bits) and whether it is a
// giant.
type kind uint8

const giantBit kind = 1 << 4

func kindOf(s Stream, t Terminator) kind { return kind(s) | kind(t)<<2 }

func (k kind) stream() Stream   { return Stream(k & 3) }
func (k kind) term() Terminator { return Terminator(k >> 2 & 3) }
func (k kind) giant() bool      { return k&giantBit != 0 }
func (k kind) valid() bool {
	return k < giantBit<<1 && k.stream() <= Err && k.term() <= CRLF
}

// meta is what is known of a frame besides its bytes.
type meta struct {
	kind kind
	size int64
	time int64 // microseconds
}

func (m meta) payload() int64 {
	if m.kind.giant() {
		return 0
	}
	return m.size
}

func (m meta) frame(seq int64, raw []byte) Frame {
	return Frame{
		Seq: seq, Stream: m.kind.stream(), Term: m.kind.term(), Size: m.size,
		Time: time.Duration(m.time) * time.Microsecond, Raw: raw,
	}
}

// packColumns stores the metas column by column: all kinds, all sizes, all
// differences of time; behind their unpacked length.
func packColumns(p *packer, metas []meta) []byte {
	b := make([]byte, 0, len(metas)*6)
	for _, m := range metas {
		b = append(b, byte(m.kind))
	}
	for _, m := range metas {
		b = binary.AppendUvarint(b, uint64(m.size))
	}
	last := int64(0)
	for _, m := range metas {
		b = binary.AppendVarint(b, m.time-last)
		last = m.time
	}
	return p.pack(binary.AppendUvarint(nil, uint64(len(b))), b)
}

// unpackColumns is packColumns backwards, for n frames whose payloads add up
// to payload bytes.
func unpackColumns(dec *unpacker, b []byte, n, payload int64) ([]meta, error) {
	length, k := binary.Uvarint(b)
	if k <= 0 || length > maxColumns || n < 1 || n > chunkFrames {
		return nil, fmt.Errorf("%w: bad columns", errDamaged)
	}
	b, err := unpack(dec, b[k:], int64(length))
	if err != nil {
		return nil, err
	}
	if int64(len(b)) < n {
		return nil, fmt.Errorf("%w: columns too short", errDamaged)
	}
	metas := make([]meta, n)
	for i := range metas {
		metas[i].kind = kind(b[i])
		if !metas[i].kind.valid() {
			return nil, fmt.Errorf("%w: bad kind", errDamaged)
		}
	}
	b = b[n:]
	sum := int64(0)
	for i := range metas {
		v, k := binary.Uvarint(b)
		if k <= 0 || v > math.MaxInt64/2 || !metas[i].kind.giant() && v > MaxRaw {
			return nil, fmt.Errorf("%w: bad size", errDamaged)
		}
		metas[i].size = int64(v)
		sum += metas[i].payload()
		b = b[k:]
	}
	last := int64(0)
	for i := range metas {
		v, k := binary.Varint(b)
		if k <= 0 {
			return nil, fmt.Errorf("%w: bad time", errDamaged)
		}
		last += v
		if last < 0 || last > math.MaxInt64/1000 {
			return nil, fmt.Errorf("%w: bad time", errDamaged)
		}
		metas[i].time = last
		b = b[k:]
	}
	if len(b) != 0 || sum != payload {
		return nil, fmt.Errorf("%w: columns do not fit the payload", errDamaged)
	}
	return metas, nil
}
