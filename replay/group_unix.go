//go:build unix

package replay

import (
	"os/exec"
	"syscall"
)

// ownGroup starts a command in a process group of its own, so that what hangs
// is ended with all that it started.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
