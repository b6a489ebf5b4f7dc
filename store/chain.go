package store

import (
	"crypto/sha256"
	"encoding"
	"encoding/binary"
	"errors"
	"hash"
)

// chainSize is the length of the stored form of the chains of the streams.
// Behind them a session that has exchanges keeps the chain over those.
const (
	chainSize = Streams * oneChain
	oneChain  = 48
)

var errChains = errors.New("the stored proof is malformed")

// packChains is the stored form: per stream frames and bytes, big endian, and
// the hash.
func packChains(c [Streams]Chain) []byte {
	b := make([]byte, 0, chainSize)
	for i := range c {
		b = c[i].append(b)
	}
	return b
}

func (chain *Chain) append(b []byte) []byte {
	b = binary.BigEndian.AppendUint64(b, uint64(chain.Frames))
	b = binary.BigEndian.AppendUint64(b, uint64(chain.Bytes))
	return append(b, chain.Hash[:]...)
}

// packProof is packChains with the chain over the exchanges, if there are any.
func packProof(c [Streams]Chain, exchanges Chain) []byte {
	b := packChains(c)
	if exchanges.Frames > 0 {
		b = exchanges.append(b)
	}
	return b
}

func unpackProof(b []byte) (c [Streams]Chain, exchanges Chain, err error) {
	if len(b) == chainSize+oneChain {
		if exchanges, err = unpackChain(b[chainSize:]); err != nil || exchanges.Frames == 0 {
			return c, exchanges, errChains
		}
		b = b[:chainSize]
	}
	c, err = unpackChains(b)
	return c, exchanges, err
}

func unpackChains(b []byte) (c [Streams]Chain, err error) {
	if len(b) != chainSize {
		return c, errChains
	}
	for i := range c {
		if c[i], err = unpackChain(b[i*oneChain : (i+1)*oneChain]); err != nil {
			return c, err
		}
	}
	return c, nil
}

func unpackChain(b []byte) (c Chain, err error) {
	c.Frames = int64(binary.BigEndian.Uint64(b))
	c.Bytes = int64(binary.BigEndian.Uint64(b[8:]))
	copy(c.Hash[:], b[16:])
	if c.Frames < 0 || c.Bytes < 0 || c.Frames > maxSeq {
		return c, errChains
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

// link takes the next exchange into the chain over exchanges, by the hash of
// all of it and the length of its bodies.
func (chain *Chain) link(hash [32]byte, size int64) {
	both := append(chain.Hash[:], hash[:]...)
	chain.Hash = sha256.Sum256(both)
	chain.Frames++
	chain.Bytes += size
}
