package record_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestAClientThatAsksToEndNeedNotRead: an agent dies by TERM although nobody
// reads what it has written, and so do we.
func TestAClientThatAsksToEndNeedNotRead(t *testing.T) {
	db := filepath.Join(t.TempDir(), "session.db")
	cmd := proxied(t, db, "broken")
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
	last, still := -1, 0
	for deadline := time.Now().Add(20 * time.Second); still < 10; time.Sleep(20 * time.Millisecond) {
		n, err := unix.IoctlGetInt(int(r.Fd()), unix.TIOCINQ)
		if err != nil || time.Now().After(deadline) {
			t.Fatal("the pipe does not fill", n, err)
		}
		if still++; n != last || n == 0 {
			last, still = n, 0
		}
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	if got := cmd.ProcessState.String(); got != "signal: terminated" {
		t.Error(got)
	}
	if s := only(t, db); s.Exit == nil || s.Exit.Signal != "TERM" {
		t.Errorf("exit %v", s.Exit)
	}
}
