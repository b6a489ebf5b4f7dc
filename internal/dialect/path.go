package dialect

import (
	"fmt"
	"strings"
)

// Paths is a set of places in a JSON value. A path is keys joined by dots;
// "*" stands for any one key or index, "**" for any number of them, and a
// backslash takes the next character literally. The zero value is empty.
type Paths struct{ list []pattern }

type pattern []segment

type segment struct {
	kind segmentKind
	key  string
}

type segmentKind uint8

const (
	literal segmentKind = iota
	anyOne
	anyMany
)

// ParsePaths compiles paths.
func ParsePaths(paths ...string) (Paths, error) {
	var p Paths
	for _, path := range paths {
		one, err := parsePattern(path)
		if err != nil {
			return Paths{}, err
		}
		p.list = append(p.list, one)
	}
	return p, nil
}

func parsePattern(path string) (pattern, error) {
	if path == "" {
		return nil, fmt.Errorf("reading a path: it is empty; write keys joined by dots, such as params.cwd")
	}
	var out pattern
	for rest, more := path, true; more; {
		var key string
		var plain bool
		key, plain, rest, more = nextKey(rest)
		switch {
		case plain && key == "*":
			out = append(out, segment{kind: anyOne})
		case plain && key == "**":
			if n := len(out); n == 0 || out[n-1].kind != anyMany {
				out = append(out, segment{kind: anyMany})
			}
		case key == "":
			return nil, fmt.Errorf("reading the path %q: a key is empty; write keys joined by single dots", path)
		default:
			out = append(out, segment{key: key})
		}
	}
	return out, nil
}

// nextKey cuts the first key off a path and takes its escapes out; plain says
// that it had none.
func nextKey(path string) (key string, plain bool, rest string, more bool) {
	var b strings.Builder
	plain = true
	for i := 0; i < len(path); i++ {
		switch c := path[i]; c {
		case '.':
			return b.String(), plain, path[i+1:], true
		case '\\':
			plain = false
			if i++; i < len(path) {
				b.WriteByte(path[i])
			}
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), plain, "", false
}

// Match reports whether the place (keys and decimal indexes from the root) is
// in the set.
func (p Paths) Match(place []string) bool {
	for _, one := range p.list {
		if one.match(place) {
			return true
		}
	}
	return false
}

// match compares as a glob does: only the last "**" is ever tried again, which
// keeps it within len(place) times len(p) steps.
func (p pattern) match(place []string) bool {
	i, j, star, from := 0, 0, -1, 0
	for i < len(place) {
		switch {
		case j < len(p) && p[j].kind == anyMany:
			star, from = j, i
			j++
		case j < len(p) && (p[j].kind == anyOne || p[j].key == place[i]):
			i++
			j++
		case star >= 0:
			from++
			i, j = from, star+1
		default:
			return false
		}
	}
	for j < len(p) && p[j].kind == anyMany {
		j++
	}
	return j == len(p)
}

// Join returns the union of both sets.
func (p Paths) Join(q Paths) Paths {
	switch {
	case len(p.list) == 0:
		return q
	case len(q.list) == 0:
		return p
	}
	return Paths{list: append(p.list[:len(p.list):len(p.list)], q.list...)}
}

// Empty reports whether the set has no place.
func (p Paths) Empty() bool { return len(p.list) == 0 }

// Strings returns the paths as ParsePaths takes them.
func (p Paths) Strings() []string {
	out := make([]string, len(p.list))
	for i, one := range p.list {
		out[i] = one.String()
	}
	return out
}

func (p pattern) String() string {
	keys := make([]string, len(p))
	for i, s := range p {
		switch s.kind {
		case anyOne:
			keys[i] = "*"
		case anyMany:
			keys[i] = "**"
		default:
			keys[i] = QuoteKey(s.key)
		}
	}
	return strings.Join(keys, ".")
}

// QuoteKey returns a key as it stands in a path: dots, backslashes and what
// would be a wildcard are escaped.
func QuoteKey(key string) string {
	if key == "*" || key == "**" {
		return `\` + key
	}
	return strings.NewReplacer(`\`, `\\`, `.`, `\.`).Replace(key)
}
