package store

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// words is text that compresses like words do, not like one repeated frame.
func words(rng *rand.Rand, n int) []byte {
	list := []string{"the ", "agent ", "calls ", "read_file ", "with ", "path ", "and ", "waits ", "for ", "an ", "answer ", "that ", "comes ", "0x%x "}
	var b bytes.Buffer
	for b.Len() < n {
		w := list[rng.IntN(len(list))]
		if w[0] == '0' {
			w = fmt.Sprintf(w, rng.Uint32())
		}
		b.WriteString(w)
	}
	return b.Bytes()[:n]
}

// frames makes frames of about size bytes, as an agent that streams text does.
func benchFrames(size, n int) [][]byte {
	rng := rand.New(rand.NewPCG(1, uint64(size)))
	list := make([][]byte, n)
	for i := range list {
		const head, tail = `{"type":"runtime_event","session_id":"01K4ZQ9S3M8N5V0T2B7C6D1E4F","event":{"runtimeEventType":"text_delta","delta":"`, `"}}`
		list[i] = append(append([]byte(head), words(rng, max(8, size-len(head)-len(tail)))...), tail...)
	}
	return list
}

func BenchmarkWriter(b *testing.B) {
	for _, size := range []int{200, 2 << 10, 64 << 10, 1 << 20} {
		list := benchFrames(size, max(8, min(4096, (16<<20)/size)))
		for _, every := range []int{64 << 10, 4 << 20} {
			b.Run(fmt.Sprintf("%dB/commit%dK", size, every>>10), func(b *testing.B) {
				db := newDB(b)
				w := begin(b, db, Start{})
				b.SetBytes(int64(size))
				weight := 0
				n := 0
				for b.Loop() {
					raw := list[n%len(list)]
					w.Frame(Out, time.Duration(n)*100*time.Microsecond, raw, LF)
					n++
					if weight += len(raw); weight >= every {
						weight = 0
						if err := w.Commit(b.Context(), nil); err != nil {
							b.Fatal(err)
						}
					}
				}
				if err := w.Commit(b.Context(), nil); err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "frames/s")
				b.StopTimer()
				closeWriter(b, w)
				db.Close()
				if info, err := os.Stat(db.Path()); err == nil && n > 0 {
					b.ReportMetric(float64(info.Size())/float64(n), "B/frame")
				}
			})
		}
	}
}

// million makes a closed session of n frames and opens it for reading.
func million(b *testing.B, n, size int) *Session {
	b.Helper()
	path := filepath.Join(b.TempDir(), "a.db")
	db := openDB(b, path)
	w := begin(b, db, Start{})
	list := benchFrames(size, 4096)
	for i := range n {
		w.Frame(Stream(i%2), time.Duration(i)*100*time.Microsecond, list[i%len(list)], LF)
		if i%20000 == 0 {
			commit(b, w, "")
		}
	}
	closeWriter(b, w)
	db.Close()
	s, err := openRead(b, path).Find(b.Context(), "")
	if err != nil {
		b.Fatal(err)
	}
	return s
}

func BenchmarkRead(b *testing.B) {
	const n = 1_000_000
	s := million(b, n, 200)
	b.Run("open+first50", func(b *testing.B) {
		for b.Loop() {
			db, err := OpenRead(b.Context(), s.db.Path())
			if err != nil {
				b.Fatal(err)
			}
			s, err := db.Find(b.Context(), "")
			if err != nil {
				b.Fatal(err)
			}
			for _, err := range s.Frames(b.Context(), 1, 50) {
				if err != nil {
					b.Fatal(err)
				}
			}
			db.Close()
		}
	})
	b.Run("frames1M", func(b *testing.B) {
		for b.Loop() {
			k := 0
			for _, err := range s.Frames(b.Context(), 0, 0) {
				if err != nil {
					b.Fatal(err)
				}
				k++
			}
			if k != n {
				b.Fatal(k)
			}
		}
		b.ReportMetric(n*float64(b.N)/b.Elapsed().Seconds(), "frames/s")
	})
	b.Run("metas1M", func(b *testing.B) {
		for b.Loop() {
			k := 0
			for _, err := range s.Metas(b.Context(), 0, 0) {
				if err != nil {
					b.Fatal(err)
				}
				k++
			}
			if k != n {
				b.Fatal(k)
			}
		}
		b.ReportMetric(n*float64(b.N)/b.Elapsed().Seconds(), "frames/s")
	})
	b.Run("random50", func(b *testing.B) {
		for b.Loop() {
			seq := 1 + rand.Int64N(n-50)
			for _, err := range s.Frames(b.Context(), seq, seq+49) {
				if err != nil {
					b.Fatal(err)
				}
			}
		}
	})
	b.Run("randomFrame", func(b *testing.B) {
		for b.Loop() {
			if _, err := s.Frame(b.Context(), 1+rand.Int64N(n)); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("verify1M", func(b *testing.B) {
		for b.Loop() {
			if got, err := Verify(b.Context(), s); err != nil || got.Verdict != Whole {
				b.Fatal(got, err)
			}
		}
	})
}

func BenchmarkReadLong(b *testing.B) {
	for _, size := range []int{64 << 10, 255 << 10, 1 << 20} {
		for _, kind := range []string{"text", "noise"} {
			b.Run(fmt.Sprintf("%dK%s", size>>10, kind), func(b *testing.B) {
				db := newDB(b)
				w := begin(b, db, Start{})
				rng := rand.New(rand.NewPCG(1, 2))
				const n = 40
				for range n {
					raw := words(rng, size)
					if kind == "noise" {
						for i := range raw {
							raw[i] = byte(rng.Uint32())
						}
					}
					w.Frame(Out, 0, raw, LF)
				}
				closeWriter(b, w)
				s, err := db.Find(b.Context(), "")
				if err != nil {
					b.Fatal(err)
				}
				b.SetBytes(int64(size))
				for b.Loop() {
					if _, err := s.Frame(b.Context(), 1+rand.Int64N(n)); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkOpen(b *testing.B) {
	b.Run("new", func(b *testing.B) {
		dir := b.TempDir()
		n := 0
		for b.Loop() {
			n++
			db, err := Open(b.Context(), filepath.Join(dir, fmt.Sprint(n)))
			if err != nil {
				b.Fatal(err)
			}
			db.Close()
		}
	})
	path := filepath.Join(b.TempDir(), "a.db")
	openDB(b, path).Close()
	b.Run("again", func(b *testing.B) {
		for b.Loop() {
			db, err := Open(b.Context(), path)
			if err != nil {
				b.Fatal(err)
			}
			db.Close()
		}
	})
	b.Run("read", func(b *testing.B) {
		for b.Loop() {
			db, err := OpenRead(b.Context(), path)
			if err != nil {
				b.Fatal(err)
			}
			db.Close()
		}
	})
	b.Run("session", func(b *testing.B) {
		db := openDB(b, path)
		for b.Loop() {
			w := begin(b, db, Start{})
			w.Frame(In, 0, []byte("{}"), LF)
			closeWriter(b, w)
		}
	})
	b.Run("commit1", func(b *testing.B) {
		w := begin(b, openDB(b, path), Start{})
		for b.Loop() {
			w.Frame(In, 0, []byte("{}"), LF)
			commit(b, w, "")
		}
	})
}
