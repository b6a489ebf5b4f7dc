package store

import (
	"crypto/sha256"
	"encoding"
	"encoding/binary"
	"errors"
	"hash"
)

// chainSize is the length of the stored form of a session's chains.
const chainSize = Streams * 48

var errChains = errors.New("the stored proof is malformed")

// packChains is the stored form: per stream frames and bytes, big endian, and
// the hash.
func packChains(c [Streams]Chain) []byte {
	b := make([]byte, 0, chainSize)
	for i := range c {
		b = binary.BigEndian.AppendUint64(b, uint64(c[i].Frames))
		b = binary.BigEndian.AppendUint64(b, uint64(c[i].Bytes))
		b = append(b, c[i].Hash[:]...)
	}
	return b
}

func unpackChains(b []byte) (c [Streams]Chain, err error) {
	if len(b) != chainSize {
		return c, errChains
	}
	for i := range c {
		c[i].Frames = int64(binary.BigEndian.Uint64(b))
		c[i].Bytes = int64(binary.BigEndian.Uint64(b[8:]))
		copy(c[i].Hash[:], b[16:48])
		if c[i].Frames < 0 || c[i].Bytes < 0 || c[i].Frames > maxSeq {
			return c, errChains
		}
		b = b[48:]
	}
	return c, nil
}

// chainer computes chains. The zero value is ready.
type chainer struct{ h hash.Hash }

// add takes the next frame of a stream into its chain.
func (c *chainer) add(chain *Chain, raw []byte, term Terminator) {
	if c.h == nil {
		c.h = sha256.New()
	}
	c.h.Reset()
	c.h.Write(chain.Hash[:])
	c.h.Write(raw)
	finish(c.h, chain, int64(len(raw)), term)
}

// finish ends a frame whose bytes h has seen after the chain's hash.
func finish(h hash.Hash, chain *Chain, size int64, term Terminator) {
	end := term.Bytes()
	h.Write([]byte(end))
	h.Sum(chain.Hash[:0])
	chain.Frames++
	chain.Bytes += size + int64(len(end))
}

// begin returns a hash that has seen the chain's hash, for a frame that comes
// in parts.
func (chain *Chain) begin() hash.Hash {
	h := sha256.New()
	h.Write(chain.Hash[:])
	return h
}

// saveHash and loadHash keep the state of an unfinished hash.
func saveHash(h hash.Hash) []byte {
	b, err := h.(encoding.BinaryMarshaler).MarshalBinary()
	if err != nil {
		panic("store: a SHA-256 state cannot be saved: " + err.Error())
	}
	return b
}

func loadHash(state []byte) (hash.Hash, error) {
	h := sha256.New()
	if err := h.(encoding.BinaryUnmarshaler).UnmarshalBinary(state); err != nil {
		return nil, err
	}
	return h, nil
}
