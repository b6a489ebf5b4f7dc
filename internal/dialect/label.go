package dialect

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// maxLabel bounds a label, in bytes.
const maxLabel = 96

// interner keeps the labels that have occurred, so that a label costs no memory
// when it comes again. It holds a bounded number: names in frames are open.
type interner struct {
	mu   sync.RWMutex
	seen map[string]string
}

const maxInterned = 1024

func newInterner() *interner { return &interner{seen: map[string]string{}} }

// label returns b as a label: at most maxLabel bytes of valid UTF-8, without
// control and format characters; white space stands as "_".
func (n *interner) label(b []byte) string {
	n.mu.RLock()
	s, ok := n.seen[string(b)]
	n.mu.RUnlock()
	if ok {
		return s
	}
	s = cleanLabel(string(b))
	if len(b) > maxLabel {
		return s
	}
	n.mu.Lock()
	if len(n.seen) < maxInterned {
		n.seen[string(b)] = s
	}
	n.mu.Unlock()
	return s
}

func cleanLabel(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return '_'
		case r == utf8.RuneError || unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Co, unicode.Cs, unicode.Zl, unicode.Zp):
			return utf8.RuneError
		}
		return r
	}, s)
	if len(s) <= maxLabel {
		return s
	}
	cut := maxLabel - len("…")
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}

// label returns the label of a frame.
func (r *Rule) labelOf(f frame, in *interner) string {
	var room [160]byte
	for i := range r.label {
		if b, ok := r.label[i].appendTo(room[:0], f, maxLabel); ok && len(b) > 0 {
			return in.label(b)
		}
	}
	return in.label(append(room[:0], r.Family...))
}
