package store

import (
	"errors"
	"io/fs"
	"os"
)

// A database that is open can lose its name to another file. SQLite goes on with
// the one it opened, whose log stands under the old name, and leaves that log
// there when it closes: whoever then opens what has the name now applies the log
// to it. So the log is emptied into its own database, and taken away.

// standing is what stood under a database's names when it was opened.
type standing struct {
	real           string
	file, log, shm fs.FileInfo // nil for none
}

func standingAt(real string) standing {
	at := func(suffix string) fs.FileInfo {
		info, err := os.Stat(real + suffix)
		if err != nil {
			return nil
		}
		return info
	}
	return standing{real, at(""), at("-wal"), at("-shm")}
}

// moved reports whether the name is another file's now, or no one's, for sure.
func (s standing) moved() bool {
	if s.file == nil {
		return false
	}
	now, err := os.Stat(s.real)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	return !os.SameFile(s.file, now)
}

func oneFile(a, b fs.FileInfo) bool { return a != nil && b != nil && os.SameFile(a, b) }

// clear removes the log of the file that was opened, if it is still there.
func (s standing) clear() {
	now := standingAt(s.real)
	if oneFile(s.log, now.log) {
		os.Remove(s.real + "-wal")
	}
	if oneFile(s.shm, now.shm) {
		os.Remove(s.real + "-shm")
	}
}
