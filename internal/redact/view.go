package redact

import (
	"bytes"
	"sort"
	"unicode/utf8"
)

// maxViews bounds how often a frame is decoded: JSON in a string in JSON, and
// so on. Every level doubles the backslashes, so real frames stop at three.
const maxViews = 8

// view is a text, and where its bytes come from: the frame itself, or another
// view with the escapes of JSON decoded wherever they stand. What is no escape
// stays, so any text has views.
type view struct {
	text   []byte
	parent *view    // nil for the frame
	breaks []escape // in order
}

// escape is one decoded escape. It is small because a frame can be made of
// nothing else; frames are shorter than 2 GiB.
type escape struct {
	at, from int32 // in the view, in the parent
	len, was uint8 // bytes in the view, in the parent
}

func (e *escape) end() int { return int(e.at) + int(e.len) }
func (e *escape) cut() int { return int(e.from) + int(e.was) }

// decodeView returns the next view, nil when v has nothing to decode.
func decodeView(v *view) *view {
	i := bytes.IndexByte(v.text, '\\')
	if i < 0 {
		return nil
	}
	d := &view{parent: v, text: make([]byte, 0, len(v.text))}
	last := 0
	for i < len(v.text) {
		var buf [4]byte
		out, n := unescape(buf[:0], v.text[i:])
		if n > 0 {
			d.text = append(d.text, v.text[last:i]...)
			d.breaks = append(d.breaks, escape{int32(len(d.text)), int32(i), uint8(len(out)), uint8(n)})
			d.text = append(d.text, out...)
			i += n
			last = i
		} else {
			i++
		}
		next := bytes.IndexByte(v.text[i:], '\\')
		if next < 0 {
			break
		}
		i += next
	}
	if d.breaks == nil {
		return nil
	}
	d.text = append(d.text, v.text[last:]...)
	return d
}

// appendDecoded appends t with its escapes decoded.
func appendDecoded(dst, t []byte) []byte {
	for {
		i := bytes.IndexByte(t, '\\')
		if i < 0 {
			return append(dst, t...)
		}
		dst = append(dst, t[:i]...)
		n := 0
		if dst, n = unescape(dst, t[i:]); n == 0 {
			dst, n = append(dst, '\\'), 1
		}
		t = t[i+n:]
	}
}

// unescape appends what the escape at the start of t stands for and returns
// its length, 0 when it is none. A lone surrogate keeps its number, in the
// three bytes that UTF-8 would give it, so that different ones stay different.
func unescape(dst, t []byte) ([]byte, int) {
	if len(t) < 2 {
		return dst, 0
	}
	switch c := t[1]; c {
	case '"', '\\', '/':
		return append(dst, c), 2
	case 'b':
		return append(dst, '\b'), 2
	case 'f':
		return append(dst, '\f'), 2
	case 'n':
		return append(dst, '\n'), 2
	case 'r':
		return append(dst, '\r'), 2
	case 't':
		return append(dst, '\t'), 2
	case 'u':
		r, ok := hex4(t)
		if !ok {
			return dst, 0
		}
		if low, ok := hex4(t[6:]); ok && 0xd800 <= r && r < 0xdc00 && 0xdc00 <= low && low < 0xe000 {
			return utf8.AppendRune(dst, (r-0xd800)<<10|(low-0xdc00)+0x10000), 12
		}
		if 0xd800 <= r && r < 0xe000 {
			return append(dst, 0xe0|byte(r>>12), 0x80|byte(r>>6)&0x3f, 0x80|byte(r)&0x3f), 6
		}
		return utf8.AppendRune(dst, r), 6
	}
	return dst, 0
}

func hex4(t []byte) (rune, bool) {
	if len(t) < 6 || t[0] != '\\' || t[1] != 'u' {
		return 0, false
	}
	var n rune
	for _, c := range t[2:6] {
		switch {
		case isDigit(c):
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		n = n<<4 | rune(c)
	}
	return n, true
}

// before returns the last escape that begins at or before pos, nil for none.
func (v *view) before(pos int) *escape {
	n := sort.Search(len(v.breaks), func(i int) bool { return int(v.breaks[i].at) > pos })
	if n == 0 {
		return nil
	}
	return &v.breaks[n-1]
}

// escaped reports whether the byte at pos was an escape in the parent.
func (v *view) escaped(pos int) bool {
	e := v.before(pos)
	return e != nil && pos < e.end()
}

// down returns the span of the parent that [start,end) was decoded from, in
// whole escapes.
func (v *view) down(start, end int) (int, int) {
	return v.from(start), v.to(end)
}

func (v *view) from(pos int) int {
	e := v.before(pos)
	switch {
	case e == nil:
		return pos
	case pos < e.end():
		return int(e.from)
	}
	return e.cut() + pos - e.end()
}

func (v *view) to(pos int) int {
	if pos == 0 {
		return 0
	}
	e := v.before(pos - 1)
	switch {
	case e == nil:
		return pos
	case pos-1 < e.end():
		return e.cut()
	}
	return e.cut() + pos - e.end()
}

// source returns the span of the frame.
func (v *view) source(start, end int) (int, int) {
	for ; v.parent != nil; v = v.parent {
		start, end = v.down(start, end)
	}
	return start, end
}

// level is how often the frame was decoded to get v.
func (v *view) level() int {
	n := 0
	for ; v.parent != nil; v = v.parent {
		n++
	}
	return n
}

// deeper reports whether decoding v again could bring something to light: an
// escape that can split a key (\u0041, \/), or any when all says so.
func (v *view) deeper(all bool) bool {
	for t := v.text; ; {
		i := bytes.IndexByte(t, '\\')
		if i < 0 || i+1 >= len(t) {
			return false
		}
		if all || t[i+1] == '/' || t[i+1] == '\\' || t[i+1] == 'u' {
			return true
		}
		t = t[i+2:]
	}
}

// decodeTimes decodes t n times.
func decodeTimes(t []byte, n int) []byte {
	for ; n > 0 && bytes.IndexByte(t, '\\') >= 0; n-- {
		v := decodeView(&view{text: t})
		if v == nil {
			break
		}
		t = v.text
	}
	return t
}
