package redact

import "bytes"

// pairValue follows {"name":"API_KEY","value":"..."}, ["X-Api-Key","..."] and
// ["--api-key","..."] from behind the comma; -1 when it is none of them.
func (s *search) pairValue(text []byte, i int, w *rule) int {
	i = blank(text, i)
	q := quoteAt(text, i)
	if q != w.name {
		return -1
	}
	if key := i + q.len; bytes.HasPrefix(text[min(key, len(text)):], []byte("value")) {
		if end := key + len("value"); quoteAt(text, end) == q {
			if j := blank(text, end+q.len); j < len(text) && text[j] == ':' {
				return j + 1
			}
		}
	}
	if !w.listed {
		w.how = weak
	} else if next := i + q.len; next < len(text) && text[next] == '-' {
		return -1 // another flag: this one has no value
	}
	return i
}

// longestBack bounds how far pairBefore looks back, in bytes.
const longestBack = 1 << 10

// pairBefore notes the value of {"value":"...","name":"API_KEY"}, where the
// name begins at i, behind its quote w.name.
func (s *search) pairBefore(v *view, i int, w rule) {
	text, q := v.text, w.name
	if q.char != '"' {
		return
	}
	// Backwards: the quote of the name, a colon, a key, a comma, a string.
	i, ok := back(text, i, q)
	if i = blankBefore(text, i); !ok || i < 1 || text[i-1] != ':' {
		return
	}
	i = blankBefore(text, i-1)
	if i, ok = back(text, i, q); !ok {
		return
	}
	key := i
	for key > 0 && key > i-8 && alnum[text[key-1]] {
		key--
	}
	switch string(text[key:i]) {
	case "name", "key", "header":
	default:
		return
	}
	if i, ok = back(text, key, q); !ok {
		return
	}
	if i = blankBefore(text, i); i < 1 || text[i-1] != ',' {
		return
	}
	end, ok := back(text, blankBefore(text, i-1), q)
	if !ok {
		return
	}
	for at := end; at > 0 && end-at < longestBack; at-- {
		if text[at-1] != '"' {
			continue
		}
		open, ok := back(text, at, q)
		if !ok || open > 0 && text[open-1] == '\\' {
			continue // a quote inside the string
		}
		before := blankBefore(text, open)
		if before > 0 && text[before-1] == ':' {
			if k, ok := back(text, blankBefore(text, before-1), q); ok && bytes.HasSuffix(text[:k], []byte(`"value`)) {
				s.secret(v, at, end, w, q)
			}
		}
		return
	}
}

// back returns where the quote q that ends at i begins.
func back(text []byte, i int, q quote) (int, bool) {
	from := i - q.len
	if from < 0 || quoteAt(text, from) != q {
		return i, false
	}
	return from, true
}

func blankBefore(text []byte, i int) int {
	for i > 0 && (text[i-1] == ' ' || text[i-1] == '\t' || text[i-1] == '\n' || text[i-1] == '\r') {
		i--
	}
	return i
}
