package store

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestSize holds what a recording takes on disk, as the file that is left: an
// agent that repeats its whole message twice for each word, and one that sends
// only the words.
func TestSize(t *testing.T) {
	text := words(rand.New(rand.NewPCG(3, 3)), 24<<10)
	for name, c := range map[string]struct {
		least int64 // raw bytes for each one on disk
		frame func(i int) []byte
		n     int
	}{
		"snapshots": {40, func(i int) []byte {
			return fmt.Appendf(nil, `{"type":"message_update","delta":"%s","partial":{"text":"%s"},"message":{"text":"%s"}}`,
				text[i*20:i*20+20], text[:i*20+20], text[:i*20+20])
		}, 1200},
		"deltas": {9, func(i int) []byte {
			return fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"01K4ZQ9S3M8N5V0T2B7C6D1E4F","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"%s"}}}}`,
				text[i*13%(23<<10):][:8])
		}, 40000},
	} {
		path := filepath.Join(t.TempDir(), "s.db")
		db := openDB(t, path)
		w := begin(t, db, Start{})
		raw, weight := int64(0), 0
		for i := range c.n {
			f := c.frame(i)
			w.Frame(Out, time.Duration(i)*time.Millisecond, f, LF)
			raw += int64(len(f)) + 1
			if weight += len(f); weight > 400<<10 {
				commit(t, w, "")
				weight = 0
			}
		}
		closeWriter(t, w)
		free := 0
		if err := db.write.QueryRow("PRAGMA freelist_count").Scan(&free); err != nil || free >= fewPages {
			t.Errorf("%s: %d free pages are left (%v)", name, free, err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if ratio := raw / info.Size(); ratio < c.least {
			t.Errorf("%s: %d bytes on the wire take %d on disk, 1/%d; want 1/%d", name, raw, info.Size(), ratio, c.least)
		} else {
			t.Logf("%s: 1/%d", name, ratio)
		}
	}
}
