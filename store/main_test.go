package store

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// TestMain also makes the test binary a recorder: what AGENTREC_TEST_RECORDER
// names, with the database in AGENTREC_TEST_DB.
func TestMain(m *testing.M) {
	var err error
	switch role := os.Getenv("AGENTREC_TEST_RECORDER"); role {
	case "":
		goleak.VerifyTestMain(m)
		return
	case "short":
		err = recordShort(os.Getenv("AGENTREC_TEST_DB"))
	case "endless":
		err = recordEndless(os.Getenv("AGENTREC_TEST_DB"))
	case "read":
		err = readAll(os.Getenv("AGENTREC_TEST_DB"))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// recordShort opens the database, which many do at once, and records a session
// in a few commits, waiting as long as it takes.
func recordShort(path string) error {
	ctx := context.Background()
	db, err := Open(ctx, path)
	if err != nil {
		return err
	}
	defer db.Close()
	var w *Writer
	if err := insist(func() (err error) { w, err = db.Begin(ctx, Start{}); return err }); err != nil {
		return err
	}
	for range 5 {
		for i := range 20 {
			w.Frame(Stream(i%3), 0, []byte("frame"), LF)
		}
		if err := insist(func() error { return w.Commit(ctx, nil) }); err != nil {
			return err
		}
	}
	return insist(func() error { return w.Close(ctx, End{State: Closed, Wire: [Streams]int64{-1, -1, -1}}) })
}

// insist repeats what failed because another process had the lock.
func insist(fn func() error) error {
	for deadline := time.Now().Add(time.Minute); ; {
		err := fn()
		if err == nil || !isBusy(err) || time.Now().After(deadline) {
			return err
		}
	}
}

// endlessUID is the session that recordEndless goes on with.
const endlessUID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"

// endless is the n-th frame, from 1, of the endless session.
func endless(n int64) (Stream, []byte) {
	raw := fmt.Appendf(nil, "%d:", n)
	for i := range n * 7919 % 3000 {
		raw = append(raw, 'a'+byte(i*n%26))
	}
	return Stream(n % 3), raw
}

// recordEndless records frames until it is killed. The checkpoint is how many
// frames are stored.
func recordEndless(path string) error {
	ctx := context.Background()
	db, err := Open(ctx, path)
	if err != nil {
		return err
	}
	w, checkpoint, err := db.Resume(ctx, endlessUID)
	if err != nil {
		return err
	}
	fmt.Println("resumed")
	n := int64(0)
	fmt.Sscan(string(checkpoint), &n)
	for {
		for range 1 + n%300 {
			n++
			stream, raw := endless(n)
			w.Frame(stream, time.Duration(n)*time.Millisecond, raw, LF)
		}
		if err := insist(func() error { return w.Commit(ctx, fmt.Append(nil, n)) }); err != nil {
			return err
		}
	}
}

// readAll opens the database for reading and prints how many frames its
// sessions have.
func readAll(path string) error {
	ctx := context.Background()
	db, err := OpenRead(ctx, path)
	if err != nil {
		return err
	}
	defer db.Close()
	list, err := db.Sessions(ctx)
	if err != nil {
		return err
	}
	for _, s := range list {
		n := 0
		for _, err := range s.Frames(ctx, 0, 0) {
			if err != nil {
				return err
			}
			n++
		}
		fmt.Print(n, " ")
	}
	return nil
}
