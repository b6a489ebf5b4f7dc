package transcript

import (
	"math/rand/v2"
	"testing"
)

// check demands that match pairs equal elements without crossings and returns
// how many it pairs.
func checkMatch[T comparable](t *testing.T, a, b []T, match []int) int {
	t.Helper()
	if len(match) != len(a) {
		t.Fatalf("%d results for %d elements", len(match), len(a))
	}
	last, pairs := -1, 0
	for i, j := range match {
		if j < 0 {
			continue
		}
		if j <= last || j >= len(b) || a[i] != b[j] {
			t.Fatalf("wrong pair %d,%d after %d", i, j, last)
		}
		last, pairs = j, pairs+1
	}
	return pairs
}

// lcs is the textbook length of the longest common subsequence.
func lcs(a, b []byte) int {
	row := make([]int, len(b)+1)
	for _, x := range a {
		diag := 0
		for j, y := range b {
			up := row[j+1]
			if x == y {
				row[j+1] = diag + 1
			} else {
				row[j+1] = max(row[j+1], row[j])
			}
			diag = up
		}
	}
	return row[len(b)]
}

func FuzzAlign(f *testing.F) {
	f.Add([]byte("abcabba"), []byte("cbabac"))
	f.Add([]byte(""), []byte("x"))
	f.Add([]byte("aaaa"), []byte("aa"))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		if len(a)+len(b) > 600 {
			return
		}
		if got, want := checkMatch(t, a, b, Align(a, b)), lcs(a, b); got != want {
			t.Fatalf("%q and %q: %d pairs, want %d", a, b, got, want)
		}
	})
}

func TestAlignManyChanges(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for name, values := range map[string]int{"mostly unique": 1 << 30, "few values": 50} {
		var a, b []int
		for range 20000 {
			v := r.IntN(values)
			switch r.IntN(4) {
			case 0:
				a = append(a, v)
			case 1:
				b = append(b, v)
			default:
				a, b = append(a, v), append(b, v)
			}
		}
		if got := checkMatch(t, a, b, Align(a, b)); got < len(a)/3 {
			t.Errorf("%s: only %d of %d paired", name, got, len(a))
		}
	}
}
