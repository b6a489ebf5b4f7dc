package inspect

import (
	"errors"
	"syscall"
)

// ERROR_NO_DATA is what a write to a pipe meets whose reader is closing.
const errorNoData = syscall.Errno(232)

func isBrokenPipe(err error) bool {
	return errors.Is(err, syscall.ERROR_BROKEN_PIPE) || errors.Is(err, errorNoData)
}
