package redact

import (
	"bytes"
	"math/bits"
)

// named notes the value beside the name that ends in the word at [start,end) of
// v, when it is the name of a secret. quotedOnly leaves names without quotes
// alone.
func (s *search) named(v *view, start, end int, quotedOnly bool) {
	text := v.text
	if end < len(text) && dotted[text[end]] && text[end] != '.' {
		return
	}
	from := identBefore(text, start)
	if from > 0 && text[from-1] == '\\' && from < start && edge(text, from+1, word) {
		from++ // the first letter is an escape's
	}
	kind, how := nameKind(text[from:end], isParameter(text, from))
	several := false
	if how == nothing {
		if kind, how = pluralKind(text[from:end]); how == nothing {
			return
		}
		several = true
	}
	i := end
	q := quoteAt(text, i)
	if q.char == 0 && quotedOnly {
		return
	}
	before := text[max(from-1, 0)]
	whole := from > 0 && before == q.char
	listed := from > 0 && from < len(text) && text[from] == '-' && (whole || q.char == 0 && quoteAt(text, from-1).char != 0)
	if q.char != 0 {
		// The value ends at a quote like this one. That is told apart from a
		// quote inside the value where both stand undecoded.
		for v.parent != nil {
			a, b := v.down(i, i+q.len)
			if b-a != q.len || v.escaped(i) {
				break
			}
			if n := quoteAt(v.parent.text, a); n != q {
				break
			}
			v, i = v.parent, a
		}
		text = v.text
		i += q.len
		begin := i - q.len - (end - from)
		if j := blank(text, i); several && (j >= len(text) || text[j] != ':') {
			return
		}
		if j := blank(text, i); j < len(text) && begin >= 0 && (text[j] == '}' || text[j] == ',') && v.parent == nil {
			s.pairBefore(v, begin, rule{kind: kind, how: how, name: q})
		}
	}
	flag := q.char == 0 && bytes.HasPrefix(text[from:end], []byte("--"))
	s.value(v, i, rule{kind: kind, how: how, name: q, flag: flag, several: several, whole: whole, listed: listed, edge: before,
		variable: q.char == 0 && upperCase(text, from, end)})
}

// rule is what is known about a value before it is looked at.
type rule struct {
	kind     string
	how      strength
	name     quote
	flag     bool // --name VALUE
	listed   bool // "--name" in a list of arguments
	edge     byte // the quote before it
	joined   bool // "--name=VALUE" there
	variable bool // NAME=VALUE, in capitals
	whole    bool // nothing stands before the name in its quotes
	several  bool // the name is a plural: the value is a list or an object
}

func upperCase(text []byte, from, end int) bool {
	if from > end {
		return false
	}
	for _, c := range text[from:end] {
		if 'a' <= c && c <= 'z' {
			return false
		}
	}
	return true
}

// quote is a quotation mark with the backslashes before it.
type quote struct {
	char    byte
	escapes int
	len     int
}

func quoteAt(text []byte, i int) quote {
	from := i
	for i < len(text) && text[i] == '\\' && i-from < 256 {
		i++
	}
	if i < len(text) && (text[i] == '"' || text[i] == '\'' || text[i] == '`') {
		return quote{text[i], i - from, i + 1 - from}
	}
	return quote{}
}

// blank skips white space, also that which stands escaped.
func blank(text []byte, i int) int {
	for i < len(text) {
		switch c := text[i]; {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			i++
			continue
		case c == '\\':
			j := i
			for j < len(text) && text[j] == '\\' {
				j++
			}
			if j < len(text) && (text[j] == 'n' || text[j] == 't' || text[j] == 'r') {
				i = j + 1
				continue
			}
		}
		break
	}
	return i
}

