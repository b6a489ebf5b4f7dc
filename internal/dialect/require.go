package dialect

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"agentrec/store"
)

// requirement is a load-bearing field and the kinds that it may have.
type requirement struct {
	path   string
	at     expr    // where it stands
	within pattern // or, for a path with wildcards or "?", the containers of
	key    string  // this member
	kinds  []string
}

// requirements compiles the typed checks of a family. "string?" is short for
// [string, absent, null]. A "?" behind a key of the path says that what is below
// it is required only where it is there.
func (c *compiler) requirements(from map[string]list) ([]requirement, error) {
	var out []requirement
	for _, path := range slices.Sorted(maps.Keys(from)) { // so that of several faults one is told always
		words := from[path]
		r := requirement{path: strings.ReplaceAll(path, "?.", ".")}
		for _, w := range words {
			kind, optional := strings.CutSuffix(w, "?")
			if !slices.Contains(kinds, kind) || kind == "set" {
				return nil, c.fail("require %s cannot be %q; write one or several of %s, with a ? behind it when it may be absent or null", path, w, strings.Join(kinds[:len(kinds)-1], ", "))
			}
			r.kinds = append(r.kinds, kind)
			if optional {
				r.kinds = append(r.kinds, "absent", "null")
			}
		}
		p, err := parsePattern(r.path)
		if err != nil {
			return nil, c.fail("require: %v", err)
		}
		wild := func(s segment) bool { return s.kind != literal }
		if last := p[len(p)-1]; r.path != path || slices.ContainsFunc(p, wild) {
			if wild(last) {
				return nil, c.fail("require %s ends in a wildcard; name the member that is required", path)
			}
			r.within, r.key = p[:len(p)-1], last.key
		} else if r.at, err = c.expr(path); err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

// Problem is a load-bearing field of a frame that is missing or of the wrong
// type. Keys that a table does not name are never a problem.
type Problem struct {
	Path string // as --ignore takes it
	Got  string // "absent", "null", "string", "number", "boolean", "object" or "array"
	Want string // what the protocol says: "string or null"
}

// String says what is wrong, for people.
func (p Problem) String() string { return fmt.Sprintf("%s is %s, want %s", p.Path, p.Got, p.Want) }

// maxProblems bounds what is said about one frame.
const maxProblems = 20

// checks makes the typed checks of the families. They look at many places that
// nothing else does, so they have a tree of their own, which is made when it is
// first asked for: most commands check nothing.
func (d *Dialect) checks() error {
	d.checking.Do(func() {
		d.checked = newTree()
		for _, r := range d.Rules() {
			c := &compiler{tree: d.checked, line: r.line}
			if r.require, d.wrong = c.requirements(r.demands); d.wrong == nil {
				r.returns, d.wrong = c.requirements(r.promises)
			}
			if d.wrong != nil {
				d.wrong = fmt.Errorf("family %s: %w", r.Family, d.wrong)
				return
			}
		}
		d.checked.root.index()
	})
	return d.wrong
}

// Check returns the load-bearing fields of a frame that are missing or of the
// wrong type, at most 20. It never looks at keys that the table does not name.
func (d *Dialect) Check(stream store.Stream, raw []byte) []Problem {
	if d.checks() != nil { // Parse refuses such a table, and a test holds the built-in ones
		return nil
	}
	var out []Problem
	spans := make([]Span, d.checked.slots)
	d.eachRule(stream, raw, func(r *Rule, f frame, base int) {
		under := ""
		if base > 0 {
			under = memberPath(raw, base)
		}
		if len(r.require) > 0 {
			g := frame{raw: f.raw, spans: spans}
			d.checked.scan(g.raw, g.spans)
			for i := range r.require {
				out = r.require[i].check(out, g, under)
			}
		}
		if r.inner == nil {
			return
		}
		if at := f.spans[r.inner.at.slot]; at.End > 0 {
			for _, p := range r.inner.dialect.Check(r.inner.stream, f.raw[at.Start:at.End]) {
				p.Path = under + strings.Join(quoteKeys(r.inner.at.keys), ".") + "." + p.Path
				out = append(out, p)
			}
		}
	})
	return out[:min(len(out), maxProblems)]
}

// Expected is what the response to a request must hold.
type Expected struct {
	dialect *Dialect
	of      []requirement
}

// Expects returns what the response to a request must hold; ok is false when the
// table says nothing of it, or the frame is a batch.
func (d *Dialect) Expects(stream store.Stream, raw []byte) (_ Expected, ok bool) {
	out := Expected{dialect: d}
	if d.checks() != nil || d.batch && isArray(raw) {
		return out, false
	}
	d.eachRule(stream, raw, func(r *Rule, _ frame, _ int) { out.of = r.returns })
	return out, len(out.of) > 0
}

// Check returns what is missing in a response that is no failure, or of the wrong
// type.
func (x Expected) Check(response []byte) []Problem {
	f := frame{raw: response, spans: make([]Span, x.dialect.checked.slots)}
	if isArray(response) || !x.dialect.checked.scan(f.raw, f.spans) {
		return nil
	}
	var out []Problem
	for i := range x.of {
		out = x.of[i].check(out, f, "")
	}
	return out[:min(len(out), maxProblems)]
}

// memberPath returns the index, with a dot, of the member of a batch at base.
func memberPath(raw []byte, base int) string {
	n := 0
	eachMember(raw, func(s Span) bool {
		if s.Start < base {
			n++
		}
		return s.Start < base
	})
	return fmt.Sprintf("%d.", n)
}

func quoteKeys(keys []string) []string {
	out := make([]string, len(keys))
	for i, k := range keys {
		out[i] = QuoteKey(k)
	}
	return out
}

func (r *requirement) check(out []Problem, f frame, under string) []Problem {
	if r.within == nil {
		return r.judge(out, r.at.get(f), under+r.path)
	}
	Paths{list: []pattern{r.within}}.find(f.raw, func(_ int, s Span) {
		within := f.raw[s.Start:s.End]
		if len(out) >= maxProblems || within[0] != '{' {
			return
		}
		out = r.judge(out, memberOf(within, r.key), under+r.path)
	})
	return out
}

// memberOf returns the first member of an object with a key, nil when it has
// none.
func memberOf(object []byte, key string) []byte {
	var out []byte
	eachEntry(object, func(k string, value []byte) bool {
		if k == pathKey(key) {
			out = value
		}
		return out == nil
	})
	return bytes.Clone(out)
}

func (r *requirement) judge(out []Problem, token []byte, path string) []Problem {
	for _, k := range r.kinds {
		if isKind(token, k) {
			return out
		}
	}
	return append(out, Problem{Path: path, Got: kindOf(token), Want: strings.Join(r.kinds, " or ")})
}

// kindOf names the kind of a token; nil is absence.
func kindOf(token []byte) string {
	for _, k := range []string{"absent", "null", "string", "boolean", "object", "array"} {
		if isKind(token, k) {
			return k
		}
	}
	return "number"
}
