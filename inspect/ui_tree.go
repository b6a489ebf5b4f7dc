package inspect

import "errors"

// foldCommands fold and unfold the tree of a pane; tree returns it, nil while
// something else is on show. hint says which keys show a tree.
func (u *ui) foldCommands(p *pane, tree func() *jsonTree, hint string) []command {
	on := func(f func(t *jsonTree)) func(string) error {
		return func(string) error {
			t := tree()
			if t == nil || t.Len() == 0 {
				return errors.New("only a tree folds; " + hint)
			}
			f(t)
			return nil
		}
	}
	return []command{
		{name: "fold", keys: []string{"Enter", "Space"}, bar: "fold", help: "fold or unfold the value", do: on(func(t *jsonTree) { t.toggle(p.sel) })},
		{name: "in", keys: []string{"l", "Right"}, help: "unfold the value, or go to the first one in it", do: on(func(t *jsonTree) { p.to(t.into(p.sel)) })},
		{name: "out", keys: []string{"h", "Left"}, help: "fold the value, or go to the one that holds it, or back", do: func(string) error {
			t := tree()
			if t == nil || t.Len() == 0 || t.depth(p.sel) == 0 {
				u.back()
				return nil
			}
			p.to(t.out(p.sel))
			return nil
		}},
		{name: "parent", keys: []string{"p"}, help: "to the value that holds this one", do: on(func(t *jsonTree) { p.to(t.parent(p.sel)) })},
		{name: "fold-all", keys: []string{"-"}, help: "fold everything", do: on(func(t *jsonTree) { t.foldAll(true); p.home() })},
		{name: "unfold-all", keys: []string{"+", "*"}, help: "unfold everything", do: on(func(t *jsonTree) { t.foldAll(false) })},
	}
}

// depth returns how deep the value in row i lies, 0 for the outermost.
func (t *jsonTree) depth(i int) int { return t.nodes[t.visible[i]].Depth }

// into unfolds the value in row i, or returns the row of the first value in it.
func (t *jsonTree) into(i int) int {
	at := t.visible[i]
	switch {
	case t.nodes[at].Children == 0:
		return i
	case t.closed[at]:
		t.toggle(i)
		return i
	}
	return i + 1
}

// out folds the value in row i, or returns the row of the value that holds it.
func (t *jsonTree) out(i int) int {
	at := t.visible[i]
	if t.nodes[at].Children > 0 && !t.closed[at] {
		t.toggle(i)
		return i
	}
	return t.parent(i)
}
