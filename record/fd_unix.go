//go:build unix

package record

import (
	"errors"
	"syscall"

	"agentrec/internal/child"

	"golang.org/x/sys/unix"
)

// fd is an open file of the operating system. The pumps use it directly: Go's
// files would put pipes into non-blocking mode, which the client's end of a
// shared file would notice.
type fd = child.FD

const (
	stdin  fd = 0
	stdout fd = 1
	stderr fd = 2
)

// read waits for bytes; 0 is the end of the stream.
func read(f fd, p []byte) (int, error) {
	for {
		n, err := syscall.Read(f, p)
		if err == nil {
			return n, nil
		}
		if err := again(f, err, unix.POLLIN); err != nil {
			return 0, err
		}
	}
}

// writeAll writes all of p.
func writeAll(f fd, p []byte) error {
	for len(p) > 0 {
		n, err := syscall.Write(f, p)
		if err == nil {
			p = p[n:]
			continue
		}
		if err := again(f, err, unix.POLLOUT); err != nil {
			return err
		}
	}
	return nil
}

// again returns nil when a failed call should be made again: it was
// interrupted, or the file came to us in non-blocking mode and is ready now.
func again(f fd, err error, events int16) error {
	if errors.Is(err, syscall.EINTR) {
		return nil
	}
	if !errors.Is(err, syscall.EAGAIN) {
		return err
	}
	for {
		_, err := unix.Poll([]unix.PollFd{{Fd: int32(f), Events: events}}, -1)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// release closes a file. A standard stream is put out of use but keeps its
// number, so that no file opened later takes its place. Stderr is ours, too.
func release(f fd) {
	switch {
	case f > stderr:
		syscall.Close(f)
	case f < stderr:
		putOut(f)
	}
}

// putOut puts a standard stream out of use: who has its other end sees that.
func putOut(f fd) {
	null, err := syscall.Open("/dev/null", syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	unix.Dup2(null, f)
	syscall.Close(null)
}

// hungUp reports whether the reader of f has gone away.
func hungUp(f fd) bool {
	p := []unix.PollFd{{Fd: int32(f)}}
	n, err := unix.Poll(p, 0)
	return err == nil && n > 0 && p[0].Revents&(unix.POLLERR|unix.POLLHUP|unix.POLLNVAL) != 0
}
