//go:build unix

package main

import (
	"io/fs"
	"os"
	"syscall"
)

// ownedByUs reports whether a file belongs to us or to root. Otherwise another
// user of this machine could put one into a shared directory above ours and
// decide where we write. Root, which in containers works on the files of
// others, takes any.
func ownedByUs(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return !ok || os.Geteuid() == 0 || st.Uid == 0 || int(st.Uid) == os.Geteuid()
}
