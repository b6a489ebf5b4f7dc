package store

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

// A delta tells how a text is made of another one, its base: again and again a
// length and as many bytes of its own, then a length and a place of bytes that
// stand in the base, all numbers as uvarints. It may end after bytes of its own.

const (
	// deltaBlock is how many bytes must be equal to be found, if they begin at a
	// multiple of it in the base.
	deltaBlock = 32
	// deltaPrime multiplies the rolling hash; its power takes the oldest byte out.
	deltaPrime = 0x9E3779B97F4A7C15
)

// deltaPower is deltaPrime to the power of deltaBlock.
var deltaPower = func() uint64 {
	p := uint64(1)
	for range deltaBlock {
		p *= deltaPrime
	}
	return p
}()

func deltaHash(b []byte) uint64 {
	h := uint64(0)
	for _, c := range b[:deltaBlock] {
		h = h*deltaPrime + uint64(c) + 1
	}
	return h
}

// deltaIndex finds the blocks of a base by their hash.
type deltaIndex struct {
	places []uint32 // by the hash's upper bits, place / deltaBlock + 1
	shift  int
}

func newDeltaIndex(base []byte) deltaIndex {
	n := bits.Len(uint(len(base)/deltaBlock*2)) + 1
	x := deltaIndex{make([]uint32, 1<<n), 64 - n}
	for at := 0; at+deltaBlock <= len(base); at += deltaBlock {
		// The first of equal blocks stays: what follows it is more likely to be long.
		if p := &x.places[x.slot(deltaHash(base[at:]))]; *p == 0 {
			*p = uint32(at/deltaBlock) + 1
		}
	}
	return x
}

func (x deltaIndex) slot(h uint64) uint64 { return (h * 0xD6E8FEB86659FD93) >> x.shift }

// makeDelta returns the delta from base to b.
func makeDelta(base, b []byte) []byte {
	x := newDeltaIndex(base)
	var out []byte
	own := 0 // b[own:at] is not told yet
	copied := func(at, from, n int) {
		out = binary.AppendUvarint(out, uint64(at-own))
		out = append(out, b[own:at]...)
		out = binary.AppendUvarint(out, uint64(n))
		out = binary.AppendUvarint(out, uint64(from))
		own = at + n
	}
	n := sameStart(base, b)
	if n < deltaBlock {
		n = 0
	} else {
		copied(0, 0, n)
	}
	for at := n; at+deltaBlock <= len(b); {
		h := deltaHash(b[at:])
		for {
			if p := x.places[x.slot(h)]; p != 0 {
				from := int(p-1) * deltaBlock
				if string(base[from:from+deltaBlock]) == string(b[at:at+deltaBlock]) {
					back := sameEnd(base[:from], b[own:at])
					n := back + sameStart(base[from:], b[at:])
					copied(at-back, from-back, n)
					at = own
					break
				}
			}
			if at+deltaBlock >= len(b) {
				at = len(b)
				break
			}
			h = h*deltaPrime + uint64(b[at+deltaBlock]) + 1 - (uint64(b[at])+1)*deltaPower
			at++
		}
	}
	if own < len(b) {
		out = binary.AppendUvarint(out, uint64(len(b)-own))
		out = append(out, b[own:]...)
	}
	return out
}

// sameStart is how many bytes a and b begin with alike.
func sameStart(a, b []byte) int {
	n := min(len(a), len(b))
	i := 0
	for ; i+8 <= n; i += 8 {
		if d := binary.LittleEndian.Uint64(a[i:]) ^ binary.LittleEndian.Uint64(b[i:]); d != 0 {
			return i + bits.TrailingZeros64(d)/8
		}
	}
	for i < n && a[i] == b[i] {
		i++
	}
	return i
}

// sameEnd is how many bytes a and b end with alike.
func sameEnd(a, b []byte) int {
	n := min(len(a), len(b))
	i := 0
	for i < n && a[len(a)-1-i] == b[len(b)-1-i] {
		i++
	}
	return i
}

// applyDelta returns the text of size bytes that a delta makes of its base.
func applyDelta(base, delta []byte, size int64) ([]byte, error) {
	out := make([]byte, 0, size)
	bad := fmt.Errorf("%w: bad delta", errDamaged)
	number := func(most int) (int, bool) {
		n, k := binary.Uvarint(delta)
		if k <= 0 || n > uint64(most) {
			return 0, false
		}
		delta = delta[k:]
		return int(n), true
	}
	for len(delta) > 0 {
		n, ok := number(int(size) - len(out))
		if !ok || n > len(delta) {
			return nil, bad
		}
		out = append(out, delta[:n]...)
		if delta = delta[n:]; len(delta) == 0 {
			break
		}
		n, ok = number(int(size) - len(out))
		from, more := number(len(base))
		if !ok || !more || n > len(base)-from {
			return nil, bad
		}
		out = append(out, base[from:from+n]...)
	}
	if int64(len(out)) != size {
		return nil, bad
	}
	return out, nil
}
