//go:build unix && !linux

package child

import (
	"os"
	"syscall"
)

// pipe makes a blocking pipe that no other child inherits.
func pipe(ends []FD) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := syscall.Pipe(ends); err != nil {
		return err
	}
	syscall.CloseOnExec(ends[0])
	syscall.CloseOnExec(ends[1])
	return nil
}

// widen does nothing.
func widen(FD) {}

// attributes is empty: there is no parent-death signal here. When we are
// killed the agent sees its stdin end.
func attributes() *syscall.SysProcAttr { return nil }

// tie does nothing.
func tie(*os.Process) {}
