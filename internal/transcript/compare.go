package transcript

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"agentrec/internal/dialect"
)

// Difference is one place where two frames differ.
type Difference struct {
	Path     string `json:"path"`     // dotted, as --ignore takes it; "" is the root
	Recorded string `json:"recorded"` // raw JSON, "" when absent
	Live     string `json:"live"`     // raw JSON, "" when absent
}

// Compare returns the differences between two frames, less the places in
// ignore. Numbers compare exactly by value (1.0 equals 1, no float rounding),
// key order is free, of duplicate keys the first counts. Frames that are not JSON compare
// as bytes. accept, when not nil, may accept a difference of two leaves.
//
// Arrays of different length are aligned at both ends, so that one element more
// is one difference; the path of an element that only one side has counts on
// that side.
func Compare(recorded, live []byte, ignore dialect.Paths, accept func(path []string, recorded, live string) bool) []Difference {
	if bytes.Equal(recorded, live) {
		return nil
	}
	a, b := dialect.Valid(recorded), dialect.Valid(live)
	if !a || !b {
		return []Difference{{Recorded: quoteUnless(a, recorded), Live: quoteUnless(b, live)}}
	}
	c := comparison{a: parse(recorded), b: parse(live), ignore: ignore, accept: accept}
	c.values(0, 0)
	return c.found
}

func quoteUnless(valid bool, frame []byte) string {
	if valid {
		return string(frame)
	}
	b, err := json.Marshal(string(frame))
	if err != nil {
		return strconv.Quote(string(frame))
	}
	return string(b)
}

// JoinPath writes a place as the path language of flags and tables has it.
func JoinPath(place []string) string {
	var b strings.Builder
	for i, key := range place {
		if i > 0 {
			b.WriteByte('.')
		}
		for j := range len(key) {
			if c := key[j]; c == '.' || c == '*' || c == '\\' {
				b.WriteByte('\\')
			}
			b.WriteByte(key[j])
		}
	}
	return b.String()
}

type comparison struct {
	a, b   *tree
	ignore dialect.Paths
	accept func(path []string, recorded, live string) bool
	place  []string
	found  []Difference
}

// values compares two values that stand at the same place. Depth is bounded by
// dialect.MaxDepth.
func (c *comparison) values(x, y int32) {
	if bytes.Equal(c.a.text(x), c.b.text(y)) || c.ignored() {
		return
	}
	kind := c.a.kind(x)
	if kind != c.b.kind(y) {
		c.leaf(x, y)
		return
	}
	switch kind {
	case '{':
		c.objects(x, y)
	case '[':
		c.arrays(x, y)
	case '"':
		if Unquote(c.a.text(x)) != Unquote(c.b.text(y)) {
			c.leaf(x, y)
		}
	case '0':
		if canonical(string(c.a.text(x))) != canonical(string(c.b.text(y))) {
			c.leaf(x, y)
		}
	}
}

func (c *comparison) ignored() bool { return !c.ignore.Empty() && c.ignore.Match(c.place) }

func (c *comparison) leaf(x, y int32) {
	recorded, live := string(c.a.text(x)), string(c.b.text(y))
	if c.accept != nil && c.a.nodes[x].size == 0 && c.b.nodes[y].size == 0 && c.accept(c.place, recorded, live) {
		return
	}
	c.found = append(c.found, Difference{JoinPath(c.place), recorded, live})
}

// only notes a value that one side alone has; -1 is absence.
func (c *comparison) only(x, y int32) {
	if c.ignored() {
		return
	}
	d := Difference{Path: JoinPath(c.place)}
	if x >= 0 {
		d.Recorded = string(c.a.text(x))
	} else {
		d.Live = string(c.b.text(y))
	}
	c.found = append(c.found, d)
}

func (c *comparison) at(key string, do func()) {
	c.place = append(c.place, key)
	do()
	c.place = c.place[:len(c.place)-1]
}

func (c *comparison) objects(x, y int32) {
	live := make(map[string]int32, c.b.nodes[y].size)
	for n := y + 1; n < c.b.nodes[y].next; n = c.b.nodes[n].next {
		name := c.b.name(n)
		if _, twice := live[name]; !twice {
			live[name] = n
		}
	}
	seen := make(map[string]bool, c.a.nodes[x].size)
	for n := x + 1; n < c.a.nodes[x].next; n = c.a.nodes[n].next {
		name := c.a.name(n)
		if seen[name] {
			continue
		}
		seen[name] = true
		c.at(name, func() {
			if m, ok := live[name]; ok {
				c.values(n, m)
			} else {
				c.only(n, -1)
			}
		})
	}
	for n := y + 1; n < c.b.nodes[y].next; n = c.b.nodes[n].next {
		if name := c.b.name(n); !seen[name] {
			seen[name] = true
			c.at(name, func() { c.only(-1, n) })
		}
	}
}

func (c *comparison) arrays(x, y int32) {
	as, bs := c.a.children(x), c.b.children(y)
	head, tail := 0, 0
	if len(as) == len(bs) {
		head = len(as)
	} else {
		for head < min(len(as), len(bs)) && c.a.sum(as[head]) == c.b.sum(bs[head]) {
			head++
		}
		for tail < min(len(as), len(bs))-head && c.a.sum(as[len(as)-1-tail]) == c.b.sum(bs[len(bs)-1-tail]) {
			tail++
		}
		head = min(len(as), len(bs)) - tail
	}
	pair := func(i, j int) { c.at(strconv.Itoa(i), func() { c.values(as[i], bs[j]) }) }
	for i := range head {
		pair(i, i)
	}
	for i := head; i < len(as)-tail; i++ {
		c.at(strconv.Itoa(i), func() { c.only(as[i], -1) })
	}
	for i := head; i < len(bs)-tail; i++ {
		c.at(strconv.Itoa(i), func() { c.only(-1, bs[i]) })
	}
	for i := range tail {
		pair(len(as)-tail+i, len(bs)-tail+i)
	}
}

func (t *tree) children(n int32) []int32 {
	list := make([]int32, 0, t.nodes[n].size)
	for c := n + 1; c < t.nodes[n].next; c = t.nodes[c].next {
		list = append(list, c)
	}
	return list
}

// PlaceAt returns the place (keys and decimal indexes from the root) of the
// value that begins at offset in valid JSON, or nil when none begins there.
func PlaceAt(raw []byte, offset int) []string {
	t := parse(raw)
	for n := range t.nodes {
		if int(t.nodes[n].start) == offset {
			return t.place(int32(n))
		}
	}
	return nil
}

func (t *tree) place(target int32) []string {
	place := []string{}
	for n := int32(0); n != target; {
		index := 0
		child := n + 1
		for t.nodes[child].next <= target {
			child = t.nodes[child].next
			index++
		}
		if t.kind(n) == '{' {
			place = append(place, t.name(child))
		} else {
			place = append(place, strconv.Itoa(index))
		}
		n = child
	}
	return place
}
