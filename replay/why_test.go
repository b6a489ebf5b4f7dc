package replay

import (
	"os"
	"path/filepath"
	"testing"

	"agentrec/store"
)

// Every cause in every case has a reason, and the reason fits: an order or an
// answer is what the agent sends, everything else what the client does.
func TestWhy(t *testing.T) {
	files, err := filepath.Glob("testdata/cases/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	used := map[string]bool{}
	check := func(file, name string, recording []string) {
		s := newMemory(t, name, matching{}, recording).s
		x := explainer{s: s}
		for i := range s.items {
			if s.items[i].stream != store.Out {
				continue
			}
			var line Explained
			x.waits(int32(i), &s.items[i], &line)
			for _, w := range line.Waits {
				used[w.Why] = true
				if sent := w.Why == whyOrder || w.Why == whyResponse; w.Why == "" || sent != w.Sent {
					t.Errorf("%s: frame %d waits for %d, sent %v: %q", file, s.items[i].seq, w.Seq, w.Sent, w.Why)
				}
			}
		}
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name, recording, _ := parseCase(t, string(b))
		check(file, name, recording)
	}
	check("a terminal of one conversation in another", "acp", []string{
		`out {"jsonrpc":"2.0","id":1,"method":"terminal/create","params":{"sessionId":"A","command":"x"}}`,
		`in {"jsonrpc":"2.0","id":1,"result":{"terminalId":"term-1"}}`,
		`in {"jsonrpc":"2.0","id":5,"method":"session/prompt","params":{"sessionId":"B","prompt":[]}}`,
		`out {"jsonrpc":"2.0","id":2,"method":"terminal/output","params":{"sessionId":"B","terminalId":"term-1"}}`,
	})
	for _, why := range []string{whyEnding, whyRequest, whyCancel, whyOpener, whyAlone, whyData, whyGate, whyAll, whyUnlaned, whyOrder, whyResponse} {
		if !used[why] {
			t.Errorf("no case has a cause that is one because %q", why)
		}
	}
}
