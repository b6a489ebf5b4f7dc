//go:build unix

package tape

import "golang.org/x/sys/unix"

// free returns the bytes an ordinary user may still write where path is, and
// false when that cannot be told.
func free(path string) (int64, bool) {
	var st unix.Statfs_t
	if unix.Statfs(path, &st) != nil {
		return 0, false
	}
	return int64(st.Bavail) * int64(st.Bsize), true
}
