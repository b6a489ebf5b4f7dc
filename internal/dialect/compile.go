package dialect

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"agentrec/store"
)

// compile turns a table into a dialect. find returns the table of a built-in
// dialect by name.
func compile(t *table, source []byte, find func(name string) (*table, []byte, error)) (*Dialect, error) {
	t, source, err := extend(t, source, find, 0)
	if err != nil {
		return nil, err
	}
	if t.Name == "" || strings.ContainsFunc(t.Name, func(r rune) bool { return r != '-' && r != '.' && (r < '0' || r > '9') && (r < 'a' || r > 'z') }) {
		return nil, fmt.Errorf("a table needs a name of lower-case letters, digits, dots and dashes, such as name: my-agent")
	}
	sum := sha256.Sum256(append([]byte(engineVersion), source...))
	d := &Dialect{name: t.Name, title: t.Title, doc: t.Doc, version: hex.EncodeToString(sum[:6]), tree: newTree(), batch: t.Batch, clients: t.Clients, labels: newInterner()}
	d.scratch = sync.Pool{New: func() any { s := make([]Span, d.tree.slots); return &s }}
	switch t.Lanes {
	case "", "one":
		d.oneLane = true
	case "conversation":
	case "none":
		d.noLanes = true
	default:
		return nil, fmt.Errorf("lanes cannot be %q; write one, conversation or none", t.Lanes)
	}
	switch t.Input {
	case "", "frames":
	case "text":
		d.textInput = true
	default:
		return nil, fmt.Errorf("input cannot be %q; write frames or text", t.Input)
	}
	c := &compiler{tree: d.tree}
	if d.own.volatile, err = ParsePaths(t.Volatile...); err != nil {
		return nil, err
	}
	if d.own.secret, err = ParsePaths(t.Secret...); err != nil {
		return nil, err
	}
	if d.refusal, err = c.refusal(t.Refuse); err != nil {
		return nil, err
	}
	if d.signs, err = c.signs(t.Recognise); err != nil {
		return nil, err
	}
	d.argv = t.Argv
	if err := d.compileFamilies(c, t, find); err != nil {
		return nil, err
	}
	d.tree.root.index()
	return d, nil
}

// engineVersion is part of every table's version: derived data made by an older
// engine is not used.
const engineVersion = "2\n"

