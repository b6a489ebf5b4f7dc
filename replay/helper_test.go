package replay

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agentrec/store"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// record stores a session whose frames are lines such as `in {"type":"run"}`.
// A line `event eof` or `event TERM` or `exit 3` is what happened there; "cut"
// at the end makes it a cut recording.
func recordLines(t testing.TB, dialect string, lines ...string) string {
	t.Helper()
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "session.db")
	db, err := store.Open(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	w, err := db.Begin(ctx, store.Start{Started: time.Unix(1700000000, 0), Dialect: dialect, Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	end := store.End{State: store.Closed, Wire: [store.Streams]int64{-1, -1, -1}}
	at := time.Duration(0)
	seq := int64(0)
	for _, line := range lines {
		at += time.Millisecond
		word, rest, _ := strings.Cut(line, " ")
		switch word {
		case "in", "out", "err":
			stream := map[string]store.Stream{"in": store.In, "out": store.Out, "err": store.Err}[word]
			seq = w.Frame(stream, at, []byte(rest), store.LF)
		case "event":
			if rest == "eof" {
				w.Event(store.Event{After: seq, Time: at, Kind: store.EventEOF, Stream: store.In})
			} else {
				w.Event(store.Event{After: seq, Time: at, Kind: store.EventSignal, Signal: rest})
			}
		case "exit":
			var e store.Exit
			if _, err := fmt.Sscan(rest, &e.Code); err != nil {
				e.Signal = rest
			}
			end.Exit = &e
			w.Event(store.Event{After: seq, Time: at, Kind: store.EventExit, Exit: &e})
		case "cut":
			end.State, end.Reason = store.Cut, "test"
		default:
			t.Fatalf("no such line: %q", line)
		}
	}
	end.Ended = at
	if err := w.Commit(ctx, nil); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(ctx, end); err != nil {
		t.Fatal(err)
	}
	return path
}

// linesOf reads a conversation from testdata: the lines of recordLines.
func linesOf(t testing.TB, name string) []string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name+".lines"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(b)), "\n")
}

// liveClient is the client's side of a replay under test.
type liveClient struct {
	t     testing.TB
	stdin *io.PipeWriter
	lines chan string
	done  chan error
	side  *bytes.Buffer
	all   []string
}

func startReplay(t testing.TB, o Options) *liveClient {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	c := &liveClient{t: t, stdin: inW, lines: make(chan string, 1<<16), done: make(chan error, 1), side: &bytes.Buffer{}}
	o.Stdin, o.Stdout, o.Stderr = inR, outW, c.side
	go func() {
		r := bufio.NewReader(outR)
		for {
			line, err := r.ReadString('\n')
			if line != "" {
				c.lines <- strings.TrimSuffix(line, "\n")
			}
			if err != nil {
				close(c.lines)
				return
			}
		}
	}()
	go func() {
		err := Run(context.Background(), o)
		outW.Close()
		inR.Close()
		c.done <- err
	}()
	t.Cleanup(func() { inW.Close(); outR.Close() })
	return c
}

func (c *liveClient) send(line string) {
	c.t.Helper()
	if _, err := io.WriteString(c.stdin, line+"\n"); err != nil {
		c.t.Fatalf("sending %s: %v", line, err)
	}
}

// recv returns the next line of the agent. A missing one fails the test at its
// time limit only.
func (c *liveClient) recv() string {
	c.t.Helper()
	select {
	case line, ok := <-c.lines:
		if !ok {
			c.t.Fatalf("the agent's output ended; before it sent %q", c.all)
		}
		c.all = append(c.all, line)
		return line
	case <-time.After(20 * time.Second):
		c.t.Fatalf("the agent sent nothing more; before it sent %q; stderr: %s", c.all, "(running)")
		return ""
	}
}

func (c *liveClient) want(lines ...string) {
	c.t.Helper()
	for _, w := range lines {
		if got := c.recv(); got != w {
			c.t.Fatalf("got  %s\nwant %s", got, w)
		}
	}
}

// close ends the input and returns what was not read yet, and how replay left.
func (c *liveClient) close() ([]string, error) {
	c.t.Helper()
	c.stdin.Close()
	var rest []string
	for line := range c.lines {
		rest = append(rest, line)
	}
	return rest, <-c.done
}
