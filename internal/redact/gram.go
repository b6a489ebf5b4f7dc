package redact

import "encoding/binary"

// grams finds where words may begin by their first three bytes, six places at
// a time and without one step waiting for the other, which the automaton's
// steps do: twice to four times as fast on text. It finds escapes that can hide
// a part of a word the same way.
type grams struct {
	bucket [1 << gramBits]uint8 // hash of three bytes to 1 + index into lists
	lists  [][]int              // words that begin so, or -1 for an escape
}

const (
	gramBits  = 14
	gramCase  = 0x2020202020202020 // folds letters, and makes some others alike
	gramPrime = 0x9e3779b1         // 2^32 by the golden ratio: spreads well
)

// gramHash takes three bytes in the low end of w.
func gramHash(w uint64) uint32 { return uint32(w) << 8 * gramPrime >> (32 - gramBits) }

// newGrams returns nil when a word is too short for it, or when there are too
// many. deep says that a backslash in a string counts as hiding something.
func newGrams(words []string, deep bool) *grams {
	g := &grams{}
	full := false
	add := func(a, b, c byte, id int) {
		h := gramHash(uint64(a) | uint64(b)<<8 | uint64(c)<<16 | gramCase)
		if g.bucket[h] == 0 {
			if len(g.lists) == 255 {
				full = true
				return
			}
			g.lists = append(g.lists, nil)
			g.bucket[h] = uint8(len(g.lists))
		}
		g.lists[g.bucket[h]-1] = append(g.lists[g.bucket[h]-1], id)
	}
	for id, w := range words {
		if len(w) < 3 {
			return nil
		}
		add(w[0], w[1], w[2], id)
	}
	// All escapes share the list of the first.
	add('\\', 'u', '0', -1)
	escapes := g.bucket[gramHash('\\'|'u'<<8|'0'<<16|gramCase)]
	for _, second := range []byte{'/', '\\'} {
		if second == '\\' && !deep {
			continue
		}
		for third := range 256 {
			h := gramHash(uint64('\\') | uint64(second)<<8 | uint64(third)<<16 | gramCase)
			switch at := g.bucket[h]; at {
			case 0:
				g.bucket[h] = escapes
			case escapes:
			default:
				if last := g.lists[at-1]; last[len(last)-1] != -1 {
					g.lists[at-1] = append(last, -1)
				}
			}
		}
	}
	if full {
		return nil
	}
	return g
}

// plainGrams is plain by grams.
func (e *engine) plainGrams(b []byte) (suspect, hidden bool) {
	t := &e.grams.bucket
	i := 0
	for ; i+8 <= len(b); i += 6 {
		w := binary.LittleEndian.Uint64(b[i:]) | gramCase
		if t[gramHash(w)]|t[gramHash(w>>8)]|t[gramHash(w>>16)]|t[gramHash(w>>24)]|t[gramHash(w>>32)]|t[gramHash(w>>40)] == 0 {
			continue
		}
		for n := range 6 {
			if at := t[gramHash(w>>(8*n))]; at != 0 && e.wordsAt(b, i+n, e.grams.lists[at-1], &hidden) {
				return true, hidden
			}
		}
	}
	for ; i+2 <= len(b); i++ {
		third := byte(0)
		if i+2 < len(b) {
			third = b[i+2]
		}
		w := uint64(b[i]) | uint64(b[i+1])<<8 | uint64(third)<<16 | gramCase
		if at := t[gramHash(w)]; at != 0 && e.wordsAt(b, i, e.grams.lists[at-1], &hidden) {
			return true, hidden
		}
	}
	return false, hidden
}

// wordsAt takes a first look at the words of list that begin at start, and sets
// hidden when an escape that can hide one begins there.
func (e *engine) wordsAt(b []byte, start int, list []int, hidden *bool) bool {
next:
	for _, id := range list {
		if id < 0 {
			*hidden = *hidden || e.hides(b[start:])
			continue
		}
		p := &e.patterns[id]
		if len(b)-start < len(p.word) {
			continue
		}
		for i, c := range b[start : start+len(p.word)] {
			if fold(c) != p.word[i] {
				continue next
			}
		}
		if e.look(p, b, start, start+len(p.word)) {
			return true
		}
	}
	return false
}