// value looks at what stands behind a name that ends at i.
func (s *search) value(v *view, i int, w rule) {
	text := v.text
	named := i
	if i < len(text) && text[i] == ']' { // environ["KEY"] = "..."
		i++
	}
	if w.name.char != 0 {
		i = blank(text, i)
	} else {
		for i < len(text) && (text[i] == ' ' || text[i] == '\t') {
			i++
		}
	}
	switch {
	case i >= len(text):
		return
	case text[i] == ':' || text[i] == '=':
		tight := text[i] == '=' && i == named
		w.joined = tight && w.listed && w.how == strong
		i++
		if i < len(text) && (text[i] == '=' || text[i] == '>') {
			if text[i] == '=' {
				w.how = weak // a comparison
			}
			i++
		}
		if tight {
			w.variable = w.variable && i < len(text)
		} else if w.variable && text[i-1] != ':' {
			w.variable = false
		}
	case w.flag && i > named:
	case text[i] == ',' && w.name.char != 0:
		if i = s.pairValue(text, i+1, &w); i < 0 {
			return
		}
	default:
		return
	}
	if w.name.char != 0 {
		i = blank(text, i)
	} else {
		for i < len(text) && (text[i] == ' ' || text[i] == '\t') {
			i++
		}
	}
	if i < len(text) && w.name.char == '"' && w.whole && (text[i] == '{' || text[i] == '[' && quoteAt(text, blank(text, i+1)).char == 0) {
		s.inside(v, i, w)
		return
	}
	if i < len(text) && text[i] == '[' && w.name.char != 0 { // headers as lists
		for i++; i >= 0; {
			i = s.quoted(v, blank(text, i), w)
			if i < 0 || i >= len(text) {
				return
			}
			if i = blank(text, i); i >= len(text) || text[i] != ',' {
				return
			}
			i++
		}
	}
	if w.several || s.quoted(v, i, w) >= 0 {
		return
	}
	if w.name.char != 0 && w.name.char != '`' {
		s.number(v, i, w)
		return
	}
	s.bare(v, i, w)
}

// quoted looks at a value in quotes at i and returns the index behind it, -1
// when there is none.
func (s *search) quoted(v *view, i int, w rule) int {
	q := quoteAt(v.text, i)
	if q.char == 0 || w.name.char == q.char && w.name.escapes != q.escapes {
		return -1
	}
	from := i + q.len
	end, next := s.closing(v, from, q)
	s.secret(v, from, end, w, q)
	return next
}

// closing returns the end of a value in quotes and the index behind its
// closing quote. JSON quotes a string k strings deep with 2^k-1 backslashes, so
// the backslashes before a quote tell which string it ends. A value without a
// closing quote ends with the text around it.
func (s *search) closing(v *view, i int, q quote) (end, next int) {
	text := v.text
	unit := q.escapes + 1
	exact := q.char == '"' && unit&(unit-1) == 0
	run := 0
	for ; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\':
			run++
			continue
		case c == '"' && exact:
			if run%unit != unit-1 {
				return i - run, i - run // a string around ends first
			}
			if run%(2*unit) == unit-1 {
				return i - q.escapes, i + 1
			}
		case c == q.char && (run <= q.escapes || run%2 == 0):
			return i - min(run, q.escapes), i + 1
		case c == '"' && (v.parent == nil && run%2 == 0 || v.parent != nil && !v.escaped(i)):
			return i - run, i - run
		case c == '\n' && !exact:
			return i, i
		}
		run = 0
	}
	return i, i
}

// secret notes [from,end), the inside of a string in quotes q, when it passes
// for a secret.
func (s *search) secret(v *view, from, end int, w rule, q quote) {
	value := v.text[from:end]
	trimmed := bytes.TrimSpace(value)
	switch w.kind {
	case "authorization":
		if n := scheme(value); n > 0 {
			from += n
			value = value[n:]
			trimmed = bytes.TrimSpace(value)
		}
	case "api_key", "token":
		if bytes.IndexByte(trimmed, ' ') >= 0 {
			return
		}
	}
	if w.listed && bytes.IndexByte(trimmed, ' ') >= 0 && !digit(trimmed) { // what the flag is for
		return
	}
	if w.how == weak && !plausible(trimmed, 16) || placeholder(trimmed) {
		return
	}
	decode := 0
	if q.char == '"' {
		decode = bits.Len(uint(q.escapes)) + 1
	}
	n := len(s.hits)
	s.add(v, from, end, w.kind, decode)
	if len(s.hits) > n {
		s.hits[n].weak, s.hits[n].named = w.how == weak, true
		if v.parent == nil {
			s.hits[n].in = q
		}
	}
	s.nameEnd = max(s.nameEnd, end)
}

