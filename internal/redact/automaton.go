package redact

// automaton finds many short words in one pass, whatever their case
// (Aho-Corasick, with all transitions laid out in one table). Words hold no
// backslash: a backslash leads from every state to one special state, so that
// a scan leaves its inner loop for escapes and for words by one comparison.
type automaton struct {
	class  [256]uint8
	stride uint32
	next   []uint32 // state + class to state; states are multiples of stride
	limit  uint32   // states from here on need a look: words, and special
	escape uint32   // the special state
	found  [][]int  // words that end at state limit + i*stride, longest first
}

func fold(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// trie is an automaton under construction: nodes in the order they were made,
// the root first, and for each one its row of transitions by class.
type trie struct {
	classes int
	next    []int32 // node*classes + class to node, 0 for none
	words   [][]int // that end at a node
}

func (t *trie) row(node int) []int32 { return t.next[node*t.classes : (node+1)*t.classes] }

func (t *trie) node() int {
	t.words = append(t.words, nil)
	t.next = append(t.next, make([]int32, t.classes)...)
	return len(t.words) - 1
}

// newAutomaton compiles words; the index of a word is its name.
func newAutomaton(words []string) *automaton {
	a := &automaton{}
	classes := 2 // 0 is every byte of no word, 1 the backslash
	a.class['\\'] = 1
	for _, w := range words {
		for i := range len(w) {
			if c := fold(w[i]); a.class[c] == 0 {
				a.class[c] = uint8(classes)
				classes++
			}
		}
	}
	for c := 'A'; c <= 'Z'; c++ {
		a.class[c] = a.class[fold(byte(c))]
	}
	a.stride = uint32(classes)

	t := &trie{classes: classes}
	t.node()
	for id, w := range words {
		at := 0
		for i := range len(w) {
			c := a.class[w[i]]
			to := int(t.row(at)[c])
			if to == 0 {
				to = t.node()
				t.row(at)[c] = int32(to)
			}
			at = to
		}
		t.words[at] = append(t.words[at], id)
	}
	a.compile(t, t.link())
	return a
}

// link completes the transitions and returns the nodes breadth first.
func (t *trie) link() []int {
	fail := make([]int, len(t.words))
	order := append(make([]int, 0, len(t.words)), 0)
	for i := 0; i < len(order); i++ {
		at := order[i]
		row, back := t.row(at), t.row(fail[at])
		for c := 2; c < t.classes; c++ {
			to := int(row[c])
			other := 0
			if at != 0 {
				other = int(back[c])
			}
			if to == 0 {
				row[c] = int32(other)
				continue
			}
			fail[to] = other
			t.words[to] = append(t.words[to], t.words[other]...)
			order = append(order, to)
		}
	}
	return order
}

// compile numbers the states so that those that end a word come last.
func (a *automaton) compile(t *trie, order []int) {
	state := make([]uint32, len(order))
	n := uint32(0)
	for _, at := range order {
		if len(t.words[at]) == 0 {
			state[at], n = n*a.stride, n+1
		}
	}
	a.limit = n * a.stride
	for _, at := range order {
		if len(t.words[at]) > 0 {
			state[at], n = n*a.stride, n+1
			a.found = append(a.found, t.words[at])
		}
	}
	a.escape = n * a.stride
	a.found = append(a.found, nil)
	a.next = make([]uint32, (n+1)*a.stride)
	for at, from := range state {
		row := a.next[from : from+a.stride]
		row[1] = a.escape
		for c, to := range t.row(at)[2:] {
			row[c+2] = state[to]
		}
	}
	copy(a.next[a.escape:], a.next[:a.stride])
}

// step returns the state after c.
func (a *automaton) step(state uint32, c byte) uint32 { return a.next[state+uint32(a.class[c])] }

// at returns the words that end at a state from limit on, longest first.
func (a *automaton) at(state uint32) []int { return a.found[(state-a.limit)/a.stride] }
