package tape

import (
	"fmt"
	"os"
	"path/filepath"
)

// A Held file is one that this process has to itself until Release, or until it
// ends, however it ends.
type Held struct{ f *os.File }

// Hold makes the file at path, and its directory, and takes it for this process;
// nil when another one has it.
func Hold(path string) (*Held, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("holding %s: %w", path, err)
	}
	for {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return nil, fmt.Errorf("holding %s: %w", path, err)
		}
		ok, err := lock(f)
		if err != nil || !ok {
			f.Close()
			return nil, err
		}
		mine, err := f.Stat()
		if err != nil {
			f.Close()
			return nil, fmt.Errorf("holding %s: %w", path, err)
		}
		if now, err := os.Stat(path); err == nil && os.SameFile(mine, now) {
			return &Held{f}, nil
		}
		f.Close() // whoever had it has removed it meanwhile
	}
}

// Release removes the file and lets go of it. Releasing nil does nothing.
func (h *Held) Release() {
	if h == nil {
		return
	}
	os.Remove(h.f.Name()) // on Windows it stays, empty
	h.f.Close()
}
