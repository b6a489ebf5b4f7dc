package transcript

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"agentrec/internal/dialect"
	"agentrec/store"
)

// What a check found of a long session is kept beside its indexes, since to
// look again takes seconds.
const (
	foundMagic  = "agentrec found 1\n"
	foundSuffix = ".found"
)

// KeepFound notes how many findings a check of a whole session came to, if that
// is long and has ended. A failing cache is no error.
func KeepFound(s *store.Session, d *dialect.Dialect, n int) {
	if dir, err := indexDir(); err == nil {
		keepFound(dir, indexFrames, s, d, n)
	}
}

// Found returns what KeepFound noted of the session as it is now.
func Found(s *store.Session, d *dialect.Dialect) (n int, known bool) {
	dir, err := indexDir()
	if err != nil || !plainName(s.UID) {
		return 0, false
	}
	return found(dir, s, d)
}

func keepFound(dir string, least int64, s *store.Session, d *dialect.Dialect, n int) {
	if s.State == store.Recording || s.Count() < least || !plainName(s.UID) {
		return
	}
	path := filepath.Join(dir, indexName(s, d)+foundSuffix)
	if forget(dir, s.UID, foundSuffix, filepath.Base(path)) != nil {
		return
	}
	_ = writeWhole(path, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%s%d\n", foundMagic, n)
		return err
	})
}

func found(dir string, s *store.Session, d *dialect.Dialect) (n int, known bool) {
	b, err := os.ReadFile(filepath.Join(dir, indexName(s, d)+foundSuffix))
	if err != nil {
		return 0, false
	}
	if _, err := fmt.Sscanf(string(b), foundMagic+"%d\n", &n); err != nil || n < 0 {
		return 0, false
	}
	return n, true
}
