package tape

import "os"

// rename works on an open file, for Go opens files with FILE_SHARE_DELETE.
func rename(_ *os.File, from, to string) error { return os.Rename(from, to) }

// removeFile closes the tape first: an open file would keep its name.
func removeFile(f *os.File, path string) {
	f.Close()
	os.Remove(path)
}
