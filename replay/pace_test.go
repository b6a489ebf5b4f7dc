package replay

import (
	"bytes"
	"context"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"agentrec/internal/dialect"
)

func TestParsePace(t *testing.T) {
	for s, want := range map[string]float64{"": 0, "fast": 0, "recorded": 1, "x10": 10, "x0.5": 0.5} {
		if got, err := ParsePace(s); err != nil || got != want {
			t.Errorf("ParsePace(%q) = %v, %v", s, got, err)
		}
	}
	for _, s := range []string{"slow", "x", "x0", "x-1", "xNaN", "10", "x1e10"} {
		if got, err := ParsePace(s); err == nil {
			t.Errorf("ParsePace(%q) = %v, want an error", s, got)
		}
	}
}

// TestApart holds which frames wait for the client to take what went before.
func TestApart(t *testing.T) {
	var p pace
	for i, c := range []struct {
		role dialect.Role
		want bool
	}{
		{dialect.Response, false}, // nothing before it
		{dialect.Notification, false},
		{dialect.Notification, false},
		{dialect.Response, true},
		{dialect.Response, false}, // nothing since
		{dialect.Notification, false},
		{dialect.Raw, false},
		{dialect.Request, true},
		{dialect.Request, false},
	} {
		got := p.apart(c.role)
		if got != c.want {
			t.Errorf("frame %d: apart %v, want %v", i, got, c.want)
		}
		if got {
			p.settle()
		}
	}
}

// writes keeps each write apart.
type writes struct{ list []string }

func (w *writes) Write(b []byte) (int, error) {
	w.list = append(w.list, string(b))
	return len(b), nil
}

// TestNoSharedWrite holds that an answer does not share a write with the
// notifications before it: MCP's SDK drops progress that it reads together with
// the result it belongs to.
func TestNoSharedWrite(t *testing.T) {
	file := recordLines(t, "mcp",
		`in {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow","_meta":{"progressToken":1}}}`,
		`out {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}`,
		`out {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":2}}`,
		`out {"jsonrpc":"2.0","id":1,"result":{"content":[]}}`,
		`event eof`, `exit 0`)
	var out writes
	in := strings.NewReader(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"slow","_meta":{"progressToken":7}}}` + "\n")
	if err := Run(context.Background(), Options{File: file, Stdin: in, Stdout: &out, Stderr: &bytes.Buffer{}}); err != nil {
		t.Fatal(err)
	}
	if n := len(out.list); n < 2 {
		t.Fatalf("one write for all: %q", out.list)
	}
	for _, w := range out.list {
		if strings.Contains(w, "progress") && strings.Contains(w, "result") {
			t.Errorf("progress and result in one write: %q", w)
		}
	}
}

// TestDrain holds that a drain ends at its limit when nobody reads, and that
// there is none to wait for behind a writer that is no file.
func TestDrain(t *testing.T) {
	if drainer(&bytes.Buffer{}) != nil {
		t.Error("a drain for a buffer")
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	drain := drainer(w)
	if _, err := io.WriteString(w, "unread"); err != nil {
		t.Fatal(err)
	}
	drain(time.Millisecond) // the test's own time limit is the judge
	if _, err := io.ReadFull(r, make([]byte, 6)); err != nil {
		t.Fatal(err)
	}
	drain(time.Hour)
}
