package store

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// readEverything uses all ways of reading and returns how many frames came.
func readEverything(ctx context.Context, db *DB) (n int) {
	list, err := db.Sessions(ctx)
	if err != nil {
		return 0
	}
	for _, s := range list {
		for f, err := range s.Frames(ctx, 0, 0) {
			if err != nil {
				break
			}
			if f.Raw == nil {
				if r, err := s.Reader(ctx, f.Seq); err == nil {
					io.Copy(io.Discard, r)
					r.Close()
				}
			}
			n++
		}
		for range s.Metas(ctx, 0, 0) {
		}
		s.Events(ctx)
		Verify(ctx, s)
		WriteText(ctx, io.Discard, s)
	}
	return n
}

// Whatever is wrong in a file, reading it ends with an error or with frames,
// never with a panic or without an end.
func TestMutatedDatabases(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	db := openDB(t, path)
	rng := rand.New(rand.NewPCG(11, 11))
	w := begin(t, db, Start{Name: "n", Argv: []string{"a"}, Tags: map[string]string{"k": "v"}})
	addAll(w, some(rng, 60))
	w.part(Out, bytes.Repeat([]byte("giant"), 1<<18))
	w.endParts(Out, 0, LF)
	w.Event(Event{Kind: EventExit, Exit: &Exit{Code: 1}})
	commit(t, w, "")
	closeWriter(t, w)
	w = begin(t, db, Start{})
	addAll(w, some(rng, 40))
	commit(t, w, "")
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	frames, refused := 0, 0
	for range 120 {
		b := bytes.Clone(whole)
		switch rng.IntN(4) {
		case 0:
			b = b[:rng.IntN(len(b))]
		case 1: // in the header or the schema
			for range 1 + rng.IntN(3) {
				b[rng.IntN(pageSize)] = byte(rng.IntN(256))
			}
		default:
			for range 1 + rng.IntN(60) {
				at := rng.IntN(len(b)/pageSize)*pageSize + rng.IntN(200)
				if rng.IntN(2) == 0 {
					at = rng.IntN(len(b))
				}
				b[at] = byte(rng.IntN(256))
			}
		}
		bad := filepath.Join(t.TempDir(), "b.db")
		if err := os.WriteFile(bad, b, 0o600); err != nil {
			t.Fatal(err)
		}
		read, err := OpenRead(t.Context(), bad)
		if err != nil {
			if !errors.Is(err, ErrUnusable) || strings.Contains(err.Error(), "\n") {
				t.Fatalf("opening: %v", err)
			}
			refused++
			continue
		}
		frames += readEverything(t.Context(), read)
		if err := read.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if frames == 0 || refused == 0 {
		t.Errorf("%d frames were read, %d files refused", frames, refused)
	}
}

// bomb is a few bytes that unpack to n.
func bomb(t *testing.T, n int) []byte {
	t.Helper()
	e, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	return e.EncodeAll(make([]byte, n), nil)
}

func TestUnpackingIsBounded(t *testing.T) {
	big := bomb(t, 64<<20)
	for _, stmt := range []string{
		"UPDATE chunk SET payload = ?",
		"UPDATE chunk SET columns = CAST(x'05' || ? AS BLOB)",
		"UPDATE part SET data = ?",
	} {
		db := newDB(t)
		w := begin(t, db, Start{})
		w.Frame(In, 0, []byte("{}"), LF)
		w.part(Out, make([]byte, 1000))
		w.endParts(Out, 0, LF)
		closeWriter(t, w)
		if _, err := db.write.Exec(stmt, big); err != nil {
			t.Fatal(err)
		}
		s := w.Session()
		_, err := s.Frame(t.Context(), 1)
		r, err2 := s.Reader(t.Context(), 2)
		if err2 == nil {
			_, err2 = io.Copy(io.Discard, r)
			r.Close()
		}
		if err = errors.Join(err, err2); !errors.Is(err, errDamaged) {
			t.Errorf("%s: %v", stmt, err)
		}
	}
}

func TestLongValuesAreRefused(t *testing.T) {
	db := newDB(t)
	w := begin(t, db, Start{})
	closeWriter(t, w)
	if _, err := db.write.Exec("UPDATE session SET name = CAST(zeroblob(?) AS TEXT)", maxValue+1); err != nil {
		t.Fatal(err)
	}
	db.Close()
	if list, err := openRead(t, db.Path()).Sessions(t.Context()); err == nil {
		t.Errorf("a name of %d bytes is read", len(list[0].Name))
	}
}

func TestClosedDatabase(t *testing.T) {
	db := newDB(t)
	w := begin(t, db, Start{})
	closeWriter(t, w)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Errorf("closing twice: %v", err)
	}
	if _, err := db.Sessions(t.Context()); !errors.Is(err, os.ErrClosed) {
		t.Errorf("reading a closed database: %v", err)
	}
	if _, err := db.Begin(t.Context(), Start{}); err == nil {
		t.Error("writing to a closed database succeeds")
	}
}
