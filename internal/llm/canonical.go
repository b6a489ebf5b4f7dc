package llm

import (
	"crypto/sha256"
	"strconv"
	"strings"

	"agentrec/internal/dialect"
)

// key is the hash of a canonical form.
type key [sha256.Size]byte

// Tier says how a request was recognised.
type Tier int

// The tiers, from the strictest on. Each forgives what the ones before it do.
const (
	Exact      Tier = iota // equal but for spacing and the order of keys
	Volatile               // equal but for what the wire's table, or the user, calls volatile
	Normalised             // equal but for paths, times, ids and the order of parallel calls
)

var tierNames = [...]string{"exact", "volatile", "normalised"}

func (t Tier) String() string { return tierNames[t] }

// MarshalText writes a tier by its name.
func (t Tier) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// bigString is from where on a string without white space (an image in base64)
// stands in forms as its hash and is not normalised.
const bigString = 16 << 10

// form appends the canonical form of a value. It is no JSON: lengths stand
// before strings, so that nothing needs an escape and no two values have one
// form.
func (n *node) form(dst []byte) []byte {
	switch n.kind {
	case literal:
		return append(dst, n.text[0])
	case number:
		dst = append(dst, '#')
		dst = append(dst, n.text...)
		return append(dst, ';')
	case text:
		return counted(append(dst, '"'), n.text)
	case blob:
		return append(append(dst, 'H'), n.text...)
	case bytesText:
		return counted(append(dst, 'x'), n.text)
	case nested:
		return n.list[0].form(append(dst, 'j'))
	case array:
		dst = append(dst, '[')
		for i := range n.list {
			dst = n.list[i].form(dst)
		}
		return append(dst, ']')
	default:
		dst = append(dst, '{')
		for i := range n.list {
			dst = n.list[i].form(counted(dst, n.keys[i]))
		}
		return append(dst, '}')
	}
}

func counted(dst []byte, s string) []byte {
	dst = strconv.AppendInt(dst, int64(len(s)), 10)
	dst = append(dst, ':')
	return append(dst, s...)
}

func isBlob(s string) bool {
	return len(s) >= bigString && strings.IndexByte(s, ' ') < 0 && strings.IndexByte(s, '\n') < 0
}

func (n *node) sum() key { return sha256.Sum256(n.form(nil)) }

// without returns the value less what stands at the paths.
func (n *node) without(paths dialect.Paths) node {
	if paths.Empty() {
		return *n
	}
	return n.less(paths, make([]string, 0, 8))
}

func (n *node) less(paths dialect.Paths, place []string) node {
	if n.kind != object && n.kind != array {
		return *n
	}
	out := *n
	if n.kind == object {
		out.keys = make([]string, 0, len(n.keys))
	}
	out.list = make([]node, 0, len(n.list))
	for i := range n.list {
		k := ""
		if n.kind == object {
			k = n.keys[i]
		} else {
			k = strconv.Itoa(i)
		}
		here := append(place, k)
		if paths.Match(here) {
			continue
		}
		if n.kind == object {
			out.keys = append(out.keys, k)
		}
		out.list = append(out.list, n.list[i].less(paths, here))
	}
	return out
}
