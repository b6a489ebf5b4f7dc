package tape

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/oklog/ulid/v2"
)

const (
	infix = "-tape-"
	fresh = ".new" // a tape before its owner has locked it
)

// resolve follows the links of a path whose last element may not exist yet: all
// recorders of one database must agree on where its tapes are.
func resolve(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	for range 40 {
		full, err := filepath.EvalSymlinks(abs)
		if err == nil {
			return full, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		dir, err := filepath.EvalSymlinks(filepath.Dir(abs))
		if err != nil {
			return "", err
		}
		abs = filepath.Join(dir, filepath.Base(abs))
		target, err := os.Readlink(abs)
		if err != nil {
			return abs, nil
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(dir, target)
		}
		abs = target
	}
	return "", fmt.Errorf("%s: too many links", path)
}

// tapes lists the tapes beside a database by its resolved path, oldest first.
func tapes(db string) ([]string, error) {
	dir, base := filepath.Split(db)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var list []string
	for _, e := range entries {
		id, ok := strings.CutPrefix(e.Name(), base+infix)
		if !ok || !e.Type().IsRegular() {
			continue
		}
		if _, err := ulid.ParseStrict(id); err == nil {
			list = append(list, filepath.Join(dir, e.Name()))
		}
	}
	return list, nil
}
