package transcript

import "strconv"

// Value is one value of a JSON text, in a list of all of them in the order in
// which they begin. What it holds follows it.
type Value struct {
	Start, End int    // it is raw[Start:End]
	Key        string // of a member its name, of an element its index, else ""
	Member     bool   // of an object
	Depth      int
	Next       int // the value after this one and all it holds
	Children   int
}

// Values lists the values of a JSON text that dialect.Valid accepts, without
// recursion.
func Values(raw []byte) []Value {
	t := parse(raw)
	out := make([]Value, len(t.nodes))
	var open, seen []int // the values that hold the one at hand, and how many it has passed in each
	for i, n := range t.nodes {
		for len(open) > 0 && out[open[len(open)-1]].Next <= i {
			open, seen = open[:len(open)-1], seen[:len(seen)-1]
		}
		v := Value{Start: int(n.start), End: int(n.end), Member: n.key >= 0, Depth: len(open), Next: int(n.next), Children: int(n.size)}
		if len(open) > 0 {
			if v.Key = strconv.Itoa(seen[len(seen)-1]); v.Member {
				v.Key = t.name(int32(i))
			}
			seen[len(seen)-1]++
		}
		if n.size > 0 {
			open, seen = append(open, i), append(seen, 0)
		}
		out[i] = v
	}
	return out
}
