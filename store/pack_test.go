package store

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// texts are what packLong treats differently.
func texts() map[string][]byte {
	rng := rand.New(rand.NewPCG(3, 4))
	noise := make([]byte, 700<<10)
	for i := range noise {
		noise[i] = byte(rng.Uint32())
	}
	return map[string][]byte{
		"empty":         nil,
		"short":         words(rng, 1000),
		"one piece":     words(rng, pieceRaw),
		"just over":     words(rng, pieceRaw+1),
		"whole pieces":  words(rng, 4*pieceRaw),
		"odd":           words(rng, 3*pieceRaw+777),
		"noise":         noise,
		"zeros":         make([]byte, 1<<20),
		"repeats later": bytes.Repeat(words(rng, 300<<10), 3),
	}
}

// TestPackLongUnpacks, and any other zstd gives the same text.
func TestPackLongUnpacks(t *testing.T) {
	var p packer
	defer p.close()
	dec := newUnpacker()
	defer dec.Close()
	plain, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	for name, want := range texts() {
		packed := p.packLong(want)
		got, err := unpack(dec, packed, int64(len(want)))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: unpacks to %d bytes (%v), want %d", name, len(got), err, len(want))
		}
		// As on one processor, where no two are unpacked at the same time.
		if got, err := dec.DecodeAll(packed, make([]byte, 0, len(want))); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: in one go it unpacks to %d bytes (%v), want %d", name, len(got), err, len(want))
		}
		if got, err := plain.DecodeAll(packed, nil); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: a plain zstd unpacks %d bytes (%v), want %d", name, len(got), err, len(want))
		}
		for _, size := range []int64{int64(len(want)) - 1, int64(len(want)) + 1} {
			if size < 0 {
				continue
			}
			if _, err := unpack(dec, packed, size); !errors.Is(err, errDamaged) {
				t.Errorf("%s: unpacked as %d bytes, has %d: %v", name, size, len(want), err)
			}
		}
	}
}

// TestPackLongCutsWhereItPays: a text without repeats is made of pieces, one
// whose repeats lie further apart than a piece stays whole.
func TestPackLongCutsWhereItPays(t *testing.T) {
	var p packer
	defer p.close()
	list := texts()
	for name, want := range map[string]int{"odd": 4, "whole pieces": 4, "repeats later": 1, "zeros": 1, "short": 1} {
		packed := p.packLong(list[name])
		got, err := pieces(packed, int64(len(list[name])))
		if want == 1 && err == nil && len(got) == 1 || want == 1 && errors.Is(err, errNoPieces) {
			continue
		}
		if err != nil || len(got) != want {
			t.Errorf("%s: %d pieces (%v), want %d", name, len(got), err, want)
		}
	}
}

// TestDamagedPiecesAreTold: no changed byte gives a text other than the packed
// one without an error.
func TestDamagedPiecesAreTold(t *testing.T) {
	var p packer
	defer p.close()
	dec := newUnpacker()
	defer dec.Close()
	rng := rand.New(rand.NewPCG(5, 6))
	want := words(rng, 2*pieceRaw+5)
	packed := p.packLong(want)
	for range 300 {
		bad := bytes.Clone(packed)
		bad[rng.IntN(len(bad))] ^= byte(1 + rng.IntN(255))
		got, err := unpack(dec, bad, int64(len(want)))
		if err == nil && !bytes.Equal(got, want) {
			t.Fatal("damage gave another text")
		}
		if err != nil && !errors.Is(err, errDamaged) {
			t.Fatalf("damage is told as %v", err)
		}
	}
}

// FuzzPieces holds pieces against a decoder that knows nothing of them: what
// they add up to is what it gives for the whole.
func FuzzPieces(f *testing.F) {
	var p packer
	defer p.close()
	rng := rand.New(rand.NewPCG(7, 8))
	for _, n := range []int{0, 1, 100, 5000} {
		b := p.pack(nil, words(rng, n))
		f.Add(b)
		f.Add(p.pack(b, words(rng, n)))
		f.Add(b[:len(b)/2])
	}
	f.Add([]byte{0x50, 0x2a, 0x4d, 0x18, 1, 0, 0, 0, 7})
	dec := newUnpacker()
	plain, err := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(1<<20))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 64<<10 {
			return // four bytes can stand for 128 KiB
		}
		want, werr := plain.DecodeAll(b, nil)
		list, err := pieces(b, int64(len(want)))
		if err != nil || len(list) < 2 {
			return
		}
		got, err := together(dec, list)
		switch {
		case err == nil && werr == nil && !bytes.Equal(got, want):
			t.Fatalf("pieces give %d bytes, the whole %d", len(got), len(want))
		case err == nil && werr != nil && !errors.Is(werr, zstd.ErrDecoderSizeExceeded):
			t.Fatalf("pieces give %d bytes, the whole is %v", len(got), werr)
		case err != nil && werr == nil:
			t.Fatalf("pieces fail: %v, the whole gives %d bytes", err, len(want))
		}
	})
}
