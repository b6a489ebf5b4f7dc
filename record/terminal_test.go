//go:build unix

package record_test

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"agentrec/store"

	"github.com/creack/pty"
)

// TestInterruptFromTheTerminalComesOnce: ^C goes to the whole foreground group,
// so the agent has it already.
func TestInterruptFromTheTerminalComesOnce(t *testing.T) {
	db := filepath.Join(t.TempDir(), "session.db")
	cmd := proxied(t, db, "signals", "500")
	master, err := pty.Start(cmd) // a session of its own, with this terminal
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	lines := bufio.NewScanner(master)
	var got []string
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		got = append(got, line)
		if line == "ready" {
			if _, err := master.Write([]byte{3}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if text := strings.Join(got, "|"); strings.ReplaceAll(text, "^C", "") != "ready|got interrupt|quiet" {
		t.Errorf("the agent said %q", text)
	}
	if s := only(t, db); len(events(t, s)[store.EventSignal]) != 0 {
		t.Errorf("events %v", events(t, s))
	}
}

// TestIgnoredSignalsStayIgnored runs under what nohup does, and the same for INT.
func TestIgnoredSignalsStayIgnored(t *testing.T) {
	for _, name := range []string{"HUP", "INT"} {
		db := filepath.Join(t.TempDir(), "session.db")
		// The agent asks the shell whether the signal is ignored: it can then not be trapped.
		cmd := exec.Command("sh", "-c", `trap '' `+name+`; exec "$@"`, "sh", agentrec(t), "proxy", "--db", db, "--",
			"sh", "-c", "echo ready; read x; kill -"+name+" $$; echo survived")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		in, out := piped(t, cmd)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewReader(out)
		if _, err := lines.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Process.Signal(map[string]os.Signal{"HUP": syscall.SIGHUP, "INT": syscall.SIGINT}[name]); err != nil {
			t.Fatal(err)
		}
		io.WriteString(in, "go\n")
		rest, err := io.ReadAll(lines)
		if err != nil || string(rest) != "survived\n" {
			t.Errorf("%s: %q, %v", name, rest, err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := events(t, only(t, db))[store.EventSignal]; len(got) != 0 {
			t.Errorf("%s: passed on %v", name, got)
		}
	}
}

// TestTheAgentStartsWithDefaultSignals: what we catch is not inherited.
func TestTheAgentStartsWithDefaultSignals(t *testing.T) {
	for _, name := range []string{"PIPE", "TERM", "USR1", "QUIT", "XFSZ"} {
		cmd := exec.Command(agentrec(t), "proxy", "--db", filepath.Join(t.TempDir(), "session.db"), "sh", "-c", "kill -"+name+" $$; echo survived")
		if out, _ := cmd.Output(); len(out) != 0 {
			t.Errorf("%s: %s", name, out)
		}
	}
}

// TestTheClientIsGone: an agent that nobody can use any more is ended, in its
// own time.
func TestTheClientIsGone(t *testing.T) {
	t.Parallel()
	db := filepath.Join(t.TempDir(), "session.db")
	cmd := proxied(t, db, "stubborn")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = w
	began := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if _, err := bufio.NewReader(r).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	r.Close()
	cmd.Wait() // its stdin was /dev/null
	if got := cmd.ProcessState.String(); got != "signal: killed" {
		t.Error(got)
	}
	if took := time.Since(began); took < 15*time.Second || took > 40*time.Second {
		t.Errorf("ended after %v; want 10 s, TERM, 5 s, KILL", took)
	}
	s := only(t, db)
	if s.Exit == nil || s.Exit.Signal != "KILL" {
		t.Errorf("exit %v", s.Exit)
	}
}

// TestSilentErrorStreamReader: a client that does not read stderr does not lose
// the agent's output.
func TestSilentErrorStreamReader(t *testing.T) {
	db := filepath.Join(t.TempDir(), "session.db")
	cmd := exec.Command(agentrec(t), "proxy", "--db", db, "sh", "-c", `yes noise >&2 & echo done; cat >/dev/null; kill $!`)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd.Stderr = w // never read
	in, out := piped(t, cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	got := make([]byte, 5)
	if _, err := io.ReadFull(out, got); err != nil || string(got) != "done\n" {
		t.Errorf("%q, %v", got, err)
	}
	in.Close()
	r.Close()
	cmd.Wait()
}
