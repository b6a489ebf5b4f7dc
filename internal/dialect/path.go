package dialect

// Paths is a set of places in a JSON value. A path is keys joined by dots;
// "*" stands for any one key or index, "**" for any number of them, and a
// backslash takes the next character literally.
type Paths struct{}

// ParsePaths compiles paths.
func ParsePaths(paths ...string) (Paths, error) { panic("unwritten") }

// Match reports whether the place (keys and decimal indexes from the root) is
// in the set.
func (p Paths) Match(place []string) bool { panic("unwritten") }

// Join returns the union of both sets.
func (p Paths) Join(q Paths) Paths { panic("unwritten") }

// Empty reports whether the set has no place.
func (p Paths) Empty() bool { panic("unwritten") }
