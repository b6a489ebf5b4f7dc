package dialect

import (
	"slices"
	"testing"

	"agentrec/store"
)

// detect feeds a conversation to a detector and returns what it says and after
// how many frames it was sure (0 when it never was).
func detect(argv []string, lines []line) (name string, sure int) {
	d := Set{}.Detector(argv)
	for i, l := range lines {
		if d.Observe(l.stream, l.raw) {
			return d.Dialect().Name(), i + 1
		}
	}
	return d.Dialect().Name(), 0
}

func TestDetectPhi(t *testing.T) {
	lines := wire(t, phiWire)
	if name, sure := detect(nil, lines); name != "phi" || sure != 1 {
		t.Errorf("%s after %d frames, want phi by its greeting", name, sure)
	}
	if name, _ := detect(nil, lines[1:]); name != "phi" {
		t.Errorf("%s without the greeting", name)
	}
}

func TestDetectNothing(t *testing.T) {
	var lines []line
	for range 3000 {
		lines = append(lines, line{store.Out, []byte(`{"a":1}`)}, line{store.In, []byte("garbage")})
	}
	if name, sure := detect([]string{"phi", "serve"}, lines); name != "ndjson" || sure == 0 {
		t.Errorf("%s, sure after %d", name, sure)
	}
	if name, sure := detect(nil, nil); name != "ndjson" || sure != 0 {
		t.Errorf("%s for a session without frames", name)
	}
}

// What a detector reads of a table says the same as the whole table.
func TestScouts(t *testing.T) {
	for _, name := range Names() {
		whole := builtinDialect(t, name)
		d, err := scout(name)
		if err != nil {
			t.Fatal(err)
		}
		if d.name != name || d.batch != whole.batch || !slices.Equal(d.argv, whole.argv) || len(d.signs) != len(whole.signs) {
			t.Errorf("%s: batch %v, argv %q, %d signs; the whole has batch %v, argv %q, %d signs", d.name, d.batch, d.argv, len(d.signs), whole.batch, whole.argv, len(whole.signs))
			continue
		}
		for i, s := range d.signs {
			if w := whole.signs[i]; s.score != w.score || !slices.Equal(s.streams, w.streams) || len(s.when) != len(w.when) {
				t.Errorf("%s: sign %d is %+v, of the whole %+v", name, i, s, w)
			}
		}
	}
}
