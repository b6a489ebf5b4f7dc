package redact

import (
	"slices"

	"agentrec/store"
)

// A secret that stood beside its name once is looked for without it from then
// on: agents repeat a key they were given in an error message.

// mostLearned bounds how many values are learned, longestLearned their length,
// in bytes: both cost time in every frame. Values beside weak names, of which a
// session can be full (cursors, for one), get no more than mostWeak places.
const (
	mostLearned    = 100
	mostWeak       = 50
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
		found = append(found, value{text: string(decodeTimes(raw[h.start:h.end], h.level)), kind: h.kind, weak: h.weak})
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
	changed := false
	for _, v := range found {
		most := mostLearned
		if v.weak {
			most = mostWeak
		}
		i := slices.IndexFunc(r.known, func(k value) bool { return k.text == v.text })
		switch {
		case i < 0 && len(r.known)-r.given < most:
			r.known = append(r.known, v)
			changed = true
		case i >= 0 && r.known[i].weak && !v.weak:
			r.known[i] = v // another place says it for sure
			changed = true
		}
	}
	if changed {
		r.engine.Store(newEngine(r.known, len(r.rules) > 0))
	}
}

// learned is a value that was learned, as it is written. It need not be UTF-8.
type learned struct {
	Text []byte `json:"text"`
	Kind string `json:"kind"`
	Weak bool   `json:"weak,omitempty"`
}

// mostTold bounds what learned returns, in bytes of values: it is stored with
// every commit.
const mostTold = 64 << 10

// learned returns the values that were learned so far.
func (r *Redactor) learned() []learned {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []learned
	size := 0
	for _, v := range r.known[r.given:] {
		if size+len(v.text) <= mostTold {
			size += len(v.text)
			list = append(list, learned{[]byte(v.text), v.kind, v.weak})
		}
	}
	return list
}

// recall learns what learned returned of another redactor.
func (r *Redactor) recall(list []learned) {
	values := make([]value, len(list))
	for i, v := range list {
		values[i] = value{text: string(v.Text), kind: v.Kind, weak: v.Weak}
	}
	r.remember(values...)
}
