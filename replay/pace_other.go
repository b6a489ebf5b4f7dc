//go:build !linux

package replay

import "io"

// unread cannot be known here for the writing end of a pipe.
func unread(uintptr) (int, bool) { return 0, false }

// pending cannot be known here.
func pending(io.Reader) bool { return false }
