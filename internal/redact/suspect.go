package redact

import "bytes"

// suspect reports whether the frame may hold a secret or a token. It is the
// hot path: one pass over the bytes, with those escapes of JSON decoded on the
// way that can hide a part of a word. It may say yes wrongly, never no.
func (e *engine) suspect(b []byte) bool {
	if e.grams != nil {
		if suspect, hidden := e.suspectPlain(b); !hidden {
			return suspect
		}
	}
	a := e.auto
	next, class, limit := a.next, &a.class, a.limit
	state, clean := uint32(0), 0 // clean: no escape from here on
	for i := 0; i < len(b); i++ {
		last := state
		state = next[state+uint32(class[b[i]])]
		if state < limit {
			continue
		}
		if state != a.escape {
			if e.mayBe(state, b, i+1, clean) {
				return true
			}
			continue
		}
		from := i
		for i < len(b) && b[i] == '\\' {
			i++
		}
		run := i - from
		if i == len(b) {
			break
		}
		if run > 1 && (e.deep || b[i] == '/' || b[i] == 'u') {
			return true
		}
		if run > 1 {
			last = 0
		}
		if run%2 == 0 {
			i--
			state, clean = 0, i+1
			continue
		}
		// b[i] is what the backslash escapes; in a text that is not JSON it
		// may as well be the first letter of something.
		if e.begins(b[i:]) {
			return true
		}
		var buf [4]byte
		out, n := unescape(buf[:0], b[i-1:])
		if n == 0 {
			state, clean = a.step(0, b[i]), i
			continue
		}
		state = last
		for _, c := range out {
			if state = a.step(state, c); state >= limit {
				return true
			}
		}
		i += n - 2
		clean = i + 1
	}
	return e.raw && e.suspectRaw(b)
}

// suspectRaw looks for known values that hold backslashes in a text whose
// backslashes are no escapes.
func (e *engine) suspectRaw(b []byte) bool {
	a := e.auto
	state := uint32(0)
	for i, c := range b {
		if state = a.step(state, c); state >= a.limit && state != a.escape && e.mayBe(state, b, i+1, 0) {
			return true
		}
	}
	return false
}

// begins reports whether a word may begin at the start of b.
func (e *engine) begins(b []byte) bool {
	a := e.auto
	state := uint32(0)
	for n := 0; n < 3 && n < len(b); n++ {
		if state = a.step(state, b[n]); a.depth[state/a.stride] != uint8(n+1) {
			return false
		}
		if state >= a.limit {
			return true
		}
	}
	return len(b) >= 3
}

// mayBe takes a first look at the words that end before end. clean is the
// index from which on b holds no escape.
func (e *engine) mayBe(state uint32, b []byte, end, clean int) bool {
	for _, id := range e.auto.at(state) {
		p := &e.patterns[id]
		if start := end - len(p.word); start < clean || e.look(p, b, start, end, clean) {
			return true
		}
	}
	return false
}

// look takes a first look at the word of p at [start,end).
func (e *engine) look(p *pattern, b []byte, start, end, clean int) bool {
	switch p.nature {
	case aShape:
		return p.shape.begins(b, start)
	case aKnown:
		from := max(start-p.known.anchor, 0)
		if from < clean || bytes.IndexByte(b[from:min(from+len(p.known.value), len(b))], '\\') >= 0 {
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
