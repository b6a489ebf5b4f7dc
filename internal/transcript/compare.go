package transcript

import "agentrec/internal/dialect"

// Difference is one place where two frames differ.
type Difference struct {
	Path     string `json:"path"`     // dotted, as --ignore takes it; "" is the root
	Recorded string `json:"recorded"` // raw JSON, "" when absent
	Live     string `json:"live"`     // raw JSON, "" when absent
}

// Compare returns the differences between two frames, less the places in
// ignore. Numbers compare exactly by value (1.0 equals 1, no float rounding),
// key order is free, of duplicate keys the first counts. Frames that are not JSON compare
// as bytes. accept, when not nil, may accept a difference of two leaves.
func Compare(recorded, live []byte, ignore dialect.Paths, accept func(path []string, recorded, live string) bool) []Difference {
	panic("unwritten")
}
