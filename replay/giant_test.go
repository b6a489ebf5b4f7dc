package replay

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"path/filepath"
	"testing"
	"time"

	"agentrec/store"
)

// Frames too long to be held pass in parts, both ways: the client's is compared
// by its hash, the agent's is streamed.
func TestGiants(t *testing.T) {
	giant := bytes.Repeat([]byte("0123456789abcdef"), (store.MaxRaw>>4)+1000)
	path := filepath.Join(t.TempDir(), "g.db")
	db, err := store.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	w, err := db.Begin(t.Context(), store.Start{Started: time.Unix(1, 0), Dialect: "ndjson"})
	if err != nil {
		t.Fatal(err)
	}
	for _, stream := range []store.Stream{store.In, store.Out} {
		if err := w.Part(stream, giant); err != nil {
			t.Fatal(err)
		}
		if _, err := w.EndParts(stream, time.Millisecond, store.LF); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Commit(t.Context(), nil), w.Close(t.Context(), store.End{State: store.Closed, Wire: [store.Streams]int64{-1, -1, -1}}), db.Close()); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		send []byte
		want error
	}{
		"as recorded": {giant, nil},
		"another":     {append([]byte("x"), giant[1:]...), Divergence{Count: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			inR, inW := io.Pipe()
			outR, outW := io.Pipe()
			done := make(chan error, 1)
			go func() {
				err := Run(context.Background(), Options{File: path, Stdin: inR, Stdout: outW, Stderr: io.Discard})
				outW.Close()
				done <- err
			}()
			go func() {
				inW.Write(append(append([]byte(nil), c.send...), '\n'))
				inW.Close()
			}()
			h := sha256.New()
			n, err := io.Copy(h, bufio.NewReader(outR))
			if err != nil {
				t.Fatal(err)
			}
			want := sha256.Sum256(append(append([]byte(nil), giant...), '\n'))
			if n != int64(len(giant)+1) || !bytes.Equal(h.Sum(nil), want[:]) {
				t.Errorf("got %d bytes, want %d with another hash", n, len(giant)+1)
			}
			if err := <-done; err != c.want {
				t.Errorf("left with %v, want %v", err, c.want)
			}
		})
	}
}
