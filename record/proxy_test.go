//go:build unix

package record_test

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"agentrec/store"
)

// hard are bytes that recorders get wrong.
const hard = "{\"a\":1}\n\r\n\n{\"crlf\":true}\r\n\xef\xbb\xbf{\"bom\":1}\nnul\x00in\x00it\n\xff\xfe invalid \xc3\x28\n" +
	"{\"ls\":\"\u2028\u2029\"}\n{\"a\":1,\"a\":2,\"n\":1.0,\"e\":1e3,\"big\":12345678901234567890}\nlone\rcr\r\r\n{\"torn\":"

func TestBytesPassUnchangedAndAreRecorded(t *testing.T) {
	db := filepath.Join(t.TempDir(), "session.db")
	cmd := proxied(t, db, "echo")
	cmd.Stdin = strings.NewReader(hard)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	if stdout.String() != hard {
		t.Errorf("forwarded\n%q\nwant\n%q", stdout.String(), hard)
	}
	if stderr.String() != "echo saw the end\n" {
		t.Errorf("stderr: %q", stderr.String())
	}
	s := only(t, db)
	for stream, want := range map[store.Stream]string{store.In: hard, store.Out: hard, store.Err: "echo saw the end\n"} {
		if got := wire(t, s, stream); string(got) != want {
			t.Errorf("recorded %v\n%q\nwant\n%q", stream, got, want)
		}
		if s.Wire[stream] != int64(len(want)) {
			t.Errorf("%v: %d bytes counted, want %d", stream, s.Wire[stream], len(want))
		}
	}
	if s.State != store.Closed || s.Exit == nil || *s.Exit != (store.Exit{}) {
		t.Errorf("state %s, exit %v", s.State, s.Exit)
	}
	kinds := events(t, s)
	if len(kinds[store.EventStart]) != 1 || len(kinds[store.EventEOF]) != 3 || len(kinds[store.EventExit]) != 1 {
		t.Errorf("events: %v", kinds)
	}
	leftOvers(t, db)
	if info, err := os.Stat(db); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("database: %v %v", info.Mode(), err)
	}
}

func TestHalfALinePassesAtOnce(t *testing.T) {
	db := filepath.Join(t.TempDir(), "session.db")
	cmd := proxied(t, db, "echo")
	in, out := piped(t, cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{`{"first":`, `"half"}`, "\n"} {
		if _, err := io.WriteString(in, part); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, len(part))
		if _, err := io.ReadFull(out, got); err != nil || string(got) != part {
			t.Fatalf("got %q, %v; want %q", got, err, part)
		}
	}
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if got := wire(t, only(t, db), store.In); string(got) != "{\"first\":\"half\"}\n" {
		t.Errorf("recorded %q", got)
	}
}

func TestArgumentsOfTheAgentAreItsOwn(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	want := "\"--tag\"\n\"x\"\n\"--help\"\n\"--\"\n\"y\"\n"
	for _, dashes := range [][]string{{}, {"--"}} {
		db := filepath.Join(t.TempDir(), "session.db")
		args := append([]string{"proxy", "--db", db}, dashes...)
		cmd := exec.Command(agentrec(t), append(args, self, "--tag", "x", "--help", "--", "y")...)
		cmd.Env = append(os.Environ(), agentMode+"=argv")
		out, err := cmd.Output()
		if err != nil || string(out) != want {
			t.Errorf("%v: got %s, %v", dashes, out, err)
		}
		if s := only(t, db); len(s.Argv) != 6 || s.Argv[1] != "--tag" {
			t.Errorf("recorded %q", s.Argv)
		}
	}
}

func TestTheAgentDoesNotInheritOurSettings(t *testing.T) {
	db := filepath.Join(t.TempDir(), "session.db")
	cmd := proxied(t, db, "env")
	cmd.Env = append(cmd.Env, "AGENTREC_DB=elsewhere.db", "AGENTREC_RECORD=never")
	if out, err := cmd.Output(); err != nil || len(out) != 0 {
		t.Errorf("inherited %s, %v", out, err)
	}
}

func TestExitStatusIsTheAgents(t *testing.T) {
	for _, status := range []string{"0", "1", "7", "125", "255"} {
		cmd := proxied(t, filepath.Join(t.TempDir(), "session.db"), "exit", status)
		cmd.Run()
		if got := cmd.ProcessState.String(); got != "exit status "+status {
			t.Errorf("%s: %s", status, got)
		}
	}
}

func TestDeathBySignalIsTheAgents(t *testing.T) {
	for name, want := range map[string]string{
		"TERM": "signal: terminated", "INT": "signal: interrupt", "HUP": "signal: hangup", "KILL": "signal: killed",
		"ABRT": "exit status 134", "SEGV": "exit status 139", "PIPE": "exit status 141", "USR1": "exit status 138",
	} {
		db := filepath.Join(t.TempDir(), "session.db")
		cmd := exec.Command(agentrec(t), "proxy", "--db", db, "sh", "-c", "kill -"+name+" $$")
		cmd.Run()
		if got := cmd.ProcessState.String(); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
		if s := only(t, db); s.Exit == nil || s.Exit.Signal != name {
			t.Errorf("%s: recorded %v", name, s.Exit)
		}
	}
}

