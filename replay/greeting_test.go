package replay

import (
	"bytes"
	"os"
	"strings"
	"syscall"
	"testing"

	"agentrec/store"
)

// What the agent says unasked is sent once, at every pace, whoever chose the
// session and whatever the agent wrote to stderr before.
func TestGreetingOnce(t *testing.T) {
	hello := `{"type":"hello","protocol_version":1,"server_name":"a","server_version":"1"}`
	lines := []string{"err loading", "out " + hello, "err loaded", `in {"type":"list_tools"}`, `out {"type":"tools_listed","tools":[]}`}
	one, two := recordLines(t, "phi", lines...), sessionsIn(t, "phi", lines, lines)
	for name, o := range map[string]Options{
		"fast":               {File: one},
		"recorded pace":      {File: one, Pace: 1000},
		"any":                {File: two, Session: AnySession},
		"any, recorded pace": {File: two, Session: AnySession, Pace: 1000},
	} {
		c := startReplay(t, o)
		c.want(hello)
		c.send(`{"type":"list_tools"}`)
		c.want(`{"type":"tools_listed","tools":[]}`)
		if rest, err := c.close(); err != nil || len(rest) > 0 {
			t.Errorf("%s: left with %v, unread %q", name, err, rest)
		}
		if said := c.side.String(); !strings.HasPrefix(said, "loading\nloaded\n") || strings.Count(said, "loading") != 1 {
			t.Errorf("%s: on stderr stands %q", name, said)
		}
	}
}

// A greeting goes out before anything else is known, but in the client's folders.
func TestGreetingBinds(t *testing.T) {
	lines := []string{
		`out {"type":"hello","protocol_version":1,"server_name":"in \/opt/old/bin and /opt/oldest","server_version":"1"}`,
		`out looking at /opt/old`, `in {"type":"list_tools"}`, `out {"type":"tools_listed","tools":[]}`,
	}
	for name, o := range map[string]Options{
		"one": {File: recordLines(t, "phi", lines...)},
		"any": {File: sessionsIn(t, "phi", lines, lines), Session: AnySession},
	} {
		o.Bind = []string{"/opt/old=/srv/new"}
		c := startReplay(t, o)
		c.want(`{"type":"hello","protocol_version":1,"server_name":"in /srv/new/bin and /opt/oldest","server_version":"1"}`, "looking at /srv/new")
		c.send(`{"type":"list_tools"}`)
		c.want(`{"type":"tools_listed","tools":[]}`)
		if rest, err := c.close(); err != nil || len(rest) > 0 {
			t.Errorf("%s: left with %v, unread %q", name, err, rest)
		}
	}
}

// What a client sends right before it ends its agent counts as sent.
func TestSentBeforeSignal(t *testing.T) {
	file := recordLines(t, "phi", `in {"type":"run","query":"q"}`, `out {"type":"event","runtimeEventType":"textDelta","text":"a"}`, `in {"type":"cancel"}`, "event TERM", "exit TERM")
	for round := range 30 {
		stdin, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		signals := make(chan os.Signal, 1)
		side := &bytes.Buffer{}
		done := make(chan error, 1)
		stdout := &lockedBuffer{}
		go func() {
			done <- Run(t.Context(), Options{File: file, Stdin: stdin, Stdout: stdout, Stderr: side, Signals: signals})
		}()
		if _, err := w.WriteString("{\"type\":\"run\",\"query\":\"q\"}\n{\"type\":\"cancel\"}\n"); err != nil {
			t.Fatal(err)
		}
		signals <- syscall.SIGTERM
		if err := <-done; err != (store.Exit{Signal: "TERM"}) {
			t.Fatalf("round %d: the replay left with %v\n%s", round, err, side)
		}
		w.Close()
		stdin.Close()
	}
}

// A client that leaves early out of a long session is told of as many frames as a
// report holds; the others are counted.
func TestManyUnsent(t *testing.T) {
	lines := []string{`in {"type":"run","query":"q"}`}
	for range maxEntries + 500 {
		lines = append(lines, `out {"type":"event","seq":1,"runtimeEventType":"textDelta","text":"a"}`, `in {"type":"list_tools"}`)
	}
	m := newMemory(t, "phi", matching{}, lines)
	m.lines(m.e.start())
	m.e.eof()
	m.v.close(m.e, false)
	if len(m.v.diverge) != maxEntries || m.v.dropped != 501 || m.v.quiet != maxEntries+500 {
		t.Errorf("%d divergences, %d dropped, %d told of quietly", len(m.v.diverge), m.v.dropped, m.v.quiet)
	}
	if got := m.v.diverge[0]; got.Seq != 1 || len(got.Holds) != 1 || got.Holds[0] != 2 || !strings.Contains(got.Message, "event.textDelta (frame 2)") {
		t.Errorf("the first is %+v", got)
	}
}
