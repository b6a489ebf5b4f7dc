package llm

import (
	"bytes"
	"crypto/sha256"
	"slices"
	"strings"
	"unicode/utf8"

	"agentrec/internal/dialect"
)

// node is a JSON value made for comparison: the members of an object stand in
// the order of their keys (equal keys in their recorded order), strings are
// decoded, numbers keep their text. Strings share memory with what was parsed.
type node struct {
	kind kind
	text string   // of a string what it says, of a number or literal how it is written
	keys []string // of an object, beside list
	list []node
	at   int32 // place in the array it stood in, before sorting
	from int32 // of a string: where its literal begins in what was parsed
	raw  *node // what was parsed, where text is not that
}

type kind uint8

const (
	literal kind = iota // true, false, null
	number
	text
	bytesText // a string that is not UTF-8: its bytes
	blob      // a long string without white space, such as an image in base64: its hash
	array
	object
	nested // a string that holds JSON: list[0] is the value
)

// parse returns the value of a body that is JSON.
func parse(raw []byte) (node, bool) {
	if !dialect.Valid(raw) {
		return node{}, false
	}
	p := parser{raw: raw}
	return p.value(), true
}

// parser reads text that dialect.Valid has judged, so it need not check and is
// as deep as that allows.
type parser struct {
	raw []byte
	i   int
}

func (p *parser) space() byte {
	for p.i < len(p.raw) {
		switch c := p.raw[p.i]; c {
		case ' ', '\n', '\r', '\t':
			p.i++
		default:
			return c
		}
	}
	return 0
}

func (p *parser) value() node {
	switch p.space() {
	case '{':
		return p.object()
	case '[':
		n := node{kind: array}
		for p.i++; p.space() != ']'; {
			one := p.value()
			one.at = int32(len(n.list))
			n.list = append(n.list, one)
			if p.space() == ',' {
				p.i++
			}
		}
		p.i++
		return n
	case '"':
		return p.string()
	}
	start := p.i
	for p.i < len(p.raw) && !strings.ContainsRune(" \n\r\t,]}", rune(p.raw[p.i])) {
		p.i++
	}
	n := node{kind: number, text: string(p.raw[start:p.i])}
	if c := n.text[0]; c == 't' || c == 'f' || c == 'n' {
		n.kind = literal
	}
	return n
}

func (p *parser) object() node {
	n := node{kind: object}
	sorted := true
	for p.i++; p.space() != '}'; {
		name := p.string()
		key := name.source().text
		if name.kind == bytesText {
			key = "\xff" + key // no other key begins so
		}
		p.space()
		p.i++ // the colon
		sorted = sorted && (len(n.keys) == 0 || n.keys[len(n.keys)-1] <= key)
		n.keys = append(n.keys, key)
		n.list = append(n.list, p.value())
		if p.space() == ',' {
			p.i++
		}
	}
	p.i++
	if !sorted {
		order := make([]int, len(n.keys))
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(a, b int) int { return strings.Compare(n.keys[a], n.keys[b]) })
		keys, list := make([]string, len(order)), make([]node, len(order))
		for to, from := range order {
			keys[to], list[to] = n.keys[from], n.list[from]
		}
		n.keys, n.list = keys, list
	}
	return n
}

func (p *parser) string() node {
	n := node{kind: text, from: int32(p.i)}
	p.i++
	start := p.i
	for {
		quote := bytes.IndexByte(p.raw[p.i:], '"')
		slash := bytes.IndexByte(p.raw[p.i:p.i+quote], '\\')
		if slash < 0 {
			p.i += quote
			break
		}
		p.i += slash + 2
	}
	in := p.raw[start:p.i]
	p.i++
	if !utf8.Valid(in) {
		n.kind = bytesText
	}
	in = dialect.Unescape(in) // keeps a lone surrogate apart from all other text
	n.text = string(in)
	if n.kind == text && isBlob(n.text) {
		sum := sha256.Sum256(in)
		return node{kind: blob, text: string(sum[:]), raw: &node{kind: text, text: n.text}}
	}
	return n
}

// member returns the first value of a key, nil when there is none.
func (n *node) member(key string) *node {
	if n == nil || n.kind != object {
		return nil
	}
	if i, ok := slices.BinarySearch(n.keys, key); ok {
		return &n.list[i]
	}
	return nil
}

// word returns the text of a string member, "" when it is none.
func (n *node) word(key string) string {
	if m := n.member(key); m != nil && m.kind == text {
		return m.text
	}
	return ""
}

// source returns what was parsed.
func (n *node) source() *node {
	if n.raw != nil {
		return n.raw
	}
	return n
}

// equal reports whether two values are the same.
func (n *node) equal(o *node) bool {
	if n.kind != o.kind || n.text != o.text || len(n.list) != len(o.list) || !slices.Equal(n.keys, o.keys) {
		return false
	}
	for i := range n.list {
		if !n.list[i].equal(&o.list[i]) {
			return false
		}
	}
	return true
}
