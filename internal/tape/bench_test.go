package tape

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"agentrec/store"
)

// stream returns about n bytes of frames of a size, of random words.
func stream(n, size int) []byte {
	words := bytes.Fields([]byte("the of and to in is that for it as was with be by on not he his but at are this have from or had an they which one you were her all there would their we him been has when who will more no if out so said what up its about into than them can only other new some could time these two may then do first any my now such like our over man me even most made after also did many before must through back years where much your way well down should because each just those people how too little state good very make world still own see men work long get here between both life being under never day same another know while last might us great old year off come since against go came right used take three"))
	r := rand.New(rand.NewPCG(1, uint64(size)))
	var b bytes.Buffer
	for b.Len() < n {
		start := b.Len()
		fmt.Fprintf(&b, `{"type":"message_update","seq":%d,"delta":"`, r.IntN(1e9))
		for b.Len()-start < size-3 {
			b.Write(words[r.IntN(len(words))])
			b.WriteByte(' ')
		}
		b.Truncate(start + size - 3)
		b.WriteString("\"}\n")
	}
	return b.Bytes()
}

// BenchmarkAppend is the hot path without reading and forwarding.
func BenchmarkAppend(b *testing.B) {
	for _, size := range []int{200, 2 << 10, MaxChunk} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			tape := create(b)
			tape.limit.Store(1 << 40)
			chunk := stream(size, size)[:size]
			b.SetBytes(int64(size))
			for b.Loop() {
				if err := tape.Append(store.Out, chunk); err != nil {
					b.Fatal(err)
				}
				if tape.end > 1<<30 {
					tape.file.Truncate(0)
					tape.end = 0
				}
			}
		})
	}
}

// BenchmarkDrain is all behind the hot path: open, cut, detect, redact, pack
// and store. The frames are random words, which compress badly.
func BenchmarkDrain(b *testing.B) {
	for _, redact := range []bool{false, true} {
		for _, size := range []int{200, 2 << 10, MaxChunk} {
			b.Run(fmt.Sprintf("redact=%v/%d", redact, size), func(b *testing.B) {
				data := stream(16<<20, size)
				b.SetBytes(int64(len(data)))
				for b.Loop() {
					b.StopTimer()
					tape, err := Create(filepath.Join(b.TempDir(), "session.db"), Start{Started: time.Now(), Argv: []string{"agent"}, Unredacted: !redact})
					if err != nil {
						b.Fatal(err)
					}
					for p := data; len(p) > 0; {
						n := min(len(p), MaxChunk)
						appendTo(b, tape, store.Out, string(p[:n]))
						p = p[n:]
					}
					db := openStore(b, tape.db)
					d := begin(b, tape, db)
					b.StartTimer()
					if err := d.drainAll(b.Context(), tape.length.Load()); err != nil {
						b.Fatal(err)
					}
					b.StopTimer()
					tape.remove()
					db.Close()
					b.StartTimer()
				}
			})
		}
	}
}

// BenchmarkPiece is what a read of an answer waits for before it is forwarded.
func BenchmarkPiece(b *testing.B) {
	for _, size := range []int{100, 4 << 10, 32 << 10} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			tape := create(b)
			tape.limit.Store(1 << 40)
			piece := stream(size, size)[:size]
			x := tape.Exchange(Request{})
			b.SetBytes(int64(size))
			for b.Loop() {
				x.Piece(piece)
				x.pieces, x.kept[ofAnswer] = 0, 0
				if tape.end > 1<<30 {
					tape.file.Truncate(0)
					tape.end = 0
				}
			}
		})
	}
}

// BenchmarkDrainExchanges drains 100 exchanges of a history that grows by 2 KB
// to 300 KB, each with an answer of 500 events in reads of their own.
func BenchmarkDrainExchanges(b *testing.B) {
	history := stream(300<<10, 2<<10)
	event := stream(120, 120)
	size := int64(0)
	for b.Loop() {
		b.StopTimer()
		tape, err := Create(filepath.Join(b.TempDir(), "session.db"), Start{Started: time.Now(), Argv: []string{"agent"}})
		if err != nil {
			b.Fatal(err)
		}
		size = 0
		for i := range 100 {
			x := tape.Exchange(Request{Method: "POST", URL: "http://h/v1/chat/completions"})
			body := history[:100<<10+i<<11]
			x.Body(body)
			x.Answer(200, nil)
			for range 500 {
				x.Piece(event)
			}
			x.End(store.Done, nil, "")
			size += int64(len(body) + 500*len(event))
		}
		db := openStore(b, tape.db)
		d := begin(b, tape, db)
		b.StartTimer()
		if err := d.drainAll(b.Context(), tape.length.Load()); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		tape.remove()
		db.Close()
		b.StartTimer()
	}
	b.SetBytes(size)
}
