package llm

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"agentrec/internal/dialect"
)

// grows are the keys of strings that a stream sends bit by bit.
var grows = map[string]bool{
	"content": true, "arguments": true, "text": true, "partial_json": true, "thinking": true, "delta": true, "reasoning_content": true,
	"reasoning": true, "response": true,
}

// tells are the members that say which string a bit belongs to.
var tells = []string{"type", "index", "item_id", "output_index", "content_index"}

// growing is a string that a stream spells over several events.
type growing struct {
	text []byte
	bits []bit
}

// bit is what one event adds to a string.
type bit struct {
	text  int // where it begins in the string
	raw   int // where its literal's inside begins in the answer
	place []int
}

// spelled finds the paths that a stream spells over several events. The live
// path goes into the first; the others lose their part.
func (r *rewriter) spelled(all []byte) []edit {
	spelling := map[string]*growing{}
	for from := 0; from < len(all); {
		line := all[from:]
		if end := bytes.IndexByte(line, '\n'); end >= 0 {
			line = line[:end]
		}
		data := bytes.TrimPrefix(line, []byte("data:"))
		if v, ok := parse(data); ok {
			grow(spelling, &v, "", all, from+len(line)-len(data))
		}
		from += len(line) + 1
	}
	var out []edit
	for _, g := range spelling {
		if len(g.bits) < 2 {
			continue
		}
		for _, e := range r.plain(g.text) {
			out = append(out, g.edits(e)...)
		}
	}
	slices.SortFunc(out, func(a, b edit) int { return a.start - b.start })
	return out
}

// grow adds the bits of an event to their strings.
func grow(to map[string]*growing, v *node, path string, all []byte, base int) {
	switch v.kind {
	case array:
		for i := range v.list {
			grow(to, &v.list[i], fmt.Sprintf("%s.%d", path, i), all, base)
		}
	case object:
		for _, name := range tells {
			if m := v.member(name); m != nil && (m.kind == text || m.kind == number) {
				path += "," + name + "=" + m.text
			}
		}
		for i := range v.list {
			in := path + "." + v.keys[i]
			if m := &v.list[i]; m.kind == text && grows[v.keys[i]] {
				g := to[in]
				if g == nil {
					g = &growing{}
					to[in] = g
				}
				start := base + int(m.from) + 1
				g.bits = append(g.bits, bit{len(g.text), start, places(all[start:])})
				g.text = append(g.text, m.text...)
			} else {
				grow(to, m, in, all, base)
			}
		}
	}
}

// edits returns an edit of a string as edits of the literals that spell it.
func (g *growing) edits(e edit) []edit {
	var out []edit
	with := inside(e.with)
	for i, b := range g.bits {
		end := len(g.text)
		if i+1 < len(g.bits) {
			end = g.bits[i+1].text
		}
		from, to := max(e.start, b.text), min(e.end, end)
		if from >= to {
			continue
		}
		out = append(out, edit{b.raw + b.place[from-b.text], b.raw + b.place[to-b.text], with})
		with = ""
	}
	return out
}

// places returns where each byte of a JSON string's text stands in its literal,
// of which raw is the inside and what follows; last its end.
func places(raw []byte) []int {
	var out []int
	for i := 0; ; {
		switch {
		case raw[i] == '"':
			return append(out, i)
		case raw[i] != '\\':
			out = append(out, i)
			i++
		default:
			n := 2
			if raw[i+1] == 'u' {
				n = 6
				if bytes.HasPrefix(raw[i+6:], []byte(`\u`)) && strings.ContainsRune("dD", rune(raw[i+2])) && strings.ContainsRune("89abAB", rune(raw[i+3])) {
					n = 12
				}
			}
			for range len(dialect.Unescape(raw[i : i+n])) {
				out = append(out, i)
			}
			i += n
		}
	}
}
