package transcript

import (
	"testing"

	"agentrec/internal/dialect"
)

// BenchmarkText indexes the text of a session, and searches it for what stands
// once, for what stands nowhere, and for the first hit of what stands
// everywhere, with and without the index.
func BenchmarkText(b *testing.B) {
	s := longSession(b, benchFrames())
	d, err := dialect.Builtin("phi")
	if err != nil {
		b.Fatal(err)
	}
	t, err := Build(b.Context(), s, d)
	if err != nil {
		b.Fatal(err)
	}
	dir := b.TempDir()
	b.Run("index", func(b *testing.B) {
		for b.Loop() {
			x := newText(s, d)
			if err := x.Extend(b.Context(), func(int64) {}); err != nil {
				b.Fatal(err)
			}
		}
	})
	x, err := openText(b.Context(), s, d, dir, 1, func(int64) {})
	if err != nil {
		b.Fatal(err)
	}
	defer x.Close()
	for _, c := range []struct {
		name, expr string
		most       int
	}{
		{"once", `text:"question 50001"`, 1 << 30}, {"regexp", `/Question\s5000\d\b/i`, 1 << 30}, {"nowhere", `text:"no such words"`, 1 << 30}, {"everywhere", `text:"word 7"`, 1},
	} {
		f, err := ParseFilter(c.expr)
		if err != nil {
			b.Fatal(err)
		}
		for name, with := range map[string]*Text{"indexed": x, "plain": nil} {
			b.Run(c.name+"/"+name, func(b *testing.B) {
				t.UseText(with)
				hits := 0
				for b.Loop() {
					hits = 0
					if err := t.Search(b.Context(), f, func(int64) bool { hits++; return hits < c.most }, func(int64) {}); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(hits), "hits")
			})
		}
	}
	b.Run("open", func(b *testing.B) {
		for b.Loop() {
			y, err := openText(b.Context(), s, d, dir, 1, func(int64) {})
			if err != nil {
				b.Fatal(err)
			}
			y.Close()
		}
	})
}
