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

type node struct {
	next  map[uint8]int
	fail  int
	words []int
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

	nodes := []*node{{next: map[uint8]int{}}}
	for id, w := range words {
		at := 0
		for i := range len(w) {
			c := a.class[w[i]]
			to, ok := nodes[at].next[c]
			if !ok {
				to = len(nodes)
				nodes = append(nodes, &node{next: map[uint8]int{}})
				nodes[at].next[c] = to
			}
			at = to
		}
		nodes[at].words = append(nodes[at].words, id)
	}
	a.compile(nodes, link(nodes, classes))
	return a
}

// link completes the transitions and returns the nodes breadth first.
func link(nodes []*node, classes int) []int {
	order := []int{0}
	for i := 0; i < len(order); i++ {
		at := order[i]
		for c := uint8(2); int(c) < classes; c++ {
			to, ok := nodes[at].next[c]
			back := 0
			if at != 0 {
				back = nodes[nodes[at].fail].next[c]
			}
			if !ok {
				nodes[at].next[c] = back
				continue
			}
			nodes[to].fail = back
			nodes[to].words = append(nodes[to].words, nodes[back].words...)
			order = append(order, to)
		}
	}
	return order
}

// compile numbers the states so that those that end a word come last.
func (a *automaton) compile(nodes []*node, order []int) {
	state := make([]uint32, len(nodes))
	n := uint32(0)
	for _, at := range order {
		if len(nodes[at].words) == 0 {
			state[at], n = n*a.stride, n+1
		}
	}
	a.limit = n * a.stride
	for _, at := range order {
		if len(nodes[at].words) > 0 {
			state[at], n = n*a.stride, n+1
			a.found = append(a.found, nodes[at].words)
		}
	}
	a.escape = n * a.stride
	a.found = append(a.found, nil)
	a.next = make([]uint32, (n+1)*a.stride)
	for i, node := range nodes {
		row := a.next[state[i] : state[i]+a.stride]
		row[1] = a.escape
		for c := uint8(2); uint32(c) < a.stride; c++ {
			row[c] = state[node.next[c]]
		}
	}
	copy(a.next[a.escape:], a.next[:a.stride])
}

// step returns the state after c.
func (a *automaton) step(state uint32, c byte) uint32 { return a.next[state+uint32(a.class[c])] }

// at returns the words that end at a state from limit on, longest first.
func (a *automaton) at(state uint32) []int { return a.found[(state-a.limit)/a.stride] }
