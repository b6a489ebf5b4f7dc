package dialect

import (
	"encoding/binary"
	"strconv"
	"unicode/utf8"
	"unsafe"
)

// MaxDepth is how deep a frame may nest and still count as JSON. It is the
// bound of encoding/json, so both judge alike.
const MaxDepth = 10000

// Valid reports whether raw is one JSON value nested at most MaxDepth deep,
// with white space around it at most. It is the only judge of that in this
// project: it never overflows the stack. As in encoding/json, a string may hold
// bytes that are not UTF-8.
func Valid(raw []byte) bool {
	end := skip(raw, space(raw, 0), 0)
	return end >= 0 && space(raw, end) == len(raw)
}

// space returns the index of the first byte from i on that is not white space.
func space(raw []byte, i int) int {
	for i < len(raw) && (raw[i] == ' ' || raw[i] == '\n' || raw[i] == '\r' || raw[i] == '\t') {
		i++
	}
	return i
}

// nesting remembers of every open container whether it is an object. The first
// 64 levels need no allocation.
type nesting struct {
	depth int
	near  uint64
	deep  []uint64
}

func (n *nesting) push(object bool) {
	bit := uint64(0)
	if object {
		bit = 1
	}
	if n.depth < 64 {
		n.near = n.near&^(1<<n.depth) | bit<<n.depth
	} else {
		word, at := (n.depth-64)/64, (n.depth-64)%64
		if word == len(n.deep) {
			n.deep = append(n.deep, 0)
		}
		n.deep[word] = n.deep[word]&^(1<<at) | bit<<at
	}
	n.depth++
}

func (n *nesting) object() bool {
	top := n.depth - 1
	if top < 64 {
		return n.near>>top&1 == 1
	}
	return n.deep[(top-64)/64]>>((top-64)%64)&1 == 1
}

