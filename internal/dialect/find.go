package dialect

import "strconv"

// Span is a JSON token of a frame: raw[Start:End].
type Span struct{ Start, End int }

// Find returns where in a JSON value the places of the set stand, in order and
// not overlapping: what lies within a found value is not looked at. Of a value
// that is not valid JSON it finds nothing. Of equal keys each is found.
func (p Paths) Find(raw []byte) []Span {
	if len(p.list) == 0 {
		return nil
	}
	var out []Span
	ok := p.find(raw, func(_ int, s Span) { out = append(out, s) })
	if !ok {
		return nil
	}
	return out
}

// finder walks a value and keeps, per open container, the positions in the
// patterns that its members may continue.
type finder struct {
	paths Paths
	raw   []byte
	found func(which int, s Span)
	at    []position // a stack: states of the containers being walked
}

type position struct{ which, seg int }

// find calls found with the index of the first pattern that matches each place.
func (p Paths) find(raw []byte, found func(which int, s Span)) bool {
	f := finder{paths: p, raw: raw, found: found, at: make([]position, 0, 8*len(p.list)+16)}
	for which := range p.list {
		f.enter(position{which, 0})
	}
	i := f.value(space(raw, 0), 0, len(f.at), 0)
	return i >= 0 && space(raw, i) == len(raw)
}

// enter adds a state, and the one behind it when it stands before a "**".
func (f *finder) enter(p position) {
	f.at = append(f.at, p)
	if one := f.paths.list[p.which]; p.seg < len(one) && one[p.seg].kind == anyMany {
		f.enter(position{p.which, p.seg + 1})
	}
}

// value walks the value at i with the states at[from:to] and returns its end.
func (f *finder) value(i, from, to, depth int) int {
	if i >= len(f.raw) {
		return -1
	}
	for _, p := range f.at[from:to] {
		if p.seg == len(f.paths.list[p.which]) {
			end := skip(f.raw, i, depth)
			if end >= 0 {
				f.found(p.which, Span{i, end})
			}
			return end
		}
	}
	c := f.raw[i]
	if from == to || c != '{' && c != '[' {
		return skip(f.raw, i, depth)
	}
	if depth >= MaxDepth {
		return -1
	}
	i = space(f.raw, i+1)
	if i < len(f.raw) && f.raw[i] == c+2 {
		return i + 1
	}
	for n := 0; ; n++ {
		var key string
		if c == '{' {
			end := -1
			if i < len(f.raw) && f.raw[i] == '"' {
				end = stringEnd(f.raw, i)
			}
			if end < 0 {
				return -1
			}
			key = decode(f.raw[i:end])
			if i = space(f.raw, end); i >= len(f.raw) || f.raw[i] != ':' {
				return -1
			}
			i = space(f.raw, i+1)
		} else {
			key = strconv.Itoa(n)
		}
		f.step(from, to, key)
		end := f.value(i, to, len(f.at), depth+1)
		f.at = f.at[:to]
		if end < 0 {
			return -1
		}
		if i = space(f.raw, end); i >= len(f.raw) {
			return -1
		}
		if f.raw[i] == c+2 {
			return i + 1
		}
		if f.raw[i] != ',' {
			return -1
		}
		i = space(f.raw, i+1)
	}
}

// step pushes the states that a member named key continues.
func (f *finder) step(from, to int, key string) {
	top := len(f.at)
	for k := from; k < to; k++ {
		p := f.at[k]
		one := f.paths.list[p.which]
		if p.seg == len(one) {
			continue
		}
		switch s := one[p.seg]; {
		case s.kind == anyMany:
			f.add(top, p)
		case s.kind == anyOne || s.key == key:
			f.add(top, position{p.which, p.seg + 1})
		}
	}
}

// add enters a state unless it is there already, which bounds the states by
// the length of the patterns.
func (f *finder) add(top int, p position) {
	for _, q := range f.at[top:] {
		if p == q {
			return
		}
	}
	f.enter(p)
}
