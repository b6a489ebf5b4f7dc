package transcript

import (
	"bytes"
	"io"
	"os"
	"path/filepath"

	"agentrec/internal/dialect"
	"agentrec/store"
)

// What a check found in a session is kept beside its indexes, since to look
// again may take seconds. The number changes when check looks for something
// else.
const (
	foundMagic  = "agentrec found 2\n"
	foundSuffix = ".found"
	maxFound    = 4 << 20 // bytes
)

// KeepFound notes what a check of a session that has ended came to, in the
// caller's form. A failing cache is no error.
func KeepFound(s *store.Session, d *dialect.Dialect, what []byte) {
	if dir, err := indexDir(); err == nil {
		keepFound(dir, s, d, what)
	}
}

// Found returns what KeepFound noted of the session as it is now.
func Found(s *store.Session, d *dialect.Dialect) (what []byte, known bool) {
	dir, err := indexDir()
	if err != nil || !plainName(s.UID) {
		return nil, false
	}
	return found(dir, s, d)
}

func keepFound(dir string, s *store.Session, d *dialect.Dialect, what []byte) {
	if s.State == store.Recording || !plainName(s.UID) || len(what) > maxFound {
		return
	}
	path := filepath.Join(dir, indexName(s, d)+foundSuffix)
	if forget(dir, s.UID, foundSuffix, filepath.Base(path)) != nil {
		return
	}
	err := writeWhole(path, func(w io.Writer) error {
		_, err := w.Write(append([]byte(foundMagic), what...))
		return err
	})
	if err == nil {
		pruneIndexes(dir, indexTotal)
	}
}

func found(dir string, s *store.Session, d *dialect.Dialect) (what []byte, known bool) {
	f, err := os.Open(filepath.Join(dir, indexName(s, d)+foundSuffix))
	if err != nil {
		return nil, false
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxFound+int64(len(foundMagic))))
	if err != nil {
		return nil, false
	}
	return bytes.CutPrefix(b, []byte(foundMagic))
}
