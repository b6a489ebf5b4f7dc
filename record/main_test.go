//go:build unix

package record_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"agentrec/internal/tape"
	"agentrec/store"
)

// agentMode is the variable that turns this test binary into a fake agent.
const agentMode = "FAKE_AGENT"

func TestMain(m *testing.M) {
	if mode := os.Getenv(agentMode); mode != "" {
		os.Exit(agent(mode, os.Args[1:]))
	}
	// Where HUP is ignored, as under nohup, it stays so in what is started; what
	// is caught here instead is as usual there.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	code := m.Run()
	if built.dir != "" {
		os.RemoveAll(built.dir)
	}
	os.Exit(code)
}

var built struct {
	once sync.Once
	dir  string
	err  error
}

// agentrec builds the real binary once and returns its path.
func agentrec(t testing.TB) string {
	t.Helper()
	built.once.Do(func() {
		if built.dir, built.err = os.MkdirTemp("", "agentrec-test"); built.err != nil {
			return
		}
		build := exec.Command("go", "build", "-o", filepath.Join(built.dir, "agentrec"), "agentrec")
		build.Env = append(os.Environ(), "CGO_ENABLED=0") // as it is released
		out, err := build.CombinedOutput()
		if err != nil {
			built.err = fmt.Errorf("%w\n%s", err, out)
		}
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return filepath.Join(built.dir, "agentrec")
}

// proxied returns a command that runs the fake agent in a mode behind the
// proxy, recording into db. It is killed before the test's own deadline.
func proxied(t testing.TB, db, mode string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	binary := agentrec(t) // built before time counts
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, binary, append([]string{"proxy", "--db", db, "--", self}, args...)...)
	cmd.Env = append(os.Environ(), agentMode+"="+mode)
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// piped returns pipes to the standard input and from the standard output of a
// command that has not started.
func piped(t testing.TB, cmd *exec.Cmd) (in io.WriteCloser, out io.ReadCloser) {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if out, err = cmd.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	return in, out
}

// only returns the one session of a database, with left-over tapes read.
func only(t testing.TB, db string) *store.Session {
	t.Helper()
	opened, err := tape.Open(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { opened.Close() })
	s, err := opened.Find(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// wire joins the frames of a stream as they stood on the wire.
func wire(t testing.TB, s *store.Session, stream store.Stream) []byte {
	t.Helper()
	var b []byte
	for f, err := range s.Frames(t.Context(), 1, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if f.Stream == stream {
			b = append(append(b, f.Raw...), f.Term.Bytes()...)
		}
	}
	return b
}

// events returns the events of a session by kind.
func events(t testing.TB, s *store.Session) map[store.EventKind][]store.Event {
	t.Helper()
	list, err := s.Events(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[store.EventKind][]store.Event{}
	for _, e := range list {
		kinds[e.Kind] = append(kinds[e.Kind], e)
	}
	return kinds
}

// leftOvers fails the test when anything but the database stands beside it
// once the next command that writes has looked at it: on a busy machine a
// recorder may leave its tape to that.
func leftOvers(t testing.TB, db string) {
	t.Helper()
	next, err := tape.OpenWrite(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	next.Close()
	list, err := filepath.Glob(db + "*")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range list {
		switch path {
		case db, db + "-wal", db + "-shm":
		default:
			t.Errorf("left over: %s", path)
		}
	}
}
