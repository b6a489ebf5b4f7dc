package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"
)

func newDB(t testing.TB) *DB {
	t.Helper()
	return openDB(t, filepath.Join(t.TempDir(), "session.db"))
}

func openDB(t testing.TB, path string) *DB {
	t.Helper()
	db, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func openRead(t testing.TB, path string) *DB {
	t.Helper()
	db, err := OpenRead(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func begin(t testing.TB, db *DB, s Start) *Writer {
	t.Helper()
	w, err := db.Begin(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func commit(t testing.TB, w *Writer, checkpoint string) {
	t.Helper()
	if err := w.Commit(t.Context(), []byte(checkpoint)); err != nil {
		t.Fatal(err)
	}
}

func closeWriter(t testing.TB, w *Writer) {
	t.Helper()
	if err := w.Close(t.Context(), End{State: Closed, Wire: [Streams]int64{-1, -1, -1}}); err != nil {
		t.Fatal(err)
	}
}

// some makes n frames of all kinds and lengths.
func some(rng *rand.Rand, n int) []Frame {
	list := make([]Frame, n)
	at := time.Duration(0)
	for i := range list {
		size := rng.IntN(300)
		switch rng.IntN(40) {
		case 0:
			size = rng.IntN(200 << 10)
		case 1:
			size = 0
		case 2:
			size = 200<<10 + rng.IntN(400<<10)
		}
		raw := make([]byte, size)
		for j := range raw {
			a, b := rng.IntN(256), rng.IntN(256)
			raw[j] = byte(a & b) // few ones, so that it packs a little
		}
		at += time.Duration(rng.IntN(5000)) * time.Microsecond
		list[i] = Frame{Seq: int64(i + 1), Stream: Stream(rng.IntN(3)), Time: at, Raw: raw, Size: int64(size), Term: Terminator(rng.IntN(3))}
	}
	return list
}

func addAll(w *Writer, list []Frame) {
	for _, f := range list {
		w.Frame(f.Stream, f.Time, f.Raw, f.Term)
	}
}

func same(a, b Frame) error {
	if a.Seq != b.Seq || a.Stream != b.Stream || a.Time != b.Time || a.Size != b.Size || a.Term != b.Term {
		return fmt.Errorf("frame %d %s %v size %d term %d, want %d %s %v size %d term %d",
			a.Seq, a.Stream, a.Time, a.Size, a.Term, b.Seq, b.Stream, b.Time, b.Size, b.Term)
	}
	if !bytes.Equal(a.Raw, b.Raw) || (a.Raw == nil) != (b.Raw == nil) {
		return fmt.Errorf("frame %d has other bytes", a.Seq)
	}
	return nil
}

// holds sees that the session has exactly the frames want, by every way of
// reading them, and the proof that belongs to them.
func holds(t *testing.T, db *DB, id int64, want []Frame) *Session {
	t.Helper()
	ctx := t.Context()
	s, err := db.Find(ctx, fmt.Sprint(id))
	if err != nil {
		t.Fatal(err)
	}
	i := 0
	for f, err := range s.Frames(ctx, 0, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if i == len(want) {
			t.Fatalf("there is a frame %d more than the %d expected", f.Seq, len(want))
		}
		if err := same(f, want[i]); err != nil {
			t.Fatal(err)
		}
		i++
	}
	if i != len(want) {
		t.Fatalf("read %d frames, want %d", i, len(want))
	}
	i = 0
	for f, err := range s.Metas(ctx, 0, 0) {
		if err != nil {
			t.Fatal(err)
		}
		w := want[i]
		w.Raw = nil
		if err := same(f, w); err != nil {
			t.Fatal(err)
		}
		i++
	}
	if i != len(want) {
		t.Fatalf("read %d metas, want %d", i, len(want))
	}
	for range 20 {
		if len(want) == 0 {
			break
		}
		w := want[rand.IntN(len(want))]
		f, err := s.Frame(ctx, w.Seq)
		if err != nil {
			t.Fatal(err)
		}
		if err := same(f, w); err != nil {
			t.Fatal(err)
		}
	}
	if got := chainsOf(want); got != s.Chains {
		t.Fatalf("the session's proof is %v, want %v", s.Chains, got)
	}
	return s
}

// chainsOf computes the proof as the documentation of Chain words it.
func chainsOf(list []Frame) (c [Streams]Chain) {
	for _, f := range list {
		line := append(bytes.Clone(f.Raw), f.Term.Bytes()...)
		k := &c[f.Stream]
		k.Hash = sha256.Sum256(append(k.Hash[:], line...))
		k.Frames++
		k.Bytes += int64(len(line))
	}
	return c
}

func sessionCount(t *testing.T, db *DB) int {
	t.Helper()
	list, err := db.Sessions(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}
