package child

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// pipe makes a blocking pipe that no other child inherits.
func pipe(ends []FD) error { return syscall.Pipe2(ends, syscall.O_CLOEXEC) }

// widen gives a pipe 256 KiB of room instead of 64: an agent that writes all the
// time and whoever reads it then wait less for each other, and a stream is up to
// an eighth faster. More would count against what Linux allows a user in all
// (64 MiB by default). Where it is not allowed the pipe stays as it is.
func widen(f FD) { _, _ = unix.FcntlInt(uintptr(f), unix.F_SETPIPE_SZ, 256<<10) }

// attributes makes the kernel kill the agent when the thread that started it
// ends. The agent stays in our process group: the terminal's signals and the
// client's are meant for it as well.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}

// tie is done by the attributes already.
func tie(*os.Process) {}
