package transcript

import (
	"bytes"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"
)

// Needle is what must stand in a text for a search to find something there, as
// far as sequences of three bytes can tell; letters of ASCII count in either
// case. The zero Needle may be anywhere.
type Needle struct {
	grams  []uint16 // hashes of sequences that must all be there
	all    []Needle // all of these too
	either []Needle // and one of these, when there are any
}

// gramBits is how many different hashes there are, as a power of two.
const gramBits = 16

// gram is the hash of three bytes in lower case.
func gram(a, b, c byte) uint16 {
	return uint16((uint32(a)<<16 | uint32(b)<<8 | uint32(c)) * 0x9E3779B1 >> (32 - gramBits))
}

// small is ASCII in lower case.
var small = func() (t [256]byte) {
	for i := range t {
		t[i] = byte(i)
		if 'A' <= i && i <= 'Z' {
			t[i] += 'a' - 'A'
		}
	}
	return t
}()

// Anywhere reports whether the needle rules nothing out.
func (n Needle) Anywhere() bool { return len(n.grams)+len(n.all)+len(n.either) == 0 }

// NeedleOf returns the needle of texts of which one must be found as it stands,
// or in another case.
func NeedleOf(texts ...string) Needle {
	list := make([]Needle, len(texts))
	for i, s := range texts {
		list[i] = literal([]byte(s))
	}
	return oneOf(list)
}

// NeedleOfRegexp returns the needle of a regular expression.
func NeedleOfRegexp(re *regexp.Regexp) Needle {
	p, err := syntax.Parse(re.String(), syntax.Perl)
	if err != nil {
		return Needle{}
	}
	return needleOf(p.Simplify())
}

// Needle returns what must stand in a frame that the filter chooses.
func (f *Filter) Needle() Needle {
	if f == nil || f.root == nil {
		return Needle{}
	}
	return f.root.needle()
}

func (n *filterNode) needle() Needle {
	switch n.op {
	case opCond:
		c := n.cond
		switch {
		case c.field.of != ofPayload || c.field == jsonField:
			return Needle{}
		case c.op == opMatches:
			return NeedleOfRegexp(c.re)
		}
		return literal([]byte(c.text))
	case opNot:
		return Needle{}
	}
	list := make([]Needle, len(n.kids))
	for i, k := range n.kids {
		list[i] = k.needle()
	}
	if n.op == opOr {
		return oneOf(list)
	}
	return allOf(list)
}

func needleOf(p *syntax.Regexp) Needle {
	switch p.Op {
	case syntax.OpLiteral:
		return literalRunes(p.Rune, p.Flags&syntax.FoldCase != 0)
	case syntax.OpCapture, syntax.OpPlus:
		return needleOf(p.Sub[0])
	case syntax.OpConcat, syntax.OpAlternate:
		list := make([]Needle, len(p.Sub))
		for i, s := range p.Sub {
			list[i] = needleOf(s)
		}
		if p.Op == syntax.OpAlternate {
			return oneOf(list)
		}
		return allOf(list)
	}
	return Needle{}
}

// literalRunes is literal without what a regular expression also finds
// otherwise: in bytes that are no UTF-8, and, when case does not count, in
// letters whose other case is not ASCII's.
func literalRunes(runes []rune, fold bool) Needle {
	var parts []Needle
	for _, run := range runs(runes, fold) {
		parts = append(parts, literal(run))
	}
	return allOf(parts)
}

// runs cuts such a literal into what must stand there in these bytes, but for
// the case of ASCII.
func runs(runes []rune, fold bool) [][]byte {
	out := [][]byte{nil}
	for _, r := range runes {
		last := &out[len(out)-1]
		if r == utf8.RuneError || fold && (r >= utf8.RuneSelf || strings.ContainsRune("kKsS", r)) {
			if len(*last) > 0 {
				out = append(out, nil)
			}
			continue
		}
		*last = utf8.AppendRune(*last, r)
	}
	return out
}

// Word is a text that stands wherever a regular expression finds something: to
// look for it first is much faster where most texts do not have it. The zero
// Word stands everywhere.
type Word struct {
	text []byte // in lower case when fold is set
	fold bool
}

// WordOf returns the longest such text of a regular expression.
func WordOf(re *regexp.Regexp) Word {
	p, err := syntax.Parse(re.String(), syntax.Perl)
	if err != nil {
		return Word{}
	}
	return wordOf(p.Simplify())
}

func wordOf(p *syntax.Regexp) Word {
	var best Word
	switch p.Op {
	case syntax.OpLiteral:
		fold := p.Flags&syntax.FoldCase != 0
		for _, run := range runs(p.Rune, fold) {
			if len(run) > len(best.text) {
				best = Word{run, fold}
			}
		}
		if fold {
			best.text = Lowered(nil, best.text)
		}
	case syntax.OpCapture, syntax.OpPlus:
		return wordOf(p.Sub[0])
	case syntax.OpConcat:
		for _, s := range p.Sub {
			if w := wordOf(s); len(w.text) > len(best.text) {
				best = w
			}
		}
	}
	return best
}

// In reports whether the word stands in b. room is memory for a copy of b.
func (w Word) In(b []byte, room *[]byte) bool {
	if w.fold {
		*room = Lowered((*room)[:0], b)
		b = *room
	}
	return bytes.Contains(b, w.text)
}

// Lowered appends b with ASCII in lower case: places in it are places in b.
func Lowered(to, b []byte) []byte {
	for _, c := range b {
		to = append(to, small[c])
	}
	return to
}

func literal(b []byte) Needle {
	var n Needle
	for i := 2; i < len(b); i++ {
		n.grams = append(n.grams, gram(small[b[i-2]], small[b[i-1]], small[b[i]]))
	}
	slices.Sort(n.grams)
	n.grams = slices.Compact(n.grams)
	return n
}

func allOf(list []Needle) Needle {
	list = slices.DeleteFunc(list, Needle.Anywhere)
	if len(list) == 1 {
		return list[0]
	}
	return Needle{all: list}
}

func oneOf(list []Needle) Needle {
	if len(list) == 0 || slices.ContainsFunc(list, Needle.Anywhere) {
		return Needle{}
	}
	if len(list) == 1 {
		return list[0]
	}
	return Needle{either: list}
}

// grams notes which sequences of three bytes a text holds.
type grams [1 << gramBits / 8]byte

// add notes those of b.
func (g *grams) add(b []byte) {
	if len(b) < 3 {
		return
	}
	x := uint32(small[b[0]])<<8 | uint32(small[b[1]])
	for _, c := range b[2:] {
		x = (x<<8 | uint32(small[c])) & 0xFFFFFF
		h := x * 0x9E3779B1 >> (32 - gramBits)
		g[h>>3] |= 1 << (h & 7)
	}
}

func (g *grams) has(h uint16) bool { return g[h>>3]>>(h&7)&1 == 1 }

// may reports whether the needle may be in the text.
func (n Needle) may(g *grams) bool {
	for _, h := range n.grams {
		if !g.has(h) {
			return false
		}
	}
	for _, k := range n.all {
		if !k.may(g) {
			return false
		}
	}
	return len(n.either) == 0 || slices.ContainsFunc(n.either, func(k Needle) bool { return k.may(g) })
}
