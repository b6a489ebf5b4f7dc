package replay

import "golang.org/x/sys/unix"

// unread returns how many bytes of a pipe its reader has not taken yet; not ok
// when fd is no pipe, or has no reader any more.
func unread(fd uintptr) (int, bool) {
	n, err := unix.IoctlGetInt(int(fd), unix.TIOCINQ)
	if err != nil {
		return 0, false
	}
	poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}
	if _, err := unix.Poll(poll, 0); err == nil && poll[0].Revents&unix.POLLERR != 0 {
		return 0, false
	}
	return n, true
}
