package replay

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// inner is a test within the test, to see how Serve fails it.
type inner struct {
	cleanup  []func()
	failures []string
}

func (i *inner) Helper()                   {}
func (i *inner) Cleanup(f func())          { i.cleanup = append(i.cleanup, f) }
func (i *inner) Errorf(f string, a ...any) { i.failures = append(i.failures, fmt.Sprintf(f, a...)) }
func (i *inner) Fatalf(f string, a ...any) { i.Errorf(f, a...) }
func (i *inner) end() {
	for _, f := range i.cleanup {
		f()
	}
}

func TestServe(t *testing.T) {
	file := recordLines(t, "phi", linesOf(t, "phi")[:5]...)
	for name, c := range map[string]struct {
		send []string
		want string
	}{
		"as recorded":  {linesOf(t, "phi")[1:4:4], ""},
		"nothing sent": {nil, "the client did not send register_tool (frame 2)"},
	} {
		t.Run(name, func(t *testing.T) {
			var test inner
			agent := Serve(&test, file)
			r := bufio.NewReader(agent.Stdout)
			for _, line := range append([]string{"out"}, c.send...) {
				if frame, ok := strings.CutPrefix(line, "in "); ok {
					if _, err := io.WriteString(agent.Stdin, frame+"\n"); err != nil {
						t.Fatal(err)
					}
				} else if _, err := r.ReadString('\n'); err != nil {
					t.Fatal(err)
				}
			}
			test.end()
			got := strings.Join(test.failures, "\n")
			if c.want == "" && got != "" || !strings.Contains(got, c.want) {
				t.Errorf("the test failed with %q, want %q", got, c.want)
			}
		})
	}
}

// A client may kill its agent as soon as it has the last frame: the report must
// hold the verdict before that frame goes out.
func TestReportBeforeLastFrame(t *testing.T) {
	lines := linesOf(t, "phi")
	report := filepath.Join(t.TempDir(), "r.json")
	c := startReplay(t, Options{File: recordLines(t, "phi", lines...), Report: report})
	for _, l := range lines {
		dir, frame, _ := strings.Cut(l, " ")
		if dir == "in" {
			c.send(frame)
		} else {
			c.want(frame)
		}
	}
	b, err := os.ReadFile(report)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"state": "running"`, `"verdict": "pass"`} {
		if !strings.Contains(string(b), want) {
			t.Errorf("the report lacks %s:\n%s", want, b)
		}
	}
	if _, err := c.close(); err != nil {
		t.Error(err)
	}
}

// firstWrite is the client's end of stdout; it calls look when the first bytes
// arrive.
type firstWrite struct {
	once sync.Once
	look func()
}

func (w *firstWrite) Write(p []byte) (int, error) {
	w.once.Do(w.look)
	return len(p), nil
}

// The report is there when the client gets its first frame, for that may be all
// it waits for before it kills its agent.
func TestReportBeforeFirstFrame(t *testing.T) {
	report := filepath.Join(t.TempDir(), "r.json")
	var got []byte
	var missing error
	out := &firstWrite{look: func() { got, missing = os.ReadFile(report) }}
	err := Run(t.Context(), Options{File: recordLines(t, "phi", linesOf(t, "phi")...), Report: report,
		Stdin: strings.NewReader(""), Stdout: out, Stderr: io.Discard})
	if !errors.As(err, new(Divergence)) {
		t.Fatalf("a client that sent nothing: %v", err)
	}
	if missing != nil || !strings.Contains(string(got), `"verdict": "fail"`) {
		t.Errorf("with the first frame the report was %q, %v", got, missing)
	}
}

// Nobody may be reading stderr: neither recorded err frames nor the replay's own
// words may hold anything up.
func TestStderrNobodyReads(t *testing.T) {
	lines := []string{`out {"type":"hello","protocol_version":1,"server_name":"a","server_version":"1"}`}
	for range 3000 {
		lines = append(lines, "err "+strings.Repeat("x", 100))
	}
	lines = append(lines, `in {"type":"list_tools"}`, `out {"type":"tools_listed","tools":[]}`)
	block, w := io.Pipe()
	defer block.Close()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := Run(t.Context(), Options{File: recordLines(t, "phi", lines...), Stdin: inR, Stdout: outW, Stderr: w})
		outW.Close()
		done <- err
	}()
	r := bufio.NewReader(outR)
	if _, err := r.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(inW, `{"type":"list_tools"}`)
	if got, err := r.ReadString('\n'); err != nil || !strings.Contains(got, "tools_listed") {
		t.Fatalf("got %q, %v", got, err)
	}
	inW.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
