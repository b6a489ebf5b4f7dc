package dialect

import (
	"slices"
	"testing"
)

// conversation is what a real conversation must come to.
type conversation struct {
	file     string
	dialect  string
	sure     int   // frames after which the detector is sure at the latest
	raw      int   // frames that are not of the protocol
	unpaired []int // responses that answer nothing, by line
	open     []int // requests without an answer, by line
	ends     int   // turn ends
	calls    int
	cut      []string // calls without a result
}

var conversations = []conversation{
	{file: phiWire, dialect: "phi", sure: 1, ends: 2, calls: 1},
	{file: "acp__go013-client__go013-agent", dialect: "acp", sure: 2, ends: 1, calls: 2},
	{file: "acp__ts19-client__ts19-agent", dialect: "acp", sure: 2, ends: 1, calls: 2},
	{file: "acp__ts19-client__noisy-stdout-agent", dialect: "acp", sure: 3, raw: 1, unpaired: []int{3}, ends: 1, calls: 2},
	{file: "acp__acpx-0.19.1__claude-agent-acp-0.101.0", dialect: "acp", sure: 2, ends: 1, calls: 1},
	{file: "acp__ts24-client__ts24-rich-agent", dialect: "acp", sure: 2, ends: 7, calls: 4},
	{file: "acp__raw-v2-client__ts19-dual-version-agent", dialect: "acp2", sure: 2, ends: 2},
	{file: "mcp__sdk-1.32.2-client__server-everything", dialect: "mcp", sure: 1, calls: 11, cut: []string{"7"}},
	{file: "mcp__client-2.3.1-auto__server-2.3.1__main-process-mrtr", dialect: "mcp", sure: 1, calls: 3, cut: []string{"0", "st-e20c17a6-2e1b-4d49-8f0f-b59a3d3c15c3"}},
	{file: "mcp__client-2.3.1-auto__server-2.3.1__probe-process", dialect: "mcp", sure: 1},
	{file: "mcp__inspector-2.12-cli-modern-era__server-2.3.1", dialect: "mcp", sure: 1, open: []int{2}, calls: 1},
	{file: "pi-1.6.0", dialect: "pi", sure: 50, ends: 1, calls: 1},
	{file: "other__drive__claude-code-2.1.197-stream-json", dialect: "claude", sure: 1, ends: 2, calls: 2},
	{file: "other__stdin-closed__codex-0.171.0-exec-json", dialect: "codex-exec", sure: 1, ends: 1, calls: 1},
}

func TestConversations(t *testing.T) {
	for _, c := range conversations {
		t.Run(c.file, func(t *testing.T) {
			lines := wire(t, c.file)
			name, sure := detect(nil, lines)
			if name != c.dialect || sure == 0 || sure > c.sure {
				t.Errorf("detected %s after %d frames, want %s within %d", name, sure, c.dialect, c.sure)
			}
			d := builtinDialect(t, c.dialect)
			got := conversation{}
			results, called := map[string]bool{}, map[string]bool{}
			for i, l := range lines {
				r := d.Read(l.stream, l.raw)
				if r.Role == Raw {
					got.raw++
					if c.raw == 0 {
						t.Errorf("line %d is raw: %s", i, l.raw)
					}
				}
				if r.Ends || r.Shows == ShowsEnd {
					got.ends++
				}
				switch r.Shows {
				case ShowsCall:
					if r.CallID == "" && r.Together == "" || r.Name == "" {
						t.Errorf("line %d: a call without id, group or name: %s", i, l.raw)
					}
					if r.CallID != "" {
						called[r.CallID] = true
					}
				case ShowsResult:
					results[r.CallID] = true
				case ShowsPrompt, ShowsGreeting, ShowsPermission, ShowsAnswer, ShowsError:
					if r.Text == "" {
						t.Errorf("line %d shows %s without text: %s", i, r.Shows, l.raw)
					}
				}
			}
			for id := range called {
				if results[id] == slices.Contains(c.cut, id) {
					t.Errorf("the call %s has a result: %v", id, results[id])
				}
			}
			if got.raw != c.raw || got.ends != c.ends || len(called) != c.calls {
				t.Errorf("%d raw frames, %d turn ends, %d calls; want %d, %d, %d", got.raw, got.ends, len(called), c.raw, c.ends, c.calls)
			}
			_, unpaired, open := pairs(d, lines)
			if !equal(unpaired, c.unpaired) || !equal(open, c.open) {
				t.Errorf("unpaired %v, open %v; want %v, %v", unpaired, open, c.unpaired, c.open)
			}
		})
	}
}

func equal(a, b []int) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func TestBuiltinTables(t *testing.T) {
	for _, name := range Names() {
		d, err := Builtin(name)
		if err != nil {
			t.Error(err)
			continue
		}
		if d.Name() != name || d.Title() == "" || d.Doc() == "" {
			t.Errorf("%s: name %q, title %q, doc %q", name, d.Name(), d.Title(), d.Doc())
		}
		if len(d.signs) == 0 && name != fallback || len(d.signs) > 64 {
			t.Errorf("%s has %d signs to be recognised by", name, len(d.signs))
		}
	}
}
