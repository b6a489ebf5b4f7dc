package dialect

import (
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
