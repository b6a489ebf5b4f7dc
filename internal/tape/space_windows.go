package tape

import (
	"path/filepath"

	"golang.org/x/sys/windows"
)

// free returns the bytes that may still be written where path is, and false
// when that cannot be told.
func free(path string) (int64, bool) {
	dir, err := windows.UTF16PtrFromString(filepath.Dir(path))
	if err != nil {
		return 0, false
	}
	var n uint64
	if windows.GetDiskFreeSpaceEx(dir, &n, nil, nil) != nil {
		return 0, false
	}
	return int64(n), true
}