// extend lays a table over the one that it extends.
func extend(t *table, source []byte, find func(string) (*table, []byte, error), depth int) (*table, []byte, error) {
	if t.Extends == "" {
		return t, source, nil
	}
	if depth > 4 {
		return nil, nil, fmt.Errorf("the tables that %s extends are more than 4, or extend each other", t.Name)
	}
	base, text, err := find(t.Extends)
	if err != nil {
		return nil, nil, fmt.Errorf("extends: %w", err)
	}
	base, text, err = extend(base, text, find, depth+1)
	if err != nil {
		return nil, nil, err
	}
	out := *t
	out.Volatile = append(slices.Clone(base.Volatile), t.Volatile...)
	out.Secret = append(slices.Clone(base.Secret), t.Secret...)
	out.Slots = append(slices.Clone(t.Slots), base.Slots...)
	out.Require = maps.Clone(base.Require)
	if out.Require == nil {
		out.Require = map[string]list{}
	}
	maps.Copy(out.Require, t.Require)
	out.Clients = append(slices.Clone(base.Clients), t.Clients...)
	out.Families = append(slices.Clone(t.Families), base.Families...)
	out.Batch = t.Batch || base.Batch
	out.Tag = or(t.Tag, base.Tag)
	out.Lanes = or(t.Lanes, base.Lanes)
	out.Input = or(t.Input, base.Input)
	if t.Refuse.IsZero() {
		out.Refuse = base.Refuse
	}
	return &out, append(text[:len(text):len(text)], source...), nil
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// maxSigns is how many signs a contender can count.
const maxSigns = 64

func (c *compiler) signs(from []recognise) ([]sign, error) {
	if len(from) > maxSigns {
		return nil, fmt.Errorf("recognise has more than %d signs", maxSigns)
	}
	var out []sign
	for _, r := range from {
		s := sign{score: r.Score}
		var err error
		if s.streams, err = streams(r.Stream); err != nil {
			return nil, err
		}
		if s.when, err = c.tests(r.When, ""); err != nil {
			return nil, err
		}
		if s.score == 0 || len(s.when) == 0 {
			return nil, fmt.Errorf("a sign of recognise needs conditions and a score, such as {stream: out, when: {type: hello}, score: 100}")
		}
		out = append(out, s)
	}
	return out, nil
}

func streams(word string) ([]store.Stream, error) {
	switch word {
	case "in":
		return []store.Stream{store.In}, nil
	case "out":
		return []store.Stream{store.Out}, nil
	case "", "both":
		return []store.Stream{store.In, store.Out}, nil
	}
	return nil, fmt.Errorf("stream cannot be %q; write in, out or both", word)
}

// compileFamilies fills the rules and the lookup by tag.
func (d *Dialect) compileFamilies(c *compiler, t *table, find func(string) (*table, []byte, error)) error {
	if len(t.Families) == 0 {
		return fmt.Errorf("the table has no families; write at least one, such as families: [{name: any, role: notification}]")
	}
	tag := pick(nil)
	if t.Tag != "" {
		e, err := c.expr(t.Tag)
		if err != nil {
			return err
		}
		tag = pick{e}
	}
	d.tag = tag
	for _, f := range flatten(t.Families) {
		on, err := streams(f.Stream)
		c.line = f.line
		if err != nil {
			return c.fail("%v", err)
		}
		for _, s := range on {
			r, err := c.rule(f, s, t)
			if err != nil {
				return err
			}
			r.own = places{d.own.volatile.Join(r.own.volatile), d.own.secret.Join(r.own.secret)}
			if f.Inner != nil {
				if r.inner, err = c.inner(f.Inner, s, find); err != nil {
					return err
				}
			}
			d.rules[s] = append(d.rules[s], r)
		}
	}
	c.line = 0
	for s := range d.rules {
		d.byTag[s] = byTag(d.rules[s])
	}
	return nil
}

// byTag lists, for each value of the tag that a rule names, the rules that can
// fit a frame with it, and under "" those for every other value.
func byTag(rules []*Rule) map[string][]*Rule {
	out := map[string][]*Rule{"": nil}
	for _, r := range rules {
		for _, tag := range r.tags {
			out[tag] = nil
		}
	}
	for tag := range out {
		for _, r := range rules {
			if len(r.tags) == 0 || slices.Contains(r.tags, tag) {
				out[tag] = append(out[tag], r)
			}
		}
	}
	return out
}

// tests compiles conditions. Those that demand one of several strings of the
// tag are taken out and returned apart by rule.
func (c *compiler) tests(from when, tag string) ([]check, error) {
	var out []check
	for _, t := range from {
		if t.path == tag && tag != "" && t.cond.kind == condEqual && allText(t.cond.any) {
			continue
		}
		e, err := c.expr(t.path)
		if err != nil {
			return nil, err
		}
		out = append(out, check{at: e, cond: t.cond})
	}
	return out, nil
}

func allText(values []value) bool {
	return !slices.ContainsFunc(values, func(v value) bool { return !v.string || v.text == "" })
}

// tags returns the values of the tag that the conditions allow, nil for any.
func tags(from when, tag string) []string {
	var out []string
	for _, t := range from {
		if t.path != tag || tag == "" || t.cond.kind != condEqual || !allText(t.cond.any) {
			continue
		}
		var own []string
		for _, v := range t.cond.any {
			if out == nil || slices.Contains(out, v.text) {
				own = append(own, v.text)
			}
		}
		if out = own; out == nil {
			return []string{"\x00"} // conditions that exclude each other
		}
	}
	return out
}
