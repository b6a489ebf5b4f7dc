package tape

import (
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
)

// errNoKey is a tape whose key is gone.
var errNoKey = errors.New("its key is gone (it was kept in memory only, or the machine was restarted)")

func newKey() []byte {
	key := make([]byte, keySize)
	rand.Read(key)
	return key
}

func keyName(id string) string { return "agentrec-" + id + ".key" }

// saveKey puts the key of a tape into a private file on a RAM file system, from
// where another process can take the tape over, and returns its path; "" when
// there is no such file system.
func saveKey(id string, key []byte) string {
	for _, dir := range keyDirs() {
		if !inRAM(dir) {
			continue
		}
		path := filepath.Join(dir, keyName(id))
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			continue
		}
		_, err = f.Write(key)
		if err = errors.Join(err, f.Close()); err == nil {
			return path
		}
		os.Remove(path)
	}
	return ""
}

// findKey returns the key of a tape and its path.
func findKey(id string) ([]byte, string, error) {
	for _, dir := range keyDirs() {
		path := filepath.Join(dir, keyName(id))
		info, err := os.Lstat(path)
		if err != nil || !info.Mode().IsRegular() || info.Size() != keySize || !mine(info) {
			continue
		}
		if key, err := os.ReadFile(path); err == nil && len(key) == keySize {
			return key, path, nil
		}
	}
	return nil, "", errNoKey
}
