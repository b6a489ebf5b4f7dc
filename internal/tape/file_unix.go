//go:build unix

package tape

import "os"

func rename(_ *os.File, from, to string) error { return os.Rename(from, to) }

// removeFile unlinks an open tape, then closes it and so its lock.
func removeFile(f *os.File, path string) {
	os.Remove(path)
	f.Close()
}
