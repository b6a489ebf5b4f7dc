//go:build unix

package llm

import (
	"net"
	"syscall"
)

// stillOpen tells whether an idle connection has not been closed by its other end,
// and nothing has come on it.
func stillOpen(c net.Conn) bool {
	raw, err := c.(*net.TCPConn).SyscallConn()
	if err != nil {
		return false
	}
	free := false
	if err := raw.Read(func(fd uintptr) bool {
		_, _, err := syscall.Recvfrom(int(fd), make([]byte, 1), syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		free = err == syscall.EAGAIN || err == syscall.EWOULDBLOCK
		return true
	}); err != nil {
		return false
	}
	return free
}
