//go:build unix

package tape

import "os"

// openFile is os.OpenFile.
func openFile(path string, flag int, perm os.FileMode) (*os.File, error) {
	return os.OpenFile(path, flag, perm)
}

// removeFile unlinks an open tape, then closes it and so its lock.
func removeFile(f *os.File, path string) {
	os.Remove(path)
	f.Close()
}
