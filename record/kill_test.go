//go:build unix

package record_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"agentrec/internal/tape"
	"agentrec/store"
)

// TestKillLosesNothing kills recorders at random moments and looks for every
// byte that came through, read in place and then taken over.
func TestKillLosesNothing(t *testing.T) {
	for _, c := range []struct {
		mode string
		runs int
		step int // ms
	}{{"paced", 5, 130}, {"stream", 5, 25}} {
		for run := range c.runs {
			t.Run(fmt.Sprint(c.mode, run), func(t *testing.T) {
				t.Parallel()
				db := filepath.Join(t.TempDir(), "session.db")
				cmd := proxied(t, db, c.mode, "100000000")
				in, err := cmd.StdinPipe() // held open to the end
				if err != nil {
					t.Fatal(err)
				}
				defer in.Close()
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
				var got bytes.Buffer
				if _, err := io.CopyN(&got, r, int64(1000+run*100_000/(run+1))); err != nil {
					t.Fatal(err)
				}
				time.AfterFunc(time.Duration(20+run*c.step)*time.Millisecond, func() { cmd.Process.Kill() })
				if _, err := io.Copy(&got, r); err != nil { // ends only when the agent is gone, too
					t.Fatal(err)
				}
				cmd.Wait()

				s := only(t, db)
				if got, want := wire(t, s, store.Out), got.Bytes(); !bytes.HasPrefix(got, want) {
					t.Errorf("read in place: %d bytes recorded, %d forwarded", len(got), len(want))
				}
				if s.State != store.Cut || s.Reason != "the recorder was killed" {
					t.Errorf("read in place: %s, %s", s.State, s.Reason)
				}
				if left, _ := filepath.Glob(db + "-tape-*"); len(left) != 1 {
					t.Errorf("reading changed the tapes: %v", left)
				}
				taken, err := tape.OpenWrite(t.Context(), db)
				if err != nil {
					t.Fatal(err)
				}
				defer taken.Close()
				again, err := taken.Find(t.Context(), "")
				if err != nil {
					t.Fatal(err)
				}
				if !bytes.HasPrefix(wire(t, again, store.Out), got.Bytes()) || again.State != store.Cut {
					t.Errorf("taken over: %s, %d frames", again.State, again.Count())
				}
				if again.Chains != s.Chains {
					t.Error("taken over and read in place differ")
				}
				leftOvers(t, db)
			})
		}
	}
}

// TestKillTakesTheAgentAlong: an agent that ignores everything does not outlive
// its recorder, and what it started sees the end of its input.
func TestKillTakesTheAgentAlong(t *testing.T) {
	if runtime.GOOS != "linux" {
		return // other systems have no parent-death signal; there the agent sees the end of its input
	}
	cmd := proxied(t, filepath.Join(t.TempDir(), "session.db"), "stubborn")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
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
	lines := bufio.NewReader(r)
	line, err := lines.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	cmd.Process.Kill()
	cmd.Wait()
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	gone(t, pid)
}

// gone waits for a process to end.
func gone(t *testing.T, pid int) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); syscall.Kill(pid, 0) == nil && !zombie(pid); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("process %d is still there", pid)
		}
	}
}

// zombie reports whether a process has ended and only waits to be reaped, by an
// init that may not do that.
func zombie(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	return len(f) > 0 && f[0] == "Z"
}

// TestATapeWithoutItsKeyIsListed: what cannot be read is said, and kept.
func TestATapeWithoutItsKeyIsListed(t *testing.T) {
	dir := t.TempDir()
	db := filepath.Join(dir, "session.db")
	cmd := proxied(t, db, "stubborn")
	cmd.Env = append(cmd.Env, "XDG_RUNTIME_DIR="+dir) // no RAM file system; its key lands in /dev/shm
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	cmd.Process.Kill()
	cmd.Wait()
	tapes, err := filepath.Glob(db + "-tape-*")
	if err != nil || len(tapes) != 1 {
		t.Fatalf("tapes %v, %v", tapes, err)
	}
	uid := tapes[0][len(db+"-tape-"):]
	keys, _ := filepath.Glob("/dev/shm/agentrec-" + uid + ".key")
	for _, key := range keys {
		os.Remove(key)
	}
	check := func(what string, s *store.Session) {
		t.Helper()
		if s.UID != uid || s.State != store.Cut || !strings.Contains(s.Reason, "bytes of its tape session.db-tape-"+uid+" cannot be read") {
			t.Errorf("%s: %s %s %q", what, s.UID, s.State, s.Reason)
		}
	}
	if _, err := os.Stat(db); err == nil {
		check("read in place", only(t, db))
	}
	for range 2 {
		taken, err := tape.OpenWrite(t.Context(), db)
		if err != nil {
			t.Fatal(err)
		}
		s, err := taken.Find(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		check("taken over", s)
		taken.Close()
	}
	if _, err := os.Stat(tapes[0]); err != nil {
		t.Errorf("the tape is not kept: %v", err)
	}
}

// TestTheNextRecorderTakesOver: nobody needs to look for a dead recorder's
// session to be brought in.
func TestTheNextRecorderTakesOver(t *testing.T) {
	db := filepath.Join(t.TempDir(), "session.db")
	cmd := proxied(t, db, "stubborn")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	cmd.Process.Kill()
	cmd.Wait()

	turn, end := interactive(t, proxied(t, db, "echo"))
	turn("x\n")
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if tapes, _ := filepath.Glob(db + "-tape-*"); len(tapes) == 1 { // our own
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("tapes: %v", tapes)
		}
	}
	end()
	opened, err := store.OpenRead(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	list, err := opened.Sessions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	states := map[store.State]int{}
	for _, s := range list {
		states[s.State]++
	}
	if states[store.Cut] != 1 || states[store.Closed] != 1 || len(list) != 2 {
		t.Errorf("sessions: %v", states)
	}
}
