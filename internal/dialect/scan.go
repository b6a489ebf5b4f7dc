package dialect

import (
	"bytes"
	"strconv"
	"strings"
)

// A node is a place that a table wants to know: the root or a key below one.
// All places of a table form one tree, so that one pass over a frame judges it
// and finds them all.
type node struct {
	slot  int // index into the spans of a scan
	edges []edge
	byLen [][]edge // the same by the length of their keys, where there are many
}

type edge struct {
	key   string
	index int // the key as an array index, -1 when it is none
	to    *node
}

// tree holds the places of a table.
type tree struct {
	root  node
	slots int
}

func newTree() *tree { return &tree{slots: 1} }

// place returns the slot of the place with these keys, a new one if need be.
func (t *tree) place(keys []string) int {
	n := &t.root
next:
	for _, key := range keys {
		for _, e := range n.edges {
			if e.key == key {
				n = e.to
				continue next
			}
		}
		index, err := strconv.Atoi(key)
		if err != nil || index < 0 || strconv.Itoa(index) != key {
			index = -1
		}
		to := &node{slot: t.slots}
		t.slots++
		n.edges = append(n.edges, edge{key: key, index: index, to: to})
		n = to
	}
	return n.slot
}

// manyEdges is from how many on the edges of a node are looked for by length: a
// root has up to a hundred, and most keys of a frame are none of them.
const manyEdges = 4

// index makes looking for keys quick. It is called when all places are known.
func (n *node) index() {
	for _, e := range n.edges {
		e.to.index()
	}
	if len(n.edges) <= manyEdges {
		return
	}
	n.byLen = nil
	for _, e := range n.edges {
		for len(n.byLen) <= len(e.key) {
			n.byLen = append(n.byLen, nil)
		}
		n.byLen[len(e.key)] = append(n.byLen[len(e.key)], e)
	}
}

// scan judges a frame and notes where the places of the tree stand: spans[slot]
// has End 0 for a place that is absent. Of equal keys the first counts.
func (t *tree) scan(raw []byte, spans []Span) bool {
	clear(spans)
	end := visit(raw, space(raw, 0), &t.root, spans, 0)
	return end >= 0 && space(raw, end) == len(raw)
}

// visit is as deep as the tree, which its table bounds, not as the frame.
func visit(raw []byte, i int, n *node, spans []Span, depth int) int {
	if i >= len(raw) {
		return -1
	}
	end := -1
	switch {
	case len(n.edges) == 0 || depth >= MaxDepth:
		end = skip(raw, i, depth)
	case raw[i] == '{':
		end = visitObject(raw, i, n, spans, depth)
	case raw[i] == '[':
		end = visitArray(raw, i, n, spans, depth)
	default:
		end = skip(raw, i, depth)
	}
	if end >= 0 {
		spans[n.slot] = Span{i, end}
	}
	return end
}

func visitObject(raw []byte, i int, n *node, spans []Span, depth int) int {
	i = space(raw, i+1)
	if i < len(raw) && raw[i] == '}' {
		return i + 1
	}
	for {
		if i >= len(raw) || raw[i] != '"' {
			return -1
		}
		end := stringEnd(raw, i)
		if end < 0 {
			return -1
		}
		to := n.child(raw[i:end], spans)
		if i = space(raw, end); i >= len(raw) || raw[i] != ':' {
			return -1
		}
		i = space(raw, i+1)
		if to == nil {
			i = skip(raw, i, depth+1)
		} else {
			i = visit(raw, i, to, spans, depth+1)
		}
		if i < 0 {
			return -1
		}
		if i = space(raw, i); i >= len(raw) {
			return -1
		}
		switch raw[i] {
		case ',':
			i = space(raw, i+1)
		case '}':
			return i + 1
		default:
			return -1
		}
	}
}

func visitArray(raw []byte, i int, n *node, spans []Span, depth int) int {
	i = space(raw, i+1)
	if i < len(raw) && raw[i] == ']' {
		return i + 1
	}
	for at := 0; ; at++ {
		var to *node
		for _, e := range n.edges {
			if e.index == at {
				to = e.to
			}
		}
		if to == nil {
			i = skip(raw, i, depth+1)
		} else {
			i = visit(raw, i, to, spans, depth+1)
		}
		if i < 0 {
			return -1
		}
		if i = space(raw, i); i >= len(raw) {
			return -1
		}
		switch raw[i] {
		case ',':
			i = space(raw, i+1)
		case ']':
			return i + 1
		default:
			return -1
		}
	}
}

// child returns the node of a key token that has not been seen yet.
func (n *node) child(token []byte, spans []Span) *node {
	plain := token[1 : len(token)-1]
	key := share(plain)
	edges := n.edges
	if n.byLen != nil {
		if edges = nil; len(key) < len(n.byLen) {
			edges = n.byLen[len(key)]
		}
	}
	for k := range edges {
		if edges[k].key == key {
			if spans[edges[k].to.slot].End != 0 {
				return nil
			}
			return edges[k].to
		}
	}
	if bytes.IndexByte(plain, '\\') < 0 {
		return nil
	}
	key = decode(token)
	for _, e := range n.edges {
		if e.key == key && spans[e.to.slot].End == 0 {
			return e.to
		}
	}
	return nil
}

// splitPlain cuts a gjson path into keys; ok is false when it uses more of
// gjson's language than keys and indexes.
func splitPlain(path string) (keys []string, ok bool) {
	for i := 0; i < len(path); i++ {
		switch path[i] {
		case '\\':
			i++
		case '#', '*', '?', '|', '[', ']', '{', '}', '(', ')':
			return nil, false
		case '@', '!':
			if i == 0 || path[i-1] == '.' {
				return nil, false
			}
		}
	}
	for rest, more := path, true; more; {
		var key string
		key, _, rest, more = nextKey(rest)
		if key == "" {
			return nil, false
		}
		keys = append(keys, key)
	}
	return keys, !strings.HasSuffix(path, ".")
}