// skip returns the index after the JSON value that begins at i, -1 when there
// is none. depth is how many containers are open around it.
func skip(raw []byte, i, depth int) int {
	var open nesting
value:
	if i = space(raw, i); i >= len(raw) {
		return -1
	}
	switch c := raw[i]; c {
	case '"':
		if i = stringEnd(raw, i); i < 0 {
			return -1
		}
	case '{', '[':
		if depth+open.depth >= MaxDepth {
			return -1
		}
		open.push(c == '{')
		i = space(raw, i+1)
		if i < len(raw) && raw[i] == c+2 { // '{'+2 is '}', '['+2 is ']'
			i++
			open.depth--
			break
		}
		if c == '{' {
			goto key
		}
		goto value
	default:
		if i = scalarEnd(raw, i); i < 0 {
			return -1
		}
	}
after:
	if open.depth == 0 {
		return i
	}
	if i = space(raw, i); i >= len(raw) {
		return -1
	}
	switch raw[i] {
	case ',':
		i++
		if open.object() {
			goto key
		}
		goto value
	case '}':
		if !open.object() {
			return -1
		}
	case ']':
		if open.object() {
			return -1
		}
	default:
		return -1
	}
	i++
	open.depth--
	goto after
key:
	if i = space(raw, i); i >= len(raw) || raw[i] != '"' {
		return -1
	}
	if i = stringEnd(raw, i); i < 0 {
		return -1
	}
	if i = space(raw, i); i >= len(raw) || raw[i] != ':' {
		return -1
	}
	i++
	goto value
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// stringEnd returns the index after the string that begins at the quote at i,
// -1 when it does not end or holds a control character or a bad escape.
func stringEnd(raw []byte, i int) int {
	for i++; ; {
		for i+8 <= len(raw) { // eight bytes at a time while none is special
			w := binary.LittleEndian.Uint64(raw[i:])
			quote, slash := w^(ones*'"'), w^(ones*'\\')
			if ((w-ones*0x20)&^w|(quote-ones)&^quote|(slash-ones)&^slash)&highs != 0 {
				break
			}
			i += 8
		}
		for n := 0; ; n++ {
			if i >= len(raw) {
				return -1
			}
			c := raw[i]
			if c == '"' {
				return i + 1
			}
			if c == '\\' {
				if i = escapeEnd(raw, i); i < 0 {
					return -1
				}
				break
			}
			if c < 0x20 {
				return -1
			}
			if i++; n == 7 {
				break
			}
		}
	}
}

func escapeEnd(raw []byte, i int) int {
	if i+1 >= len(raw) {
		return -1
	}
	switch raw[i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 2
	case 'u':
		if i+6 > len(raw) {
			return -1
		}
		for _, c := range raw[i+2 : i+6] {
			if !('0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F') {
				return -1
			}
		}
		return i + 6
	}
	return -1
}

// scalarEnd returns the index after the number or literal at i, -1 when there
// is none.
func scalarEnd(raw []byte, i int) int {
	switch raw[i] {
	case 't':
		return wordEnd(raw, i, "true")
	case 'f':
		return wordEnd(raw, i, "false")
	case 'n':
		return wordEnd(raw, i, "null")
	case '-':
		i++
	}
	switch {
	case i >= len(raw):
		return -1
	case raw[i] == '0':
		i++
	default:
		if i = digitsEnd(raw, i); i < 0 {
			return -1
		}
	}
	if i < len(raw) && raw[i] == '.' {
		if i = digitsEnd(raw, i+1); i < 0 {
			return -1
		}
	}
	if i < len(raw) && (raw[i] == 'e' || raw[i] == 'E') {
		i++
		if i < len(raw) && (raw[i] == '+' || raw[i] == '-') {
			i++
		}
		return digitsEnd(raw, i)
	}
	return i
}

func wordEnd(raw []byte, i int, word string) int {
	if len(raw)-i < len(word) || string(raw[i:i+len(word)]) != word {
		return -1
	}
	return i + len(word)
}

func digitsEnd(raw []byte, i int) int {
	start := i
	for i < len(raw) && '0' <= raw[i] && raw[i] <= '9' {
		i++
	}
	if i == start {
		return -1
	}
	return i
}

// share returns b as a string that shares its memory.
func share(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	return unsafe.String(&b[0], len(b))
}

// decode returns the value of the JSON string token t (with its quotes). It
// shares memory with t when t has no escape. A lone surrogate becomes U+FFFD;
// bytes that are not UTF-8 stay.
func decode(t []byte) string {
	if len(t) < 2 {
		return ""
	}
	t = t[1 : len(t)-1]
	at := -1
	for i, c := range t {
		if c == '\\' {
			at = i
			break
		}
	}
	if at < 0 {
		return share(t)
	}
	out := make([]byte, 0, len(t))
	out = append(out, t[:at]...)
	for i := at; i < len(t); {
		c := t[i]
		if c != '\\' || i+1 >= len(t) {
			out = append(out, c)
			i++
			continue
		}
		switch c = t[i+1]; c {
		case 'b':
			c = '\b'
		case 'f':
			c = '\f'
		case 'n':
			c = '\n'
		case 'r':
			c = '\r'
		case 't':
			c = '\t'
		case 'u':
			r, n := codepoint(t[i:])
			out = utf8.AppendRune(out, r)
			i += n
			continue
		}
		out = append(out, c)
		i += 2
	}
	return share(out)
}

// codepoint reads the \u escape at the start of t, with its second half when
// it is a surrogate pair, and returns how many bytes it took.
func codepoint(t []byte) (rune, int) {
	r, ok := hex4(t)
	if !ok {
		return utf8.RuneError, 2
	}
	if r < 0xd800 || r > 0xdfff {
		return r, 6
	}
	if low, ok := hex4(t[6:]); ok && r < 0xdc00 && low >= 0xdc00 && low <= 0xdfff {
		return (r-0xd800)<<10 | (low - 0xdc00) + 0x10000, 12
	}
	return utf8.RuneError, 6
}

func hex4(t []byte) (rune, bool) {
	if len(t) < 6 || t[0] != '\\' || t[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(share(t[2:6]), 16, 32)
	return rune(n), err == nil
}
