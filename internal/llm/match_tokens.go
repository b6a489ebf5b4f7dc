package llm

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"agentrec/internal/redact"
)

// bindings are the live values that took the place of redaction tokens. Without
// the key a token fits any value; equal tokens need equal values.
type bindings map[string]string

// minBound is the length from which on a bound value is known wherever it
// stands; a shorter one is looked at only in the place of its token.
const minBound = 6

// fit reports whether a live value is equal to a recorded one but for what
// redaction took out, and returns the bindings with what that binds.
func (b bindings) fit(recorded, live *node) (bindings, bool) {
	fresh := bindings{}
	if !b.fits(recorded, live, fresh) {
		return b, false
	}
	out := maps.Clone(b)
	maps.Copy(out, fresh)
	return out, true
}

func (b bindings) fits(recorded, live *node, fresh bindings) bool {
	if recorded.kind != live.kind {
		r, l := recorded.source(), live.source() // a token may have made a big string small
		return r.kind == text && l.kind == text && b.string(r.text, l.text, fresh)
	}
	if recorded.kind == text {
		return b.string(recorded.text, live.text, fresh)
	}
	if recorded.text != live.text || len(recorded.list) != len(live.list) {
		return false
	}
	for i := range recorded.keys {
		if recorded.keys[i] != live.keys[i] {
			return false
		}
	}
	for i := range recorded.list {
		if !b.fits(&recorded.list[i], &live.list[i], fresh) {
			return false
		}
	}
	return true
}

func (b bindings) string(recorded, live string, fresh bindings) bool {
	if recorded == live {
		return true
	}
	if !strings.Contains(recorded, "<redacted:") {
		return false
	}
	start, end := redact.NextToken([]byte(recorded))
	for start >= 0 {
		rest, ok := strings.CutPrefix(live, recorded[:start])
		if !ok {
			return false
		}
		token := recorded[start:end]
		recorded = recorded[end:]
		value, known := b[token]
		if !known {
			value, known = fresh[token]
		}
		if !known {
			next := recorded
			start, end = redact.NextToken([]byte(recorded))
			cut := len(rest)
			switch {
			case start == 0:
				return false // two redacted values side by side: where one ends is unknown
			case start > 0:
				cut = strings.Index(rest, recorded[:start])
			case next != "":
				cut = len(rest) - len(next)
			}
			if cut <= 0 {
				return false
			}
			fresh[token], value = rest[:cut], rest[:cut]
		} else {
			start, end = redact.NextToken([]byte(recorded))
		}
		if live, ok = strings.CutPrefix(rest, value); !ok {
			return false
		}
	}
	return recorded == live
}

// tokens returns a live value with the tokens in the place of what is bound to
// them.
func (b bindings) tokens(v node) node {
	if len(b) == 0 {
		return v
	}
	list := slices.Collect(maps.Keys(b))
	slices.SortFunc(list, func(x, y string) int { return cmp.Or(len(b[y])-len(b[x]), cmp.Compare(x, y)) })
	var pairs []string
	for _, token := range list { // the longest value first
		if len(b[token]) >= minBound {
			pairs = append(pairs, b[token], token)
		}
	}
	if len(pairs) == 0 {
		return v
	}
	return replaced(v, strings.NewReplacer(pairs...))
}

func replaced(v node, r *strings.Replacer) node {
	if v.kind == text {
		v.text = r.Replace(v.text)
		return v
	}
	if len(v.list) == 0 {
		return v
	}
	list := make([]node, len(v.list))
	for i := range v.list {
		list[i] = replaced(v.list[i], r)
	}
	v.list = list
	return v
}
