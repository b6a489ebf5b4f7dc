package redact

import (
	"bytes"
	"sync"
)

// suspect reports whether the frame may hold a secret or a token. It is the
// hot path: one pass over the bytes, and one more for each level of escapes that
// can hide a part of a word. It may say yes wrongly, never no.
func (e *engine) suspect(b []byte) bool {
	suspect, hidden := e.plain(b)
	if suspect || !hidden {
		return suspect
	}
	s := scratches.Get().(*scratch)
	defer s.free()
	for range maxViews - 1 {
		s.next = appendDecoded(s.next[:0], b)
		if suspect, hidden = e.plain(s.next); suspect || !hidden {
			return suspect
		}
		b = s.next
		s.next, s.last = s.last, s.next
	}
	return false
}

// scratch is memory for decoded frames.
type scratch struct{ last, next []byte }

var scratches = sync.Pool{New: func() any { return &scratch{} }}

// free gives s back, unless a long frame made it large.
func (s *scratch) free() {
	if cap(s.last)+cap(s.next) <= 1<<20 {
		scratches.Put(s)
	}
}

// plain takes a first look at the words of a text. hidden says that it has an
// escape that can stand for a part of one.
func (e *engine) plain(b []byte) (suspect, hidden bool) {
	if e.grams != nil {
		return e.plainGrams(b)
	}
	a := e.auto
	state := uint32(0)
	for i, c := range b {
		if state = a.step(state, c); state < a.limit {
			continue
		}
		if state == a.escape {
			hidden = hidden || e.hides(b[i:])
			continue
		}
		for _, id := range a.at(state) {
			p := &e.patterns[id]
			if e.look(p, b, i+1-len(p.word), i+1) {
				return true, hidden
			}
		}
	}
	return false, hidden
}

// hides reports whether b begins with an escape that can stand for a byte of a
// word.
func (e *engine) hides(b []byte) bool {
	if len(b) < 2 || b[0] != '\\' {
		return false
	}
	switch b[1] {
	case '/':
		return true
	case '\\':
		return e.deep
	case 'u':
		return len(b) >= 4 && b[2] == '0' && b[3] == '0'
	}
	return false
}

// look takes a first look at the word of p at [start,end).
func (e *engine) look(p *pattern, b []byte, start, end int) bool {
	switch p.nature {
	case aShape:
		return p.shape.begins(b, start)
	case aKnown:
		from := max(start-p.known.anchor, 0)
		if bytes.IndexByte(b[from:min(from+len(p.known.value), len(b))], '\\') >= 0 {
			return true
		}
		_, _, ok := p.known.match(b, start)
		return ok
	case aName:
		return nameBegins(b, start, end)
	case aURL:
		return userinfoBegins(b, end)
	case aScheme:
		return end < len(b) && (bearer[b[end]] || b[end] == '\\')
	case aPEM:
		head := b[end:min(end+48, len(b))]
		return bytes.Contains(head, []byte("PRIVATE")) || bytes.IndexByte(head, '\\') >= 0
	}
	return true
}

// identBefore returns where the name that ends in the word at start begins.
func identBefore(b []byte, start int) int {
	for n := 0; start > 0 && n < 64 && dotted[b[start-1]]; n++ {
		start--
	}
	return start
}

// nameBegins reports whether the word at [start,end) may end the name of a
// secret with its value behind it.
func nameBegins(b []byte, start, end int) bool {
	i := end
	for i < len(b) && (b[i] == '\\' || b[i] == '"' || b[i] == '\'' || b[i] == '`') {
		if b[i] == '\\' && i+1 < len(b) && (b[i+1] == 'u' || b[i+1] == '/') {
			return true
		}
		i++
	}
	if i >= len(b) {
		return false
	}
	blanks := i
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == ']' || b[i] == '\n' || b[i] == '\r') {
		i++
	}
	behind := i < len(b) && (b[i] == ':' || b[i] == '=' || b[i] == ',' || b[i] == '}' && i > end || b[i] == '\\' && i > blanks)
	if !behind && b[end] != ' ' {
		return false
	}
	from := identBefore(b, start)
	if !behind && b[from] != '-' { // --token VALUE
		return false
	}
	if _, s := nameKind(b[from:end], isParameter(b, from)); s == nothing {
		if _, s := pluralKind(b[from:end]); s != nothing {
			return true
		}
		return from > 0 && b[from-1] == '\\' // its first letter may be an escape's
	}
	return true
}

func isParameter(b []byte, from int) bool {
	return from > 0 && (b[from-1] == '?' || b[from-1] == '&' || b[from-1] == ';') || from > 5 && string(b[from-5:from]) == "u0026"
}

// userinfoBegins reports whether the authority of a URL, which begins at i, may
// hold a user and a password.
func userinfoBegins(b []byte, i int) bool {
	for n := 0; i < len(b) && n < maxUserinfo; i, n = i+1, n+1 {
		switch c := b[i]; {
		case c == '@':
			return true
		case c == '\\':
			return i+1 < len(b) && (b[i+1] == 'u' || b[i+1] == '/')
		case !userinfoByte[c]:
			return false
		}
	}
	return false
}

// maxUserinfo bounds what may stand between "://" and "@".
const maxUserinfo = 512

// userinfoByte are the bytes of a user and a password in a URL (RFC 3986
// 3.2.1), and those that people leave unescaped.
var userinfoByte = classOf("0-9A-Za-z._~!$&*+=:%^#|-")
