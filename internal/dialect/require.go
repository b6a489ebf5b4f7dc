package dialect

import "slices"

// requirement is a load-bearing field and the kinds it may have.
type requirement struct {
	path     string
	at       expr
	kind     string
	optional bool
}

// requirements compiles the typed checks of a family: "string", or "string?"
// for a field that may be absent or null.
func (c *compiler) requirements(from map[string]string) ([]requirement, error) {
	var out []requirement
	for path, kind := range from {
		r := requirement{path: path, kind: kind}
		if n := len(kind); n > 0 && kind[n-1] == '?' {
			r.kind, r.optional = kind[:n-1], true
		}
		if !slices.Contains(kinds, r.kind) || r.kind == "absent" || r.kind == "set" {
			return nil, c.fail("require %s cannot be %q; write string, text, number, integer, boolean, object, array or present, with a ? behind it when it may be absent", path, kind)
		}
		var err error
		if r.at, err = c.expr(path); err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b requirement) int {
		if a.path < b.path {
			return -1
		}
		return 1
	})
	return out, nil
}
