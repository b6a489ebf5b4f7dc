package store

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// BenchmarkExchanges writes and reads 50 requests whose history has grown to
// 500 KB, and says what they take in the file.
func BenchmarkExchanges(b *testing.B) {
	rng := rand.New(rand.NewPCG(3, 4))
	words := func(n int) string {
		var s strings.Builder
		for s.Len() < n {
			fmt.Fprintf(&s, "w%x ", rng.IntN(1<<14))
		}
		return s.String()
	}
	history := words(450 << 10)
	var list []Exchange
	raw := int64(0)
	for i := range 50 {
		history += words(1 << 10)
		x := exchange(fmt.Sprintf(`{"n":%d,"messages":"%s","tools":[]}`, i, history), strings.Repeat("data: {\"delta\":\"word\"}\n\n", 200))
		list = append(list, x)
		raw += int64(len(x.Body))
	}
	db := newDB(b)
	w := begin(b, db, Start{})
	for _, x := range list {
		w.Exchange(x)
	}
	closeWriter(b, w)
	s := w.Session()
	b.Run("write", func(b *testing.B) {
		b.SetBytes(raw)
		for b.Loop() {
			db := newDB(b)
			w := begin(b, db, Start{})
			for _, x := range list {
				w.Exchange(x)
				commit(b, w, "")
			}
			closeWriter(b, w)
		}
		taken := 0
		if err := s.db.write.QueryRow("SELECT sum(length(data)) FROM body").Scan(&taken); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(taken), "stored-bytes")
	})
	b.Run("read", func(b *testing.B) {
		b.SetBytes(raw)
		for b.Loop() {
			for _, err := range s.Exchanges(b.Context()) {
				if err != nil {
					b.Fatal(err)
				}
			}
		}
	})
	b.Run("one", func(b *testing.B) {
		for b.Loop() {
			if _, err := s.Exchange(b.Context(), int64(1+rng.IntN(50))); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("heads", func(b *testing.B) {
		for b.Loop() {
			for _, err := range s.ExchangeHeads(b.Context()) {
				if err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}
