package llm

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxValue is how much of a value a difference shows, in bytes.
const maxValue = 2000

// shownText writes a value as JSON as it was parsed, "" for none. What is long is
// cut by its caller.
func shownText(v *node) string {
	if v == nil {
		return ""
	}
	var b strings.Builder
	v.source().show(&b)
	return b.String()
}

func (n *node) show(b *strings.Builder) {
	if n.raw != nil {
		n = n.raw
	}
	switch n.kind {
	case literal, number:
		b.WriteString(n.text)
	case text, bytesText, blob:
		if len(n.text) > bigString { // nobody reads on, and the end is cut anyway
			fmt.Fprintf(b, `"%s… (%d bytes)"`, strings.ToValidUTF8(n.text[:maxValue], "�"), len(n.text))
			return
		}
		b.WriteString(quotedText(n.text))
	case nested:
		n.list[0].show(b)
	case array:
		b.WriteByte('[')
		for i := range n.list {
			if i > 0 {
				b.WriteByte(',')
			}
			n.list[i].show(b)
		}
		b.WriteByte(']')
	case object:
		b.WriteByte('{')
		for i := range n.list {
			if i > 0 {
				b.WriteByte(',')
			}
			name := node{kind: text, text: n.keys[i]}
			name.show(b)
			b.WriteByte(':')
			n.list[i].show(b)
		}
		b.WriteByte('}')
	}
}

// CutAround cuts two values that are longer than limit, in bytes, to what surrounds
// their first difference.
func CutAround(a, b string, limit int) (string, string) {
	if len(a) <= limit && len(b) <= limit {
		return a, b
	}
	same := 0
	for same < min(len(a), len(b)) && a[same] == b[same] {
		same++
	}
	from := max(0, same-limit/4)
	cut := func(s string) string {
		start, end := min(from, len(s)), min(from+limit, len(s))
		for start > 0 && start < len(s) && !utf8.RuneStart(s[start]) {
			start++
		}
		for end < len(s) && end > start && !utf8.RuneStart(s[end]) {
			end--
		}
		out := s[start:end]
		if start > 0 {
			out = "…" + out
		}
		if end < len(s) {
			out += fmt.Sprintf("… (%d bytes)", len(s))
		}
		return out
	}
	return cut(a), cut(b)
}

// quotedText returns text as a JSON string, with < > and & as they are.
func quotedText(s string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(strings.ToValidUTF8(s, "�")); err != nil {
		return strconv.Quote(s) // does not happen: every string has a JSON form
	}
	return strings.TrimSuffix(b.String(), "\n")
}
