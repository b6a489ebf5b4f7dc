package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/klauspost/compress/zstd"
)

// What is stored packed is one or several zstd frames behind each other, which
// any zstd unpacks to one text. Of a long text that does not repeat itself they
// are several, because such a text takes longest to unpack and several are
// unpacked at the same time.
const (
	// pieceRaw is what such a frame unpacks to, the last one excepted.
	pieceRaw = 256 << 10
	// overrun is what the decompressor may write behind a text, when it has room,
	// to be faster.
	overrun = 64
	// mostAtOnce bounds how many are unpacked at the same time.
	mostAtOnce = 4
)

// packer compresses; safe for concurrent use.
type packer struct {
	enc     *zstd.Encoder
	careful *zstd.Encoder // half as fast; what it packs is unpacked a third faster
	mu      sync.Mutex
	scratch []byte // the encoder reserves as much as it is given, so it gets the same memory again
}

// newEncoder returns an encoder that sees repeats within window bytes, and keeps
// twice as many in memory.
func newEncoder(level zstd.EncoderLevel, window int) *zstd.Encoder {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(level),
		zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(window), zstd.WithZeroFrames(true))
	if err != nil {
		panic("store: the compressor refuses its settings: " + err.Error())
	}
	return enc
}

// pack appends b to dst, packed.
func (p *packer) pack(dst, b []byte) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.enc == nil {
		p.enc = newEncoder(zstd.SpeedFastest, partRaw)
	}
	p.scratch = p.enc.EncodeAll(b, p.scratch[:0])
	return append(dst, p.scratch...)
}

// packLong packs a text so that it is quick to unpack.
func (p *packer) packLong(b []byte) []byte {
	if len(b) <= pieceRaw || repeatsItself(b) {
		return p.pack(nil, b)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.careful == nil {
		p.careful = newEncoder(zstd.SpeedBetterCompression, pieceRaw)
	}
	p.scratch = p.scratch[:0]
	for at := 0; at < len(b); at += pieceRaw {
		p.scratch = p.careful.EncodeAll(b[at:min(at+pieceRaw, len(b))], p.scratch)
	}
	return bytes.Clone(p.scratch)
}

// repeatsItself reports whether most of a text stands in it again, further away
// than pieces can tell: samples do.
func repeatsItself(b []byte) bool {
	const samples, length = 8, 24
	found := 0
	for i := 1; i <= samples; i++ {
		at := i * (len(b) - length) / (samples + 1)
		sample, from := b[at:at+length], at/pieceRaw*pieceRaw
		if bytes.Contains(b[:from], sample) || bytes.Contains(b[min(from+pieceRaw, len(b)):], sample) {
			found++
		}
	}
	return found > samples/2
}

func (p *packer) close() {
	for _, enc := range []*zstd.Encoder{p.enc, p.careful} {
		if enc != nil {
			enc.Close()
		}
	}
}

// unpacker decompresses; safe for concurrent use.
type unpacker struct {
	*zstd.Decoder
	spare sync.Pool // of *[]byte, for a piece each
}

func newUnpacker() *unpacker {
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(mostAtOnce), zstd.WithDecoderMaxMemory(maxPacked),
		zstd.WithDecodeAllCapLimit(true))
	if err != nil {
		panic("store: the decompressor refuses its settings: " + err.Error())
	}
	return &unpacker{Decoder: dec, spare: sync.Pool{New: func() any {
		b := make([]byte, 0, pieceRaw+overrun)
		return &b
	}}}
}

// unpack decompresses b, which must unpack to exactly size bytes.
func unpack(dec *unpacker, b []byte, size int64) ([]byte, error) {
	if size > pieceRaw && runtime.GOMAXPROCS(0) > 1 {
		if list, err := pieces(b, size); err == nil && len(list) > 1 {
			return together(dec, list)
		}
	}
	out, err := dec.DecodeAll(b, make([]byte, 0, size))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	if int64(len(out)) != size {
		return nil, fmt.Errorf("%w: unpacks to %d bytes instead of %d", errDamaged, len(out), size)
	}
	return out, nil
}

// piece is one zstd frame and how much it unpacks to.
type piece struct {
	packed []byte
	size   int
}

var errNoPieces = errors.New("not made of pieces")

// pieces finds the frames that b is made of by their headers (RFC 8878, 3.1.1).
// It wants them as this package writes them: with their content's size.
func pieces(b []byte, size int64) ([]piece, error) {
	var list []piece
	for len(b) > 0 {
		var h zstd.Header
		if err := h.Decode(b); err != nil || h.Skippable || !h.HasFCS || h.FrameContentSize > pieceRaw {
			return nil, errNoPieces
		}
		end := h.HeaderSize
		for last := false; !last; {
			if len(b)-end < 3 {
				return nil, errNoPieces
			}
			block := uint32(binary.LittleEndian.Uint16(b[end:])) | uint32(b[end+2])<<16
			last = block&1 != 0
			end += 3
			if block>>1&3 == 1 {
				end++ // one byte, repeated
			} else {
				end += int(block >> 3)
			}
			if end > len(b) {
				return nil, errNoPieces
			}
		}
		if h.HasCheckSum {
			end += 4
		}
		if end > len(b) {
			return nil, errNoPieces
		}
		list = append(list, piece{b[:end], int(h.FrameContentSize)})
		size -= int64(h.FrameContentSize)
		b = b[end:]
	}
	if size != 0 {
		return nil, errNoPieces
	}
	return list, nil
}

// together unpacks all pieces, several at a time.
func together(dec *unpacker, list []piece) ([]byte, error) {
	out := make([][]byte, len(list))
	spares := make([]*[]byte, len(list))
	var next atomic.Int64
	var failed atomic.Pointer[error]
	work := func() {
		for i := next.Add(1) - 1; i < int64(len(list)); i = next.Add(1) - 1 {
			spares[i] = dec.spare.Get().(*[]byte)
			got, err := dec.DecodeAll(list[i].packed, (*spares[i])[:0])
			if err == nil && len(got) != list[i].size {
				err = errors.New("a piece is too short")
			}
			if err != nil {
				failed.CompareAndSwap(nil, &err)
			}
			out[i] = got
		}
	}
	var others sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(list), mostAtOnce) - 1 {
		others.Go(work)
	}
	work()
	others.Wait()
	defer func() {
		for _, b := range spares {
			dec.spare.Put(b)
		}
	}()
	if err := failed.Load(); err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, *err)
	}
	return bytes.Join(out, nil), nil
}
