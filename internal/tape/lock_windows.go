package tape

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lock takes the owner's lock of a tape without waiting. The lock covers one
// byte far behind the data, for a locked range cannot be read by others.
func lock(f *os.File) (bool, error) { return lockFile(f, windows.LOCKFILE_EXCLUSIVE_LOCK) }

// share takes the lock of a tape without waiting, as one of several readers.
func share(f *os.File) (bool, error) { return lockFile(f, 0) }

func lockFile(f *os.File, how uint32) (bool, error) {
	at := windows.Overlapped{OffsetHigh: 1 << 30}
	err := windows.LockFileEx(windows.Handle(f.Fd()), how|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &at)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return false, nil
	}
	return err == nil, err
}

// full reports whether err says that there is no room left.
func full(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_HANDLE_DISK_FULL)
}
