package store

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"
)

// What a delta makes of its base is the text it was made for, and a delta of
// anyone's does no harm.
func FuzzDelta(f *testing.F) {
	long := bytes.Repeat([]byte("0123456789abcdefghijklmnopqrstuvwxyz"), 9)
	f.Add([]byte{}, []byte{}, []byte{})
	f.Add(long, append([]byte("x"), long...), []byte{1, 'a', 32, 7})
	f.Add(long, append(append(bytes.Clone(long[:100]), "new"...), long[90:]...), []byte{0, 255, 255, 3, 0})
	f.Add(long[:31], long, []byte{5})
	f.Fuzz(func(t *testing.T, base, b, strange []byte) {
		d := makeDelta(base, b)
		if got, err := applyDelta(base, d, int64(len(b))); err != nil || !bytes.Equal(got, b) {
			t.Fatalf("%q onto %q by %q: %q, %v", b, base, d, got, err)
		}
		if got, err := applyDelta(base, strange, 100); err == nil && len(got) != 100 || err != nil && !errors.Is(err, errDamaged) {
			t.Fatalf("%q gives %d bytes, %v", strange, len(got), err)
		}
	})
}

// Whatever was cut out, put in or moved, what stands in the base costs little.
func TestDeltaIsSmall(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	base := make([]byte, 300_000)
	for i := range base {
		base[i] = byte(rng.IntN(256))
	}
	text := bytes.Clone(base)
	for range 20 {
		at := rng.IntN(len(text) - 5000)
		switch rng.IntN(3) {
		case 0:
			text = append(text[:at], text[at+rng.IntN(3000):]...)
		case 1:
			text = append(text[:at:at], append([]byte("something new"), text[at:]...)...)
		case 2:
			moved := bytes.Clone(text[at : at+4000])
			text = append(append(text[:at:at], text[at+4000:]...), moved...)
		}
	}
	d := makeDelta(base, text)
	if got, err := applyDelta(base, d, int64(len(text))); err != nil || !bytes.Equal(got, text) {
		t.Fatal("the delta is wrong", err)
	}
	if len(d) > 20*(3*deltaBlock+20) {
		t.Errorf("20 small changes of %d bytes take %d", len(base), len(d))
	}
}
