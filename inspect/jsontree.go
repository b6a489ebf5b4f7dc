package inspect

import (
	"slices"
	"strings"

	"agentrec/internal/dialect"
	"agentrec/internal/transcript"
)

// jsonTree is a JSON text that folds. It is rows: one a visible value.
type jsonTree struct {
	raw     []byte
	nodes   []transcript.Value
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
	t := &jsonTree{raw: raw, nodes: transcript.Values(raw), closed: map[int]bool{}}
	if len(t.nodes) > openNodes {
		for i, n := range t.nodes {
			if n.Depth >= 2 && n.Children > 0 {
				t.closed[i] = true
			}
		}
	}
	t.layout()
	return t
}

// layout lists the values on show.
func (t *jsonTree) layout() {
	t.visible = t.visible[:0]
	for i := 0; i < len(t.nodes); {
		t.visible = append(t.visible, i)
		if t.closed[i] {
			i = t.nodes[i].Next
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
	if n.Children > 0 {
		fold = "▾ "
		if t.closed[at] {
			fold = "▸ "
		}
	}
	l := line{{strings.Repeat("  ", min(n.Depth, 20)) + fold, toneDim}}
	switch {
	case n.Member:
		l = l.add(toneIn, visibleCut(n.Key, 60)).add(toneDim, ": ")
	case n.Depth > 0:
		l = l.add(toneDim, n.Key+": ")
	}
	return []line{t.value(l, at)}
}

// value appends what a line says of a value.
func (t *jsonTree) value(l line, at int) line {
	n := t.nodes[at]
	raw := t.raw[n.Start:n.End]
	switch raw[0] {
	case '{', '[':
		if n.Children == 0 {
			return l.add(toneDim, strings.Join(strings.Fields(string(raw[:min(len(raw), 2)])), ""))
		}
		noun := "member"
		if raw[0] == '[' {
			noun = "element"
		}
		l = l.add(toneDim, count(n.Children, noun))
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
	if t.nodes[at].Children == 0 {
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
			if n.Depth > 0 && n.Children > 0 {
				t.closed[i] = true
			}
		}
	}
	t.layout()
}

// parent returns the row of the value that holds the one in row i.
func (t *jsonTree) parent(i int) int {
	depth := t.nodes[t.visible[i]].Depth
	for i > 0 && t.nodes[t.visible[i]].Depth >= depth {
		i--
	}
	return i
}

// path returns the place of the value in row i, as --ignore takes it.
func (t *jsonTree) path(i int) string {
	at := t.visible[i]
	var keys []string
	depth := t.nodes[at].Depth
	for j := at; j >= 0 && depth > 0; j-- {
		if t.nodes[j].Depth == depth && (j == at || t.nodes[j].Next > at) {
			keys = append(keys, t.nodes[j].Key)
			depth--
		}
	}
	slices.Reverse(keys)
	return transcript.JoinPath(keys)
}

// text returns the JSON of the value in row i as it stands in the frame.
func (t *jsonTree) text(i int) []byte {
	n := t.nodes[t.visible[i]]
	return t.raw[n.Start:n.End]
}
