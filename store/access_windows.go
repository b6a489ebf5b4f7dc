package store

import "os"

// mayWrite reports whether the file is not marked read-only.
func mayWrite(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode()&0o200 != 0
}
