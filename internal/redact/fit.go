package redact

import (
	"bytes"
	"strconv"

	"agentrec/internal/dialect"
)

// fit cuts the hits of a valid JSON frame to its strings, and widens those in
// a number or a word to the whole of it, whose token then needs quotes. It
// begins at from, which may be inside a string.
func (s *search) fit(from int, inside bool) {
	if len(s.hits) == 0 {
		return
	}
	var out []hit
	hits := s.hits
	text := s.frame
	if inside {
		from-- // as if a quote stood there
	}
	for i := from; i < len(text) && len(hits) > 0; inside = false {
		switch {
		case inside || text[i] == '"':
			end := literalEnd(text, i)
			close := end - 1
			if end > len(text) {
				end, close = len(text), len(text)
			}
			for len(hits) > 0 && hits[0].start < close {
				h := hits[0]
				if h.start, h.end = max(h.start, i+1), min(h.end, close); h.start < h.end {
					if len(h.quote) == 1 {
						h.quote = ""
					}
					out = append(out, h)
				}
				if hits[0].end > close {
					break
				}
				hits = hits[1:]
			}
			i = end
		case scalarByte(text[i]):
			end := i
			for end < len(text) && scalarByte(text[end]) {
				end++
			}
			touched := false
			for len(hits) > 0 && hits[0].start < end {
				if h := hits[0]; h.end > i && !touched {
					touched = true
					h.start, h.end, h.quote, h.level = i, end, `"`, 0
					out = append(out, h)
				}
				if hits[0].end > end {
					break
				}
				hits = hits[1:]
			}
			i = end
		default:
			i++
		}
		for len(hits) > 0 && hits[0].end <= i {
			hits = hits[1:]
		}
	}
	s.hits = out
}

func scalarByte(c byte) bool { return alnum[c] || c == '-' || c == '+' || c == '.' }

// literalEnd returns the index behind the string that begins at the quote at
// i, len(text)+1 when it goes on behind the text.
func literalEnd(text []byte, i int) int {
	for i++; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text) + 1
}

// maxPlace bounds how deep a secret place can lie: a frame that only nests must
// not cost more than its length.
const maxPlace = 64

// places notes the values at secret places of a valid JSON frame: strings and
// numbers, also inside objects and lists that stand at such a place.
func (s *search) places(paths dialect.Paths) {
	v := &view{text: s.frame}
	type level struct {
		object bool
		index  int
		secret bool
	}
	var open []level
	var place []string
	key := true // the next string in an object is a key
	named := ""
	text := s.frame
	for i := 0; i < len(text); {
		c := text[i]
		top := len(open) - 1
		switch {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == ':':
			i++
			continue
		case c == ',':
			if open[top].object {
				key = true
			}
			i++
			continue
		case c == '}' || c == ']':
			open = open[:top]
			if len(place) > 0 {
				place = place[:len(place)-1]
			}
			key = false
			i++
			continue
		}
		end := i + 1
		switch {
		case c == '"':
			end = literalEnd(text, i)
		case c != '{' && c != '[':
			for end < len(text) && scalarByte(text[end]) {
				end++
			}
		}
		if top >= 0 && open[top].object && key {
			named = string(decodeTimes(text[i+1:end-1], 1))
			key = false
			i = end
			continue
		}
		secret := false
		if top >= 0 {
			step := named
			if !open[top].object {
				step = strconv.Itoa(open[top].index)
				open[top].index++
			}
			place = append(place, step)
			secret = open[top].secret || len(place) <= maxPlace && paths.Match(place)
		}
		switch {
		case c == '{' || c == '[':
			open = append(open, level{object: c == '{', secret: secret})
			key = c == '{'
			i = end
			continue
		case !secret:
		case c == '"':
			if value := bytes.TrimSpace(text[i+1 : end-1]); len(value) > 0 {
				s.add(v, i+1, end-1, kindOfPlace(place), 1)
				s.hits[len(s.hits)-1].named = true
			}
		case c == '-' || isDigit(c):
			s.add(v, i, end, kindOfPlace(place), 0)
		}
		if top >= 0 {
			place = place[:len(place)-1]
		}
		i = end
	}
}

// kindOfPlace names a secret by the nearest key above it that says something.
func kindOfPlace(place []string) string {
	for i := len(place) - 1; i >= 0; i-- {
		if kind, how := nameKind([]byte(place[i]), false); how != nothing {
			return kind
		}
	}
	for i := len(place) - 1; i >= 0; i-- {
		if _, err := strconv.Atoi(place[i]); err != nil {
			return cleanKind(place[i])
		}
	}
	return "secret"
}
