package inspect

import (
	"slices"
	"strconv"
	"strings"

	"agentrec/internal/dialect"
	"agentrec/internal/transcript"
)

// jsonNode is one value of a JSON text. Its children follow it in the list.
type jsonNode struct {
	start, end int // the value is raw[start:end]
	key        string
	depth      int
	next       int // the node after this value and all it holds
	children   int
	isMember   bool // key is the name of an object's member, else an index
}

// jsonTree is a JSON text that folds. It is rows: one a visible value.
type jsonTree struct {
	raw     []byte
	nodes   []jsonNode
	closed  map[int]bool
	visible []int // nodes on show, in order
}

// openNodes is how many values a tree shows unfolded at first.
const openNodes = 400

// newJSONTree returns the tree of raw, nil when it is not JSON.
func newJSONTree(raw []byte) *jsonTree {
	if !dialect.Valid(raw) {
		return nil
	}
	t := &jsonTree{raw: raw, nodes: scanJSON(raw), closed: map[int]bool{}}
	if len(t.nodes) > openNodes {
		for i, n := range t.nodes {
			if n.depth >= 2 && n.children > 0 {
				t.closed[i] = true
			}
		}
	}
	t.layout()
	return t
}

// scanJSON lists the values of a valid JSON text in the order in which they
// begin, without recursion.
func scanJSON(raw []byte) []jsonNode {
	var nodes []jsonNode
	var open []int
	key, hasKey := "", false
	for i := 0; i < len(raw); {
		switch c := raw[i]; c {
		case ' ', '\t', '\n', '\r', ',', ':':
			i++
		case '}', ']':
			i++
			top := open[len(open)-1]
			open = open[:len(open)-1]
			nodes[top].end, nodes[top].next = i, len(nodes)
		default:
			end := scalarEnd(raw, i)
			inObject := len(open) > 0 && raw[nodes[open[len(open)-1]].start] == '{'
			if inObject && !hasKey {
				key, hasKey = transcript.Unquote(raw[i:end]), true
				i = end
				continue
			}
			if !inObject && len(open) > 0 {
				key = strconv.Itoa(nodes[open[len(open)-1]].children)
			}
			if len(open) > 0 {
				nodes[open[len(open)-1]].children++
			}
			n := jsonNode{start: i, end: end, key: key, depth: len(open), next: len(nodes) + 1, isMember: inObject}
			key, hasKey = "", false
			if c == '{' || c == '[' {
				open = append(open, len(nodes))
				end = i + 1
			}
			nodes = append(nodes, n)
			i = end
		}
	}
	return nodes
}

// scalarEnd returns where the scalar that begins at i ends.
func scalarEnd(raw []byte, i int) int {
	if raw[i] == '"' {
		for i++; i < len(raw); i++ {
			switch raw[i] {
			case '\\':
				i++
			case '"':
				return i + 1
			}
		}
		return len(raw)
	}
	for i++; i < len(raw) && !strings.ContainsRune(" \t\n\r,:}]", rune(raw[i])); i++ {
	}
	return i
}

// layout lists the values on show.
func (t *jsonTree) layout() {
	t.visible = t.visible[:0]
	for i := 0; i < len(t.nodes); {
		t.visible = append(t.visible, i)
		if t.closed[i] {
			i = t.nodes[i].next
		} else {
			i++
		}
	}
}

// Len returns the number of values on show.
func (t *jsonTree) Len() int { return len(t.visible) }

// Item returns the line of a value.
func (t *jsonTree) Item(i, _ int) []line {
	at := t.visible[i]
	n := t.nodes[at]
	fold := "  "
	if n.children > 0 {
		fold = "▾ "
		if t.closed[at] {
			fold = "▸ "
		}
	}
	l := line{{strings.Repeat("  ", min(n.depth, 20)) + fold, toneDim}}
	switch {
	case n.isMember:
		l = l.add(toneIn, visibleCut(n.key, 60)).add(toneDim, ": ")
	case n.depth > 0:
		l = l.add(toneDim, n.key+": ")
	}
	return []line{t.value(l, at)}
}

// value appends what a line says of a value.
func (t *jsonTree) value(l line, at int) line {
	n := t.nodes[at]
	raw := t.raw[n.start:n.end]
	switch raw[0] {
	case '{', '[':
		if n.children == 0 {
			return l.add(toneDim, strings.Join(strings.Fields(string(raw[:min(len(raw), 2)])), ""))
		}
		noun := "member"
		if raw[0] == '[' {
			noun = "element"
		}
		l = l.add(toneDim, count(n.children, noun))
		if t.closed[at] {
			l = l.add(toneDim, "  "+visibleCut(string(raw[:min(len(raw), 4*maxRow)]), 80))
		}
		return l
	case '"':
		text := transcript.Unquote(raw[:min(len(raw), 4*maxRow)])
		if len(raw) > 4*maxRow {
			text = transcript.Unquote(append(raw[:4*maxRow:4*maxRow], '"'))
			return l.add(toneOut, visibleCut(text, maxRow)).add(toneDim, " "+size(int64(len(raw))))
		}
		return l.add(toneOut, visibleCut(text, maxRow))
	}
	return l.add(toneCall, visibleCut(string(raw), maxRow))
}

// toggle folds or unfolds the value in row i and returns the row it is in then.
func (t *jsonTree) toggle(i int) int {
	at := t.visible[i]
	if t.nodes[at].children == 0 {
		return i
	}
	t.closed[at] = !t.closed[at]
	t.layout()
	return i
}

// foldAll folds (or unfolds) everything below the outermost value.
func (t *jsonTree) foldAll(closed bool) {
	clear(t.closed)
	if closed {
		for i, n := range t.nodes {
			if n.depth > 0 && n.children > 0 {
				t.closed[i] = true
			}
		}
	}
	t.layout()
}

// parent returns the row of the value that holds the one in row i.
func (t *jsonTree) parent(i int) int {
	depth := t.nodes[t.visible[i]].depth
	for i > 0 && t.nodes[t.visible[i]].depth >= depth {
		i--
	}
	return i
}

// path returns the place of the value in row i, as --ignore takes it.
func (t *jsonTree) path(i int) string {
	at := t.visible[i]
	var keys []string
	depth := t.nodes[at].depth
	for j := at; j >= 0 && depth > 0; j-- {
		if t.nodes[j].depth == depth && (j == at || t.nodes[j].next > at) {
			keys = append(keys, t.nodes[j].key)
			depth--
		}
	}
	slices.Reverse(keys)
	return transcript.JoinPath(keys)
}

// text returns the JSON of the value in row i as it stands in the frame.
func (t *jsonTree) text(i int) []byte {
	n := t.nodes[t.visible[i]]
	return t.raw[n.start:n.end]
}
