package tape

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// errNoKey is a tape whose key is gone.
var errNoKey = errors.New("its key is gone (it was kept in memory only, or the machine was restarted)")

func newKey() []byte {
	key := make([]byte, keySize)
	rand.Read(key) // never fails
	return key
}

const keyPrefix, keySuffix = "agentrec-", ".key"

func keyName(id string) string { return keyPrefix + id + keySuffix }

// saveKey puts the key of a tape into a private file on a RAM file system, from
// where another process can take the tape over, and returns its path; "" when
// there is no such file system. The file holds the key and the tape's path.
func saveKey(id, tape string, key []byte) string {
	for _, dir := range keyDirs() {
		if !inRAM(dir) {
			continue
		}
		path := filepath.Join(dir, keyName(id))
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			continue
		}
		_, err = f.Write(append(bytes.Clone(key), tape...))
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
		if key, _, err := readKey(path); err == nil {
			return key, path, nil
		}
	}
	return nil, "", errNoKey
}

// readKey reads a key file. Only a private file of our own counts: others may
// write to the directories that it can be in.
func readKey(path string) (key []byte, tape string, err error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, "", err
	}
	if !info.Mode().IsRegular() || !mine(info) {
		return nil, "", errNoKey
	}
	b, err := os.ReadFile(path)
	if err != nil || len(b) < keySize {
		return nil, "", errors.Join(err, errNoKey)
	}
	return b[:keySize], string(b[keySize:]), nil
}

// sweepKeys removes keys of tapes that somebody removed by hand. A day must have
// passed: a tape that is not to be seen now may be on a disk that comes back.
func sweepKeys() {
	for _, dir := range keyDirs() {
		list, err := filepath.Glob(filepath.Join(dir, keyName("*")))
		if err != nil {
			continue
		}
		for _, path := range list {
			info, err := os.Lstat(path)
			if err != nil || time.Since(info.ModTime()) < 24*time.Hour {
				continue
			}
			if _, tape, err := readKey(path); err == nil {
				if _, err := os.Lstat(tape); errors.Is(err, fs.ErrNotExist) {
					os.Remove(path)
				}
			}
		}
	}
}
