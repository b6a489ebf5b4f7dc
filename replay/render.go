package replay

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"agentrec/internal/dialect"
	"agentrec/store"
)

// render returns a recorded frame with the live values of v in its slots and,
// where they are distinctive, in its text; every other byte stays as recorded.
// It returns raw itself when nothing changes.
func (s *script) render(v *view, i int32, raw []byte) []byte {
	it := &s.items[i]
	pairs := v.pairs(it.stream)
	if len(raw) == 0 || it.flags&fSlots == 0 && len(pairs) == 0 {
		return raw
	}
	return apply(raw, inText(pairs, raw, it.flags&fJSON != 0, s.slotEdits(v, i, raw)))
}

// rendered is render beside an engine that makes the script longer.
func (s *script) rendered(v *view, i int32, raw []byte) []byte {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.render(v, i, raw)
}

// item is a frame's, beside an engine that makes the script longer.
func (s *script) item(i int32) item {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.items[i]
}

// greeting returns a frame, with its terminator, that goes out before there is a
// script: by then only what holds from the start can be replaced in it.
func (v *view) greeting(f store.Frame) []byte {
	raw := f.Raw
	if pairs := v.pairs(f.Stream); len(pairs) > 0 {
		raw = apply(raw, inText(pairs, raw, dialect.Valid(raw), nil))
	}
	return append(append([]byte(nil), raw...), f.Term.Bytes()...)
}

// inText adds the edits of distinctive values in the text of a frame to those
// of its slots.
func inText(pairs []textPair, raw []byte, isJSON bool, slots []edit) []edit {
	switch {
	case len(pairs) == 0:
		return slots
	case !isJSON:
		return texts(pairs, string(raw))
	}
	return sorted(append(slots, literals(pairs, raw, slots)...))
}

// sorted brings edits into the order of their places.
func sorted(edits []edit) []edit {
	slices.SortFunc(edits, func(a, b edit) int { return a.start - b.start })
	return edits
}

func apply(raw []byte, edits []edit) []byte {
	if len(edits) == 0 {
		return raw
	}
	out := make([]byte, 0, len(raw)+64)
	at := 0
	for _, e := range edits {
		out = append(append(out, raw[at:e.start]...), e.with...)
		at = e.end
	}
	return append(out, raw[at:]...)
}

// slotEdits returns the edits of the frame's slots whose live value is known.
func (s *script) slotEdits(v *view, i int32, raw []byte) []edit {
	if s.items[i].flags&fSlots == 0 {
		return nil
	}
	var out []edit
	for _, slot := range s.dialect.Slots(s.items[i].stream, raw) {
		recorded := string(raw[slot.Start:slot.End])
		if live, ok := s.lookup(v, i, slot, recorded); ok && live != recorded {
			out = append(out, edit{slot.Start, slot.End, live})
		}
	}
	return out
}

// lookup returns the live value that stands for a slot's recorded one.
func (s *script) lookup(v *view, i int32, slot dialect.Slot, recorded string) (string, bool) {
	if slot.Ref {
		q := s.referred(i, slot)
		if q == 0 || (s.items[q].stream == store.Out) != s.mirrored {
			return "", false // the ids of the side that is played are sent as recorded
		}
		live, ok := v.refs[refKey{q, naming(slot.Namespace, recorded)}]
		return live, ok
	}
	if slot.ByClient == s.mirrored {
		return "", false
	}
	live, ok := v.values[naming(slot.Namespace, recorded)]
	return live, ok
}

// referred returns the request that a reference slot of a frame means.
func (s *script) referred(i int32, slot dialect.Slot) int32 {
	for _, r := range s.refs[i] {
		if r.start == int32(slot.Start) {
			return r.request
		}
	}
	return 0
}

// literals returns the edits of distinctive values in the string literals of
// JSON text, but for places that slots have edited. Only the bytes of the value
// change; the rest of the literal keeps its spelling.
func literals(pairs []textPair, raw []byte, slots []edit) []edit {
	var out []edit
	for i := 0; i < len(raw); i++ {
		if raw[i] != '"' {
			continue
		}
		start := i
		escaped := false
		for i++; i < len(raw) && raw[i] != '"'; i++ {
			if raw[i] == '\\' {
				escaped = true
				i++
			}
		}
		if slices.ContainsFunc(slots, func(e edit) bool { return e.start <= start && start < e.end }) {
			continue
		}
		in := raw[start+1 : min(i, len(raw))]
		if !escaped {
			for _, e := range texts(pairs, string(in)) {
				out = append(out, edit{start + 1 + e.start, start + 1 + e.end, literal(e.with)})
			}
			continue
		}
		text, at := decoded(in)
		for _, e := range texts(pairs, text) {
			out = append(out, edit{start + 1 + at[e.start], start + 1 + at[e.end], literal(e.with)})
		}
	}
	return out
}

// decoded returns the text of the inside of a string literal and, for each of
// its bytes and the end, where it stands in the literal.
func decoded(in []byte) (string, []int) {
	text := make([]byte, 0, len(in))
	at := make([]int, 0, len(in)+1)
	put := func(from int, b ...byte) {
		for _, c := range b {
			text, at = append(text, c), append(at, from)
		}
	}
	for i := 0; i < len(in); i++ {
		if in[i] != '\\' || i+1 >= len(in) {
			put(i, in[i])
			continue
		}
		from := i
		i++
		switch c := in[i]; c {
		case 'n':
			put(from, '\n')
		case 't':
			put(from, '\t')
		case 'r':
			put(from, '\r')
		case 'b':
			put(from, '\b')
		case 'f':
			put(from, '\f')
		case 'u':
			if i+4 < len(in) {
				if r, err := strconv.ParseUint(string(in[i+1:i+5]), 16, 16); err == nil && !utf16.IsSurrogate(rune(r)) {
					put(from, utf8.AppendRune(nil, rune(r))...)
					i += 4
					continue
				}
			}
			put(from, 0) // no value that is replaced holds it
			i = min(i+4, len(in)-1)
		default:
			put(from, c)
		}
	}
	return string(text), append(at, len(in))
}

// literal returns text as it stands inside a JSON string literal.
func literal(text string) string {
	var b strings.Builder
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\t':
			b.WriteString(`\t`)
		case c == '\r':
			b.WriteString(`\r`)
		case c < 0x20:
			fmt.Fprintf(&b, `\u%04x`, c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}
