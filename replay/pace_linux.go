package replay

import (
	"io"
	"syscall"

	"golang.org/x/sys/unix"
)

// unread returns how many bytes of a pipe or a socket its reader has not taken
// yet (of a socket: at least one while it has not); not ok when fd is neither,
// or has no reader any more. Node gives its children socket pairs for pipes.
func unread(fd uintptr) (int, bool) {
	ask := uint(unix.TIOCINQ)
	if _, err := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TYPE); err == nil {
		ask = unix.TIOCOUTQ
	}
	n, err := unix.IoctlGetInt(int(fd), ask)
	if err != nil {
		return 0, false
	}
	poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}
	if _, err := unix.Poll(poll, 0); err == nil && poll[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0 {
		return 0, false
	}
	return n, true
}

// pending reports whether r is a pipe, socket or file with bytes to read.
func pending(r io.Reader) bool {
	c, ok := r.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return false
	}
	n := 0
	failed := raw.Control(func(fd uintptr) { n, err = unix.IoctlGetInt(int(fd), unix.TIOCINQ) })
	return failed == nil && err == nil && n > 0
}
