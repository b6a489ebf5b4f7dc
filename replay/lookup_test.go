package replay

import (
	"fmt"
	"testing"
)

// A client that sends many calls in another order finds each, however far ahead it
// was recorded.
func TestManyInAnotherOrder(t *testing.T) {
	const n = maxCandidates + 40
	var lines []string
	for k := range n {
		lines = append(lines, fmt.Sprintf(`in {"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"k":%d}}`, k, k), fmt.Sprintf(`out {"jsonrpc":"2.0","id":%d,"result":%d}`, k, k))
	}
	m := newMemory(t, "mcp", matching{}, lines)
	m.lines(m.e.start())
	for k := n - 1; k >= 0; k -= 5 {
		want := fmt.Sprintf(`{"jsonrpc":"2.0","id":"x%d","result":%d}`, k, k)
		if got := m.lines(m.e.frame(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":"x%d","method":"tools/call","params":{"k":%d}}`, k, k))); len(got) != 1 || got[0] != want {
			t.Fatalf("call %d is answered by %q", k, got)
		}
	}
}

// Each of many calls is held against few: the whole recording would be held
// against the whole client.
func TestLookupOfMany(t *testing.T) {
	const n = 400
	call := func(id, k int) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"echo","arguments":{"say":"word %d"}}}`, id, k)
	}
	answer := func(id, k int) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"word %d"}]}}`, id, k)
	}
	var lines []string
	for k := range n {
		lines = append(lines, "in "+call(k, k), "out "+answer(k, k))
	}
	m := newMemory(t, "mcp", matching{lookup: ExhaustedFail}, lines)
	fetched := 0
	m.e.fetch = func(i int32) []byte { fetched++; return m.raw[i] }
	m.lines(m.e.start())
	for k := n - 1; k >= 0; k-- {
		if got := m.lines(m.e.frame([]byte(call(7000+k, k)))); len(got) != 1 || got[0] != answer(7000+k, k) {
			t.Fatalf("call %d is answered by %q", k, got)
		}
	}
	if got := m.lines(m.e.frame([]byte(call(1, 3)))); len(got) != 1 || len(m.v.diverge) != 1 || m.v.diverge[0].Accept != "--lookup --exhausted last" {
		t.Errorf("a call too many is answered by %q, %+v", got, m.v.diverge)
	}
	if fetched > 20*n {
		t.Errorf("%d recorded frames were read for %d calls", fetched, n)
	}
}
