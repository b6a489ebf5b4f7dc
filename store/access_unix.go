//go:build unix

package store

import "golang.org/x/sys/unix"

// mayWrite reports whether this process may write the file. Opening it to see
// would drop SQLite's locks on it when it is closed again.
func mayWrite(path string) bool { return unix.Access(path, unix.W_OK) == nil }
