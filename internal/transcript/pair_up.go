package transcript

// maxCells bounds the work of finding the longest common sequence, in cells.
const maxCells = 4 << 20

// pairUp aligns two lists: equal elements first, in the longest common order;
// what lies between them pairs in order where alike allows it. Each pair holds
// indexes, -1 for none.
func pairUp(a, b []string, alike func(x, y string) bool) [][2]int {
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	var out [][2]int
	for i := range head {
		out = append(out, [2]int{i, i})
	}
	i, j := head, head
	for _, m := range common(a[head:len(a)-tail], b[head:len(b)-tail]) {
		out = between(out, a, b, i, head+m[0], j, head+m[1], alike)
		out = append(out, [2]int{head + m[0], head + m[1]})
		i, j = head+m[0]+1, head+m[1]+1
	}
	out = between(out, a, b, i, len(a)-tail, j, len(b)-tail, alike)
	for k := range tail {
		out = append(out, [2]int{len(a) - tail + k, len(b) - tail + k})
	}
	return out
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

// common returns the longest common subsequence as pairs of indexes; none when
// finding it would take too long.
func common(a, b []string) [][2]int {
	if len(a) == 0 || len(b) == 0 || len(a) > maxCells/len(b) {
		return nil
	}
	width := len(b) + 1
	length := make([]int32, (len(a)+1)*width)
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				length[i*width+j] = length[(i+1)*width+j+1] + 1
			} else {
				length[i*width+j] = max(length[(i+1)*width+j], length[i*width+j+1])
			}
		}
	}
	var out [][2]int
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] == b[j]:
			out = append(out, [2]int{i, j})
			i++
			j++
		case length[(i+1)*width+j] >= length[i*width+j+1]:
			i++
		default:
			j++
		}
	}
	return out
}
