package transcript

import (
	"math/big"
	"strings"

	"agentrec/internal/dialect"
)

// tree is a JSON text as a flat list of its values in the order in which they
// begin. It is only built from text that dialect.Valid accepts.
type tree struct {
	raw   []byte
	nodes []node
	sums  []uint64 // content hashes by node, made when first asked for
}

// node is one value. Its children, if any, follow it.
type node struct {
	start, end int32 // the value is raw[start:end]
	key        int32 // in an object: where the key's opening quote stands, else -1
	keyEnd     int32 // after its closing quote
	next       int32 // the node after this value and all it holds
	size       int32 // number of children
}

// parse builds the tree of valid JSON text without recursion.
func parse(raw []byte) *tree {
	t := &tree{raw: raw, nodes: make([]node, 0, 16+len(raw)/24)}
	var open []int32
	key, keyEnd := int32(-1), int32(-1)
	for i := 0; i < len(raw); {
		switch c := raw[i]; c {
		case ' ', '\t', '\n', '\r', ',', ':':
			i++
		case '}', ']':
			i++
			top := open[len(open)-1]
			open = open[:len(open)-1]
			t.nodes[top].end, t.nodes[top].next = int32(i), int32(len(t.nodes))
		default:
			end := scalarEnd(raw, i)
			if c == '"' && key < 0 && len(open) > 0 && raw[t.nodes[open[len(open)-1]].start] == '{' {
				key, keyEnd = int32(i), int32(end)
				i = end
				continue
			}
			if len(open) > 0 {
				t.nodes[open[len(open)-1]].size++
			}
			self := int32(len(t.nodes))
			t.nodes = append(t.nodes, node{start: int32(i), end: int32(end), key: key, keyEnd: keyEnd, next: self + 1})
			key, keyEnd = -1, -1
			if c == '{' || c == '[' {
				open = append(open, self)
				end = i + 1
			}
			i = end
		}
	}
	return t
}

// scalarEnd returns where the string, number or word that begins at i ends.
func scalarEnd(raw []byte, i int) int {
	if raw[i] != '"' {
		for i++; i < len(raw); i++ {
			switch raw[i] {
			case ' ', '\t', '\n', '\r', ',', ':', '}', ']':
				return i
			}
		}
		return i
	}
	for i++; i < len(raw); i++ {
		switch raw[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(raw)
}

func (t *tree) text(n int32) []byte { return t.raw[t.nodes[n].start:t.nodes[n].end] }

func (t *tree) kind(n int32) byte {
	switch c := t.raw[t.nodes[n].start]; c {
	case '{', '[', '"', 't', 'f', 'n':
		return c
	}
	return '0'
}

// name returns the decoded key of a member of an object.
func (t *tree) name(n int32) string {
	return Unquote(t.raw[t.nodes[n].key:t.nodes[n].keyEnd])
}

// sum returns a hash of a value's content: equal for values that compare equal.
// It only serves to find which elements of two arrays belong together.
func (t *tree) sum(n int32) uint64 {
	if t.sums == nil {
		t.sums = make([]uint64, len(t.nodes))
		for i := int32(len(t.nodes)) - 1; i >= 0; i-- {
			t.sums[i] = t.hash(i)
		}
	}
	return t.sums[n]
}

func (t *tree) hash(n int32) uint64 {
	const prime = 1099511628211
	h := uint64(14695981039346656037) ^ uint64(t.kind(n))
	word := func(s string) uint64 {
		w := uint64(14695981039346656037)
		for i := range len(s) {
			w = (w ^ uint64(s[i])) * prime
		}
		return w
	}
	switch t.kind(n) {
	case '{':
		for c := n + 1; c < t.nodes[n].next; c = t.nodes[c].next {
			h += word(t.name(c)) * (t.sums[c] | 1)
		}
	case '[':
		for c := n + 1; c < t.nodes[n].next; c = t.nodes[c].next {
			h = (h ^ t.sums[c]) * prime
		}
	case '"':
		h ^= word(Unquote(t.text(n)))
	case '0':
		h ^= word(canonical(string(t.text(n))))
	}
	return h * prime
}

// Unquote returns the text of a JSON string literal, as dialect.Unescape has it.
func Unquote(literal []byte) string {
	if len(literal) < 2 {
		return ""
	}
	return string(dialect.Unescape(literal[1 : len(literal)-1]))
}

// canonical writes a JSON number so that equal values give equal text: sign,
// digits without zeros at either end, "e", exponent.
func canonical(number string) string {
	sign := ""
	if strings.HasPrefix(number, "-") {
		sign, number = "-", number[1:]
	}
	mantissa, exponent := number, "0"
	if i := strings.IndexAny(number, "eE"); i >= 0 {
		mantissa, exponent = number[:i], strings.TrimPrefix(number[i+1:], "+")
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	if digits == "" {
		return "0"
	}
	short := strings.TrimRight(digits, "0")
	exp, ok := new(big.Int).SetString(exponent, 10)
	if !ok {
		return sign + number
	}
	exp.Add(exp, big.NewInt(int64(len(digits)-len(short)-len(fraction))))
	return sign + short + "e" + exp.String()
}
