package transcript

import "sort"

// Align pairs equal elements of a and b without crossings, as many as it can:
// the result has for each element of a the index of its partner in b, or -1.
// It is a longest common subsequence when a and b differ in few places (Myers),
// and else one between anchors, the elements that occur once in both
// (patience). Time stays near linear for recordings of the same conversation,
// and is bounded for any two.
func Align[T comparable](a, b []T) []int {
	match := make([]int, len(a))
	for i := range match {
		match[i] = -1
	}
	type area struct{ a0, a1, b0, b1 int }
	todo := []area{{0, len(a), 0, len(b)}}
	for len(todo) > 0 {
		r := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for r.a0 < r.a1 && r.b0 < r.b1 && a[r.a0] == b[r.b0] {
			match[r.a0] = r.b0
			r.a0, r.b0 = r.a0+1, r.b0+1
		}
		for r.a0 < r.a1 && r.b0 < r.b1 && a[r.a1-1] == b[r.b1-1] {
			r.a1, r.b1 = r.a1-1, r.b1-1
			match[r.a1] = r.b1
		}
		if r.a0 == r.a1 || r.b0 == r.b1 {
			continue
		}
		sub := match[r.a0:r.a1]
		trace, x, y := myers(a[r.a0:r.a1], b[r.b0:r.b1])
		if x == r.a1-r.a0 && y == r.b1-r.b0 {
			backtrack(trace, x, y, sub, r.b0)
			continue
		}
		pins := anchors(a[r.a0:r.a1], b[r.b0:r.b1])
		if len(pins) == 0 {
			backtrack(trace, x, y, sub, r.b0)
			todo = append(todo, area{r.a0 + x, r.a1, r.b0 + y, r.b1})
			continue
		}
		pa, pb := r.a0, r.b0
		for _, p := range pins {
			i, j := r.a0+p[0], r.b0+p[1]
			match[i] = j
			todo = append(todo, area{pa, i, pb, j})
			pa, pb = i+1, j+1
		}
		todo = append(todo, area{pa, r.a1, pb, r.b1})
	}
	return match
}

// maxEdits bounds the memory of myers: about maxEdits² words of 4 bytes.
const maxEdits = 1024

// myers looks for a shortest edit script and returns its trace with how far in
// a and b it came: to both ends, or where maxEdits edits led furthest.
// (E. Myers, An O(ND) Difference Algorithm, 1986.)
func myers[T comparable](a, b []T) (trace [][]int32, farX, farY int) {
	n, m := len(a), len(b)
	limit := min(n+m, maxEdits)
	v := make([]int32, 2*limit+2)
	for d := 0; d <= limit; d++ {
		trace = append(trace, append([]int32(nil), v[limit-d:limit+d+2]...))
		farX, farY = 0, 0
		for k := -d; k <= d; k += 2 {
			var x int
			if k == -d || k != d && v[limit+k-1] < v[limit+k+1] {
				x = int(v[limit+k+1])
			} else {
				x = int(v[limit+k-1]) + 1
			}
			y := x - k
			for x < n && y < m && a[x] == b[y] {
				x, y = x+1, y+1
			}
			v[limit+k] = int32(x)
			if x >= n && y >= m {
				return trace, n, m
			}
			if x <= n && y <= m && x+y > farX+farY {
				farX, farY = x, y
			}
		}
	}
	return trace, farX, farY
}

// backtrack walks the trace of myers from the end and notes the diagonals.
func backtrack(trace [][]int32, x, y int, match []int, shift int) {
	for d := len(trace) - 1; d >= 0; d-- {
		v := trace[d] // v[d+k] is the furthest x on diagonal k before step d
		k := x - y
		px := 0
		pk := k - 1
		if d > 0 {
			if k == -d || k != d && v[d+k-1] < v[d+k+1] {
				pk = k + 1
			}
			px = int(v[d+pk])
		}
		py := px - pk
		if d == 0 {
			px, py = 0, 0
		}
		for x > px && y > py {
			x, y = x-1, y-1
			match[x] = y + shift
		}
		x, y = px, py
	}
}

// anchors pairs the elements that occur exactly once in both, the longest run
// of them that does not cross.
func anchors[T comparable](a, b []T) [][2]int {
	type seen struct{ inA, inB, at int }
	where := make(map[T]*seen, len(b))
	for j, e := range b {
		if s := where[e]; s != nil {
			s.inB++
			continue
		}
		where[e] = &seen{inB: 1, at: j}
	}
	for _, e := range a {
		if s := where[e]; s != nil {
			s.inA++
		}
	}
	var pairs [][2]int // in order of a
	for i, e := range a {
		if s := where[e]; s != nil && s.inA == 1 && s.inB == 1 {
			pairs = append(pairs, [2]int{i, s.at})
		}
	}
	// The longest increasing subsequence over the second place.
	tails, back := []int{}, make([]int, len(pairs))
	for p, pair := range pairs {
		t := sort.Search(len(tails), func(t int) bool { return pairs[tails[t]][1] >= pair[1] })
		back[p] = -1
		if t > 0 {
			back[p] = tails[t-1]
		}
		if t == len(tails) {
			tails = append(tails, p)
		} else {
			tails[t] = p
		}
	}
	out := make([][2]int, len(tails))
	if len(tails) == 0 {
		return out
	}
	for p, t := tails[len(tails)-1], len(tails)-1; t >= 0; p, t = back[p], t-1 {
		out[t] = pairs[p]
	}
	return out
}
