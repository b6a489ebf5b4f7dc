package inspect

import (
	"reflect"
	"strings"
	"testing"
)

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		in   string
		n    int
		want []string
	}{
		{"", 10, []string{""}},
		{"one two three", 8, []string{"one two", "three"}},
		{"one two three", 0, []string{"one two three"}},
		{"a\nb\n\nc\n", 10, []string{"a", "b", "", "c"}},
		{"abcdefghij", 4, []string{"abcd", "efgh", "ij"}},
		{"日本語日本語", 5, []string{"日本", "語日", "本語"}},
		{"  - a long item", 9, []string{"  - a", "  long", "  item"}},
		{"a\x1b[0m b", 6, []string{`a\x1b[`, "0m b"}},
		{"exact fit", 9, []string{"exact fit"}},
		{"exact fits", 9, []string{"exact", "fits"}},
	} {
		if got := wrap(c.in, c.n); !reflect.DeepEqual(got, c.want) {
			t.Errorf("wrap(%q, %d) = %q, want %q", c.in, c.n, got, c.want)
		}
	}
}

func FuzzWrap(f *testing.F) {
	f.Add("some text to wrap", 5)
	f.Add("    deep\n\t\x1b]0;x", 7)
	f.Add("日本 語日 本語", 3)
	f.Fuzz(func(t *testing.T, s string, n int) {
		if n < 2 || n > 200 || len(s) > 2000 {
			return
		}
		lines := wrap(s, n)
		for _, l := range lines {
			harmless(t, l, false)
			if w := width(l); w > n {
				t.Fatalf("%q is %d wide, more than %d", l, w, n)
			}
		}
		squeeze := func(s string) string { return strings.Join(strings.Fields(s), "") }
		if got, want := squeeze(strings.Join(lines, "")), squeeze(visibleLines(strings.ReplaceAll(s, "\r\n", "\n"))); got != want {
			t.Fatalf("text changed: %q, want %q", got, want)
		}
	})
}
