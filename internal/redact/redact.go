// Package redact finds secrets in frames and command lines and replaces them
// by tokens: equal secrets get equal tokens, and a token does not tell the
// secret.
//
// One pass looks for the beginnings of all that could be a secret; a frame
// without any costs one pass and no memory. Only a frame that has one is looked
// at closely, also with the escapes of JSON decoded, level by level:
//
//	frame ─ pass ─ nothing: the frame itself
//	           └─ suspect: views (decoded) ─ hits ─ merged ─ cut to strings ─ tokens
package redact

import (
	"crypto/rand"
	"errors"
	"fmt"
	"regexp"
	"sync"
	"sync/atomic"

	"agentrec/internal/dialect"
	"agentrec/store"
)

// Options says what counts as a secret besides well-known key shapes and names.
type Options struct {
	Key     []byte   // of the database: 32 bytes; tokens are keyed by it. Random when empty
	Environ []string // KEY=VALUE of the agent: values of secret-looking names are secrets
	DotEnv  []byte   // contents of a .env file, read the same way
	Rules   []string // regular expressions of the user; what they match (or their first group) is a secret
}

// Redactor replaces secrets. Safe for concurrent use.
type Redactor struct {
	key     []byte
	rules   []*regexp.Regexp
	dialect atomic.Pointer[dialect.Dialect]
	engine  atomic.Pointer[engine]
	made    *engine // the first, before anything was learned
	given   int     // how many of known were not learned

	mu    sync.Mutex // guards what follows
	known []value    // of which the engine was made
}

// value is a secret known by its value. weak says that the name it stood beside
// often means something else.
type value struct {
	text, kind string
	weak       bool
	forms      []known // made with the first engine that looks for it
}

// engine finds what could be a secret; it does not change once made.
type engine struct {
	auto     *automaton
	grams    *grams // nil when a word is too short for it
	patterns []pattern
	rules    bool // there are rules: everything is looked at closely
	deep     bool // a known value holds what JSON escapes: decode as deep as it goes
}

// pattern is one word of the automaton and what it may be the beginning of.
type pattern struct {
	word   string
	nature nature
	shape  *shape
	known  *known
}

type nature uint8

const (
	aShape nature = iota
	aKnown
	aName
	aScheme // "Bearer "
	aURL    // "://"
	aPEM
	aToken
)

// New returns a redactor.
func New(o Options) (*Redactor, error) {
	r := &Redactor{key: o.Key}
	if len(r.key) == 0 {
		r.key = make([]byte, 32)
		rand.Read(r.key) // never fails (crypto/rand, Go 1.24)
	}
	for _, rule := range o.Rules {
		re, err := regexp.Compile(rule)
		if err != nil {
			return nil, ruleError(rule, err)
		}
		r.rules = append(r.rules, re)
	}
	r.known = environment(append(o.Environ[:len(o.Environ):len(o.Environ)], dotEnv(o.DotEnv)...))
	r.given = len(r.known)
	r.made = newEngine(r.known, len(r.rules) > 0)
	r.engine.Store(r.made)
	return r, nil
}

// CheckRules refuses what is no rule: no regular expression, or an empty one,
// which matches everywhere and finds nothing.
func CheckRules(rules []string) error {
	for _, rule := range rules {
		if rule == "" {
			return errors.New(`the rule is empty; write what the secret looks like, as in 'CUST-\d{6}'`)
		}
		if _, err := regexp.Compile(rule); err != nil {
			return ruleError(rule, err)
		}
	}
	return nil
}

func ruleError(rule string, err error) error {
	return fmt.Errorf("reading the redaction rule %q: %w", rule, err)
}

