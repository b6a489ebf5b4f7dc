package redact

import (
	"slices"

	"agentrec/store"
)

// A secret that stood beside its name once is looked for without it from then
// on: agents repeat a key they were given in an error message.

// mostLearned bounds how many values are learned, longestLearned their length,
// in bytes: both cost time in every frame.
const (
	mostLearned    = 100
	longestLearned = 4 << 10
)

// Learn looks at a frame only to know its secrets, as Frame does on its way.
func (r *Redactor) Learn(stream store.Stream, raw []byte) { r.learn(raw, r.find(stream, raw)) }

// learn remembers the hits that were found by name or place.
func (r *Redactor) learn(raw []byte, hits []hit) {
	var found []value
	for _, h := range hits {
		if !h.named || h.end-h.start > 2*longestLearned {
			continue
		}
		found = append(found, value{string(decodeTimes(raw[h.start:h.end], h.level)), h.kind})
	}
	r.remember(found...)
}

// remember adds what is no common word to the known values.
func (r *Redactor) remember(found ...value) {
	found = slices.DeleteFunc(found, func(v value) bool { return len(v.text) > longestLearned || common(v.text) })
	if len(found) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	n := len(r.known)
	for _, v := range found {
		has := func(k value) bool { return k.text == v.text }
		if len(r.known) < mostLearned && !slices.ContainsFunc(r.known, has) {
			r.known = append(r.known, v)
		}
	}
	if len(r.known) > n {
		r.engine.Store(newEngine(r.known, len(r.rules) > 0))
	}
}
