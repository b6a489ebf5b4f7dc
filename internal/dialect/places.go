package dialect

import (
	"slices"

	"agentrec/store"
)

// Volatile returns the paths of a frame's family whose values differ from run
// to run.
func (d *Dialect) Volatile(stream store.Stream, raw []byte) Paths {
	return d.places(stream, raw, func(t *places) Paths { return t.volatile })
}

// Secret returns the paths of a frame's family that hold secrets.
func (d *Dialect) Secret(stream store.Stream, raw []byte) Paths {
	return d.places(stream, raw, func(t *places) Paths { return t.secret })
}

// SecretKeys returns the last keys of every secret path of the table: a frame
// in which none of them occurs has no secret of the dialect's. ok is false when
// a path ends in a wildcard, so that nothing can be ruled out.
func (d *Dialect) SecretKeys() (keys []string, ok bool) {
	all := d.own.secret
	for s := range d.rules {
		for _, r := range d.rules[s] {
			all = all.Join(r.own.secret)
			if r.inner != nil {
				in, ok := r.inner.dialect.SecretKeys()
				if !ok {
					return nil, false
				}
				keys = append(keys, in...)
			}
		}
	}
	for _, p := range all.list {
		last := p[len(p)-1]
		if last.kind != literal {
			return nil, false
		}
		keys = append(keys, last.key)
	}
	slices.Sort(keys)
	return slices.Compact(keys), true
}

// places are the paths that a table or a rule has; a rule's hold the table's.
type places struct{ volatile, secret Paths }

func (d *Dialect) places(stream store.Stream, raw []byte, of func(*places) Paths) Paths {
	out := of(&d.own)
	var seen []*Rule
	d.eachRule(stream, raw, func(r *Rule, f frame, _ int) {
		if d.batch && isArray(raw) {
			if !slices.Contains(seen, r) {
				seen = append(seen, r)
				out = out.Join(of(&r.own).under("", anyOne))
			}
			return
		}
		out = of(&r.own)
		if r.inner == nil || f.spans[r.inner.at.slot].End == 0 {
			return
		}
		at := f.spans[r.inner.at.slot]
		in := r.inner.dialect.places(r.inner.stream, f.raw[at.Start:at.End], of)
		for _, key := range slices.Backward(r.inner.at.keys) {
			in = in.under(key, literal)
		}
		out = out.Join(in)
	})
	return out
}

// under returns the paths below a key.
func (p Paths) under(key string, kind segmentKind) Paths {
	var out Paths
	for _, one := range p.list {
		out.list = append(out.list, append(pattern{{kind: kind, key: key}}, one...))
	}
	return out
}

func isArray(raw []byte) bool {
	i := space(raw, 0)
	return i < len(raw) && raw[i] == '['
}