func newEngine(values []value, rules bool) *engine {
	e := &engine{rules: rules}
	for i := range shapes {
		e.patterns = append(e.patterns, pattern{word: folded(shapes[i].prefix), nature: aShape, shape: &shapes[i]})
	}
	for _, w := range anchors {
		e.patterns = append(e.patterns, pattern{word: w, nature: aName})
	}
	e.patterns = append(e.patterns, pattern{word: "bearer ", nature: aScheme}, pattern{word: "://", nature: aURL},
		pattern{word: folded(pemBegin), nature: aPEM}, pattern{word: tokenOpen, nature: aToken})
	for i := range values {
		v := &values[i]
		if v.forms == nil {
			v.forms = forms(v.text, v.kind)
		}
		for _, k := range v.forms {
			k.weak = v.weak
			if word := k.word(); word != "" {
				e.patterns = append(e.patterns, pattern{word: word, nature: aKnown, known: &k})
			}
		}
		for _, c := range []byte(v.text) {
			e.deep = e.deep || c == '\\' || c == '"' || c < ' '
		}
	}
	words := make([]string, len(e.patterns))
	for i, p := range e.patterns {
		words[i] = p.word
	}
	e.auto, e.grams = newAutomaton(words), newGrams(words, e.deep)
	return e
}

// SetDialect adds the secret paths of a dialect. Frames under way in other
// goroutines may still be read without them.
func (r *Redactor) SetDialect(d *dialect.Dialect) { r.dialect.Store(d) }

// secretPaths returns the places in this frame that the dialect calls secret.
func (r *Redactor) secretPaths(stream store.Stream, raw []byte) dialect.Paths {
	d := r.dialect.Load()
	if d == nil || stream == store.Err || len(raw) == 0 {
		return dialect.Paths{}
	}
	return d.Secret(stream, raw)
}

// passes bounds how often a frame is looked at again after secrets were taken
// out of it: a token can be the edge that the next secret's shape asks for.
const passes = 8

// Frame returns the frame with its secrets replaced, raw itself when it has
// none. Valid JSON stays valid JSON; all bytes outside secrets stay. Doing it
// again changes nothing. A secret found by its name is known from then on, and
// found without its name too.
func (r *Redactor) Frame(stream store.Stream, raw []byte) []byte {
	for range passes {
		hits := r.find(stream, raw)
		if len(hits) == 0 {
			break
		}
		r.learn(raw, hits)
		raw = r.replace(raw, hits)
	}
	return raw
}

// Text is Frame for text of no protocol: a file, a flag's value, a header.
func (r *Redactor) Text(b []byte) []byte { return r.Frame(store.Err, b) }

// Hit is a secret found.
type Hit struct {
	Kind       string // "api_key", "openai", "password", ...: as in its token
	Start, End int    // bytes of the input
	Sure       bool   // by more than a name that often means something else and a look at the value
}

// Find returns the secrets in a frame, in order; tokens are not secrets.
func (r *Redactor) Find(stream store.Stream, raw []byte) []Hit {
	if s := r.look(stream, raw); s != nil {
		return s.out()
	}
	return nil
}

// find returns the secrets of a frame, sorted and apart from each other.
func (r *Redactor) find(stream store.Stream, raw []byte) []hit {
	if s := r.look(stream, raw); s != nil {
		return s.hits
	}
	return nil
}

// look searches a frame; nil says that there is nothing to be found.
func (r *Redactor) look(stream store.Stream, raw []byte) *search {
	return r.lookAt(raw, r.secretPaths(stream, raw))
}

// lookAt is look with the places that are secret.
func (r *Redactor) lookAt(raw []byte, paths dialect.Paths) *search {
	e := r.engine.Load()
	if paths.Empty() && !e.rules && !e.suspect(raw) {
		return nil
	}
	s := &search{engine: e, rules: r.rules, frame: raw, header: -1}
	s.run(paths)
	return s
}

// replace writes tokens over the hits.
func (r *Redactor) replace(raw []byte, hits []hit) []byte {
	out := make([]byte, 0, len(raw)+len(hits)*16)
	at := 0
	for _, h := range hits {
		out = append(out, raw[at:h.start]...)
		out = append(out, h.quote...)
		out = r.token(out, h.kind, decodeTimes(raw[h.start:h.end], h.level))
		out = append(out, h.quote...)
		at = h.end
	}
	return append(out, raw[at:]...)
}