// schemes of the Authorization header (the IANA registry, and what APIs use).
var schemes = []string{"bearer", "basic", "token", "digest", "apikey", "api-key", "negotiate", "bot", "key"}

// scheme returns the length of the scheme and the blanks at the start of an
// authorization, 0 when there is none.
func scheme(v []byte) int {
	i := bytes.IndexByte(v, ' ')
	if i <= 0 || i > 12 {
		return 0
	}
	for _, known := range schemes {
		if folded(string(v[:i])) == known {
			for i < len(v) && v[i] == ' ' {
				i++
			}
			return i
		}
	}
	return 0
}

// number notes a number as a secret: passwords are sometimes all digits.
func (s *search) number(v *view, i int, w rule) {
	from := i
	for i < len(v.text) && (isDigit(v.text[i]) || v.text[i] == '-' || v.text[i] == '.') {
		i++
	}
	if w.kind != "password" && w.kind != "secret" && w.kind != "api_key" || w.how != strong || i-from < 4 {
		return
	}
	n := len(s.hits)
	s.add(v, from, i, w.kind, 0)
	if len(s.hits) > n {
		quote := bytes.Repeat([]byte{'\\'}, w.name.escapes)
		s.hits[n].quote = string(append(quote, '"'))
	}
}

// bare looks at a value without quotes.
func (s *search) bare(v *view, i int, w rule) {
	text := v.text
	if w.kind == "authorization" {
		i += scheme(text[i:min(i+64, len(text))])
	}
	end, near := i, min(i+window, len(text))
	for end < near && !ends(text, end, w) {
		end++
	}
	whole := end < near || end == len(text)
	for whole && end > i && (text[end-1] == ',' || text[end-1] == ';' || text[end-1] == ')' || text[end-1] == '.') {
		end--
	}
	value := text[i:end]
	switch {
	case w.kind == "cookie":
		if bytes.IndexByte(value, '=') < 0 {
			return
		}
	case w.joined:
		if placeholder(value) {
			return
		}
	case w.how == strong && w.variable:
		if len(value) < 4 || placeholder(value) || value[0] == '(' {
			return
		}
	case w.how == strong:
		if !plausible(value, 6) {
			return
		}
	default:
		if !plausible(value, 12) {
			return
		}
	}
	for !whole && end < len(text) && !ends(text, end, w) {
		end++
	}
	n := len(s.hits)
	s.add(v, i, end, w.kind, 0)
	if len(s.hits) > n {
		s.hits[n].weak = w.how == weak
		s.hits[n].named = w.joined || w.how == strong && w.variable || plausible(value, 16)
	}
	s.nameEnd = max(s.nameEnd, end)
}

// ends reports whether a value without quotes ends before i.
func ends(text []byte, i int, w rule) bool {
	c := text[i]
	switch {
	case c == '"' || c == '\n' || c == '\r' || c < ' ' && c != '\t':
		return true
	case w.kind == "cookie":
		return c == '\'' || c == '`'
	case w.joined:
		return c == w.edge || c == '\\' && quoteAt(text, i).char != 0
	case c <= ' ' || c == '\'' || c == '`' || c == '<' && tokenLen(text[i:]) > 0:
		return true
	case c == '\\':
		if i+1 >= len(text) {
			return true
		}
		switch text[i+1] {
		case 'n', 'r', 't', '"', '\\', '\'', '`':
			return true
		}
		return false
	case w.variable:
		return false
	}
	return c == ',' || c == ';' || c == '&' || c == '|' || c == ')' || c == ']' || c == '}' || c == '>'
}
