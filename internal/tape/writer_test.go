package tape

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"agentrec/store"
)

// TestStampsAreInOrder: of two records the earlier one on the tape is not the
// younger one, whichever streams they are of.
func TestStampsAreInOrder(t *testing.T) {
	tape := create(t)
	const each = 2000
	var all sync.WaitGroup
	for s := range store.Streams {
		all.Go(func() {
			for i := range each {
				size := 1
				if i%100 == 0 {
					size = MaxChunk // a long one is sealed while the others come
				}
				if err := tape.Append(store.Stream(s), make([]byte, size)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	r := newReader(tape.file, tape.aead)
	var last time.Duration
	for n := -2; ; n++ { // the start and the room are no chunks
		rec, err := r.read(tape.length.Load())
		if err == io.EOF {
			if n != each*store.Streams {
				t.Errorf("%d records, want %d", n, each*store.Streams)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if rec.time < last {
			t.Fatalf("record %d was stamped %v, the one before it %v", n, rec.time, last)
		}
		last = rec.time
	}
}

// TestLongRecordsEndWithABlock holds what fill promises: nothing is lost by it,
// records that follow each other closely end with blocks, and a tape that ends
// in the middle of a fill ends before that record.
func TestLongRecordsEndWithABlock(t *testing.T) {
	tape := create(t)
	rnd := rand.New(rand.NewPCG(7, 7))
	var chunks [][]byte
	add := func(n int) {
		p := make([]byte, n)
		for i := range p {
			p[i] = byte(rnd.Uint32())
		}
		chunks = append(chunks, p)
		if err := tape.Append(store.Stream(rnd.IntN(store.Streams)), p); err != nil {
			t.Fatal(err)
		}
	}
	for range 30 {
		add(1 + rnd.IntN(300))
		for range rnd.IntN(5) {
			add(block*3/4 + rnd.IntN(MaxChunk-block*3/4+1))
		}
	}
	length := tape.length.Load()
	b, err := os.ReadFile(tape.path)
	if err != nil || int64(len(b)) != length {
		t.Fatalf("the tape has %d bytes, want %d (%v)", len(b), length, err)
	}
	r := newReader(bytes.NewReader(b), tape.aead)
	for range 2 { // the start and the room
		if _, err := r.read(length); err != nil {
			t.Fatal(err)
		}
	}
	var bytesIn, filled int64
	long := false
	for i, want := range chunks {
		at := r.next
		rec, err := r.read(length)
		if err != nil || !bytes.Equal(rec.data, want) {
			t.Fatalf("chunk %d reads back as %d bytes (%v), want %d", i, len(rec.data), err, len(want))
		}
		size := int64(recordSize + len(want) + tagSize)
		is := size > block*3/4
		if fill := r.next - at - size; is && long {
			if r.next%block != 0 {
				t.Errorf("long record %d ends at %d, in a block", i, r.next)
			}
			if fill > 0 {
				cut := newReader(bytes.NewReader(b), tape.aead)
				cut.seek(at)
				if _, err := cut.read(r.next - 1); !errors.Is(err, errTorn) {
					t.Errorf("record %d without the end of its fill: %v", i, err)
				}
			}
			filled += fill
		} else if fill != 0 {
			t.Errorf("record %d of %d bytes has a fill of %d", i, len(want), fill)
		}
		long = is
		bytesIn += size
	}
	if _, err := r.read(length); err != io.EOF {
		t.Errorf("behind the last chunk: %v", err)
	}
	if filled == 0 || filled > bytesIn {
		t.Errorf("%d bytes of fill for %d of records", filled, bytesIn)
	}
}

// TestReadsTapesOfEarlierVersions: their records have zeros where the fill is.
func TestReadsTapesOfEarlierVersions(t *testing.T) {
	for v := byte(oldest); v < version; v++ {
		tape := create(t)
		appendTo(t, tape, store.Out, "one\n")
		b, err := os.ReadFile(tape.path)
		if err != nil {
			t.Fatal(err)
		}
		b[8] = v
		if err := os.WriteFile(tape.path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		kill(t, tape)
		db, err := Open(t.Context(), tape.db)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if s, err := db.Find(t.Context(), ""); err != nil || s.Count() != 1 || s.Reason != "the recorder was killed" {
			t.Errorf("version %d: %v, %v", v, s, err)
		}
	}
}

// TestAChunkAfterTheEndIsNotCounted: one that was read while the tape ended came
// too late for the recording and for its counts.
func TestAChunkAfterTheEndIsNotCounted(t *testing.T) {
	tape := create(t)
	appendTo(t, tape, store.In, "one\n")
	tape.lanes[store.In].wire.Add(4) // has been read and waits for its turn
	if e := tape.Finish(nil); e.Wire[store.In] != 4 || e.Lost[store.In] != 0 {
		t.Errorf("the end counts %d bytes, %d of them lost; want 4 and 0", e.Wire[store.In], e.Lost[store.In])
	}
	if err := tape.Append(store.In, []byte("two\n")); err == nil {
		t.Error("a chunk was appended behind the end")
	}
}

// TestAnEndFindsRoom: where nothing more can be appended, the tape still tells
// how the session ended and what of it is missing.
func TestAnEndFindsRoom(t *testing.T) {
	tape := create(t)
	appendTo(t, tape, store.Out, "one\n")
	whole := tape.file
	var err error
	if tape.file, err = os.Open(tape.path); err != nil { // writing fails from here on
		t.Fatal(err)
	}
	if err := tape.Append(store.Out, []byte("two\n")); err == nil {
		t.Fatal("a chunk was appended to a file that cannot be written")
	}
	tape.Finish(&store.Exit{Code: 3})
	tape.file.Close()
	tape.file = whole
	kill(t, tape)
	for _, open := range []func(context.Context, string) (*store.DB, error){Open, OpenWrite} {
		db, err := open(t.Context(), tape.db)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		s, err := db.Find(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		if s.State != store.Cut || !strings.Contains(s.Reason, "4 bytes were forwarded but not recorded") || s.Count() != 1 || s.Exit == nil || s.Exit.Code != 3 {
			t.Errorf("%s: %s, %d frames, exit %v", s.State, s.Reason, s.Count(), s.Exit)
		}
	}
}
