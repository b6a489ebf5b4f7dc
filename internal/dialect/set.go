package dialect

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Set is what sessions are read by: one dialect that was asked for, or else
// the built-in ones and a folder of a user's own, of which the first frames
// choose. The zero Set is the built-in ones.
type Set struct {
	one *Dialect
	own []*Dialect
}

// maxOwn bounds the tables of a folder.
const maxOwn = 100

// LoadSet returns what the --dialect of a command names: a built-in dialect, a
// table file, or a folder of table files (*.yaml, *.yml, *.json), which are
// recognised like the built-in ones and before them. "" names nothing.
func LoadSet(name string) (Set, error) {
	if name == "" {
		return Set{}, nil
	}
	if info, err := os.Stat(name); err != nil || !info.IsDir() || slices.Contains(Names(), name) {
		d, err := Load(name)
		return Set{one: d}, err
	}
	entries, err := os.ReadDir(name)
	if err != nil {
		return Set{}, fmt.Errorf("reading a folder of tables: %w", err)
	}
	var s Set
	for _, e := range entries {
		if e.IsDir() || !isTable(e.Name()) {
			continue
		}
		if len(s.own) == maxOwn {
			return Set{}, fmt.Errorf("the folder %s holds more than %d tables", name, maxOwn)
		}
		d, err := Load(filepath.Join(name, e.Name()))
		if err != nil {
			return Set{}, err
		}
		if twin := s.owned(d.name); twin != nil {
			return Set{}, fmt.Errorf("the folder %s holds two tables named %s", name, d.name)
		}
		s.own = append(s.own, d)
	}
	if len(s.own) == 0 {
		return Set{}, fmt.Errorf("the folder %s holds no table (*.yaml, *.yml or *.json)", name)
	}
	return s, nil
}

func isTable(file string) bool {
	return strings.HasSuffix(file, ".yaml") || strings.HasSuffix(file, ".yml") || strings.HasSuffix(file, ".json")
}

func (s Set) owned(name string) *Dialect {
	for _, d := range s.own {
		if d.name == name {
			return d
		}
	}
	return nil
}

// Choose returns the dialect of a session that names one: the one that was
// asked for, else the one of that name; nil when the frames have to tell.
func (s Set) Choose(recorded string) *Dialect {
	if s.one != nil || recorded == "" {
		return s.one
	}
	if d := s.owned(recorded); d != nil {
		return d
	}
	if d, err := Builtin(recorded); err == nil {
		return d
	}
	return nil
}

// Detector returns a detector among the dialects of the set. argv is the
// agent's command, only a hint: it decides between dialects that the frames
// cannot tell apart.
func (s Set) Detector(argv []string) *Detector {
	det := newDetector(argv)
	own := make([]contender, 0, len(s.own)+len(det.able))
	for _, d := range s.own {
		c := det.contender(d)
		c.own = true
		own = append(own, c)
	}
	for _, c := range det.able {
		if s.owned(c.d.name) == nil {
			own = append(own, c)
		}
	}
	det.able = own
	return det
}
