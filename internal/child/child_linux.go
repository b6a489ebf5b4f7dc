package child

import (
	"os"
	"syscall"
)

// pipe makes a blocking pipe that no other child inherits.
func pipe(ends []FD) error { return syscall.Pipe2(ends, syscall.O_CLOEXEC) }

// attributes makes the kernel kill the agent when the thread that started it
// ends. The agent stays in our process group: the terminal's signals and the
// client's are meant for it as well.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}

// tie is done by the attributes already.
func tie(*os.Process) {}
