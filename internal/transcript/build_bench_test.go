package transcript

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"agentrec/internal/dialect"
	"agentrec/store"
)

// benchFrames is how many frames the benchmarks' session has; set
// AGENTREC_BENCH_FRAMES for another number.
func benchFrames() int {
	if n, err := strconv.Atoi(os.Getenv("AGENTREC_BENCH_FRAMES")); err == nil {
		return n
	}
	return 100_000
}

// longSession stores a phi session of n frames: turns of 1,000 deltas with a
// call in the middle, about 130 bytes a frame.
func longSession(b *testing.B, n int) *store.Session {
	b.Helper()
	ctx := context.Background()
	db, err := store.Open(ctx, filepath.Join(b.TempDir(), "long.db"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { db.Close() })
	w, err := db.Begin(ctx, store.Start{Started: time.Unix(1700000000, 0), Argv: []string{"phi", "serve"}, Dialect: "phi"})
	if err != nil {
		b.Fatal(err)
	}
	at := time.Duration(0)
	frame := func(s store.Stream, format string, args ...any) {
		at += 100 * time.Microsecond
		w.Frame(s, at, fmt.Appendf(nil, format, args...), store.LF)
		n--
		if n%8192 == 0 {
			if err := w.Commit(ctx, nil); err != nil {
				b.Fatal(err)
			}
		}
	}
	for seq := 1; n > 0; {
		frame(store.In, `{"type": "run", "session_id": "demo", "query": "question %d"}`, seq)
		for i := 0; i < 1000 && n > 4; i++ {
			if i == 500 {
				frame(store.Out, `{"type":"tool_call","seq":%d,"call_id":"call-%d","name":"read_file","args":{"path":"/a/%d"}}`, seq, i, i)
				frame(store.In, `{"type": "tool_result", "call_id": "call-%d", "summary": "contents"}`, i)
			}
			frame(store.Out, `{"type":"event","seq":%d,"runtimeEventType":"textDelta","session_id":{"external_id":null,"id":2},"text":"word %d "}`, seq, i)
			seq++
		}
		frame(store.Out, `{"type":"done","seq":%d,"outcome":"completed"}`, seq)
	}
	if err := w.Close(ctx, store.End{State: store.Closed, Exit: &store.Exit{}}); err != nil {
		b.Fatal(err)
	}
	s, err := db.Find(ctx, "last")
	if err != nil {
		b.Fatal(err)
	}
	return s
}

func BenchmarkBuild(b *testing.B) {
	s := longSession(b, benchFrames())
	d, err := dialect.Builtin("phi")
	if err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	for b.Loop() {
		t, err := Build(context.Background(), s, d)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(len(t.Entries))/1e6, "Mframes")
	}
}

func BenchmarkFrames(b *testing.B) {
	s := longSession(b, benchFrames())
	b.ResetTimer()
	for b.Loop() {
		for _, err := range s.Frames(context.Background(), 1, 0) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}
