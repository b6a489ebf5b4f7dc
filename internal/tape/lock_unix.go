//go:build unix

package tape

import (
	"errors"
	"os"
	"syscall"
)

// lock takes the owner's lock of a tape without waiting. It belongs to the open
// file and goes with the last descriptor of it, however its process ends.
func lock(f *os.File) (bool, error) { return flock(f, syscall.LOCK_EX) }

// share takes the lock of a tape without waiting, as one of several readers.
func share(f *os.File) (bool, error) { return flock(f, syscall.LOCK_SH) }

func flock(f *os.File, how int) (bool, error) {
	for {
		err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, syscall.EWOULDBLOCK):
			return false, nil
		case errors.Is(err, syscall.EINTR):
			continue
		}
		return false, err
	}
}

// full reports whether err says that there is no room left, or that the disk
// does not work.
func full(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG) ||
		errors.Is(err, syscall.EIO)
}