func TestAnAgentThatCannotBeStarted(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, c := range []struct {
		what, name, want string
	}{
		{"a name that is nowhere", "no-such-agent", "exit status 127"},
		{"a path that is nowhere", filepath.Join(dir, "none"), "exit status 127"},
		{"a file without x", file("plain", "#!/bin/sh\n", 0o644), "exit status 126"},
		{"a directory", dir, "exit status 126"},
		{"a script without an interpreter line", file("bare", "echo hi\n", 0o755), "exit status 126"},
		{"a script with a missing interpreter", file("missing", "#!/no/such/shell\n", 0o755), "exit status 126"},
	} {
		db := filepath.Join(dir, "session.db")
		cmd := exec.Command(agentrec(t), "proxy", "--db", db, c.name)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		cmd.Run()
		if got := cmd.ProcessState.String(); got != c.want {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
		if !strings.HasPrefix(stderr.String(), "agentrec: start ") || strings.Count(stderr.String(), "\n") != 1 {
			t.Errorf("%s: stderr %q", c.what, stderr.String())
		}
		if left, _ := filepath.Glob(db + "*"); len(left) != 0 {
			t.Errorf("%s: left %v", c.what, left)
		}
	}
}

func TestOutputAfterTheEndOfInput(t *testing.T) {
	db := filepath.Join(t.TempDir(), "session.db")
	cmd := proxied(t, db, "late", "200")
	cmd.Stdin = strings.NewReader("{}\n")
	out, err := cmd.Output()
	if err != nil || bytes.Count(out, []byte("\n")) != 200 {
		t.Errorf("%d lines, %v", bytes.Count(out, []byte("\n")), err)
	}
	if got := wire(t, only(t, db), store.Out); !bytes.Equal(got, out) {
		t.Errorf("recorded %d bytes, forwarded %d", len(got), len(out))
	}
}

func TestTheAgentEndsWhileInputStaysOpen(t *testing.T) {
	cmd := proxied(t, filepath.Join(t.TempDir(), "session.db"), "exit", "4")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait() // closes in only after the process has ended
	if got := cmd.ProcessState.String(); got != "exit status 4" {
		t.Error(got)
	}
}

func TestSignalsArePassedOnOnce(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGINT, syscall.SIGQUIT} {
		db := filepath.Join(t.TempDir(), "session.db")
		cmd := proxied(t, db, "signals", "300")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // no terminal, whatever the tests run under
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ready := make([]byte, len("ready\n"))
		if _, err := io.ReadFull(out, ready); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		rest, err := io.ReadAll(out)
		if want := "got " + sig.String() + "\nquiet\n"; err != nil || string(rest) != want {
			t.Errorf("%v: %q, %v", sig, rest, err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v: %v", sig, err)
		}
		if got := events(t, only(t, db))[store.EventSignal]; len(got) != 1 {
			t.Errorf("%v: events %v", sig, got)
		}
	}
}

func TestTheReaderOfOutputGoesAway(t *testing.T) {
	db := filepath.Join(t.TempDir(), "session.db")
	cmd := proxied(t, db, "broken")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = w, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if _, err := r.Read(make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	r.Close()
	cmd.Wait()
	if got := cmd.ProcessState.String(); got != "exit status 9" {
		t.Error(got)
	}
	if !strings.HasPrefix(stderr.String(), "broken: ") {
		t.Errorf("stderr %q", stderr.String())
	}
	s := only(t, db)
	if s.State != store.Closed || len(events(t, s)[store.EventHangup]) != 1 {
		t.Errorf("state %s, events %v", s.State, events(t, s))
	}
}

// TestAnAgentThatClosesStderrGoesOn: the client sees the end of stderr then, not
// when the agent ends.
func TestAnAgentThatClosesStderrGoesOn(t *testing.T) {
	cmd := proxied(t, filepath.Join(t.TempDir(), "session.db"), "mute")
	in, out := piped(t, cmd)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if said, err := io.ReadAll(stderr); err != nil || len(said) > 0 {
		t.Errorf("stderr %q, %v", said, err)
	}
	if _, err := io.WriteString(in, "on\n"); err != nil {
		t.Fatal(err)
	}
	in.Close()
	if got, err := io.ReadAll(out); err != nil || string(got) != "on\n" {
		t.Errorf("got %q, %v", got, err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

func TestAGrandchildKeepsThePipes(t *testing.T) {
	db := filepath.Join(t.TempDir(), "session.db")
	cmd := proxied(t, db, "grandchild", "30")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd.Stdout = w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	began := time.Now()
	cmd.Wait()
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("waited %v for a grandchild", took)
	}
	if got := cmd.ProcessState.String(); got != "exit status 3" {
		t.Error(got)
	}
	out, err := io.ReadAll(r)
	if err != nil || len(out) < 2 {
		t.Errorf("output %q, %v", out, err)
	}
	if pid := strings.TrimSpace(string(out)); pid != "" {
		exec.Command("kill", pid).Run()
	}
	if got := wire(t, only(t, db), store.Out); !bytes.Equal(got, out) {
		t.Errorf("recorded %q", got)
	}
}

// A recording is one file when its recorder has ended: it may be copied or sent
// as it is.
func TestTheDatabaseIsClosedWhenTheRecorderIsGone(t *testing.T) {
	for range 8 {
		dir := t.TempDir()
		cmd := proxied(t, filepath.Join(dir, "session.db"), "echo")
		cmd.Stdin = strings.NewReader("{\"a\":1}\n")
		if err := cmd.Run(); err != nil {
			t.Fatal(err)
		}
		list, err := os.ReadDir(dir)
		if err != nil || len(list) != 1 {
			t.Fatalf("left in the directory: %v, %v", list, err)
		}
	}
}

func TestANamedPipeIsNoDatabase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := proxied(t, path, "echo").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "not a file") {
		t.Errorf("%v: %s", err, out)
	}
}
