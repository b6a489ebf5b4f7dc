package transcript

// pairUp aligns two lists: equal elements first (Align); what lies between them
// pairs in order where alike allows it. Each pair holds indexes, -1 for none.
func pairUp(a, b []string, alike func(x, y string) bool) [][2]int {
	var out [][2]int
	i, j := 0, 0
	for k, m := range Align(a, b) {
		if m < 0 {
			continue
		}
		out = between(out, a, b, i, k, j, m, alike)
		out = append(out, [2]int{k, m})
		i, j = k+1, m+1
	}
	return between(out, a, b, i, len(a), j, len(b), alike)
}

// between pairs a[i:iEnd] with b[j:jEnd], of which none are equal: each with
// the first one alike that keeps the order.
func between(out [][2]int, a, b []string, i, iEnd, j, jEnd int, alike func(x, y string) bool) [][2]int {
	for i < iEnd {
		k := j
		for k < jEnd && !alike(a[i], b[k]) {
			k++
		}
		if k == jEnd {
			out = append(out, [2]int{i, -1})
			i++
			continue
		}
		for ; j < k; j++ {
			out = append(out, [2]int{-1, j})
		}
		out = append(out, [2]int{i, j})
		i++
		j++
	}
	for ; j < jEnd; j++ {
		out = append(out, [2]int{-1, j})
	}
	return out
}
