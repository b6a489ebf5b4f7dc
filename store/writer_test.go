package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"
	"time"
)

func TestFramesComeBack(t *testing.T) {
	for _, every := range []int{1, 7, 100, 100000} {
		db := newDB(t)
		list := some(rand.New(rand.NewPCG(1, uint64(every))), 600)
		w := begin(t, db, Start{Name: "a"})
		for i, f := range list {
			if seq := w.Frame(f.Stream, f.Time, f.Raw, f.Term); seq != f.Seq {
				t.Fatalf("frame %d got seq %d", f.Seq, seq)
			}
			if i%every == every-1 {
				commit(t, w, "")
				if i%300 == 299 {
					holds(t, db, 1, list[:i+1])
				}
			}
		}
		commit(t, w, "")
		holds(t, db, 1, list)
		closeWriter(t, w)
		s := holds(t, db, 1, list)
		if s.State != Closed || s.Ended != list[len(list)-1].Time || w.Session().State != Closed {
			t.Errorf("the session is %s and ended at %v", s.State, s.Ended)
		}
		holds(t, openRead(t, db.Path()), 1, list)
	}
}

func TestRangesOfFrames(t *testing.T) {
	db := newDB(t)
	list := some(rand.New(rand.NewPCG(2, 2)), 1500)
	w := begin(t, db, Start{})
	addAll(w, list)
	commit(t, w, "")
	s, _ := db.Find(t.Context(), "")
	for range 50 {
		from := rand.Int64N(1600)
		to := from + rand.Int64N(200)
		n := from
		if n == 0 {
			n = 1
		}
		for f, err := range s.Frames(t.Context(), from, to) {
			if err != nil {
				t.Fatal(err)
			}
			if f.Seq != n || !bytes.Equal(f.Raw, list[n-1].Raw) {
				t.Fatalf("from %d to %d: got frame %d, want %d", from, to, f.Seq, n)
			}
			n++
		}
		if want := min(to, 1500) + 1; from <= 1500 && to > 0 && n != want {
			t.Fatalf("from %d to %d: ended at %d, want %d", from, to, n, want)
		}
	}
	for _, seq := range []int64{-1, 0, 1501, 1 << 62} {
		if _, err := s.Frame(t.Context(), seq); !errors.Is(err, ErrNotFound) {
			t.Errorf("frame %d: %v", seq, err)
		}
		if _, err := s.Reader(t.Context(), seq); !errors.Is(err, ErrNotFound) {
			t.Errorf("reader of frame %d: %v", seq, err)
		}
	}
}

func TestResumeGoesOn(t *testing.T) {
	list := some(rand.New(rand.NewPCG(3, 3)), 800)
	db := newDB(t)
	w := begin(t, db, Start{UID: "01ARZ3NDEKTSV4RRFFQ69G5FAV", Dialect: "x"})
	at := 0
	for at < len(list) {
		n := min(len(list), at+1+rand.IntN(90))
		addAll(w, list[at:n])
		w.Event(Event{Kind: EventSignal, Signal: "TERM"})
		commit(t, w, string(rune('a'+n%26)))
		// The writer dies with frames that were never committed.
		addAll(w, list[n:min(len(list), n+40)])
		next, checkpoint, err := db.Resume(t.Context(), "01ARZ3NDEKTSV4RRFFQ69G5FAV")
		if err != nil {
			t.Fatal(err)
		}
		if string(checkpoint) != string(rune('a'+n%26)) {
			t.Fatalf("the checkpoint is %q", checkpoint)
		}
		w, at = next, n
	}
	holds(t, db, 1, list)
	closeWriter(t, w)
	holds(t, db, 1, list)
	if _, _, err := db.Resume(t.Context(), "01ARZ3NDEKTSV4RRFFQ69G5FAV"); !errors.Is(err, ErrEnded) {
		t.Errorf("resuming an ended session: %v", err)
	}
	if _, _, err := db.Resume(t.Context(), "nobody"); !errors.Is(err, ErrNotFound) {
		t.Errorf("resuming no session: %v", err)
	}
}

func TestFailedCommitStaysPending(t *testing.T) {
	db := newDB(t)
	list := some(rand.New(rand.NewPCG(4, 4)), 900)
	w := begin(t, db, Start{})
	addAll(w, list[:100])
	commit(t, w, "a")
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for i := 100; i < 900; i += 100 {
		addAll(w, list[i:i+100])
		w.Event(Event{Kind: EventEOF})
		if err := w.Commit(gone, []byte("b")); err == nil {
			t.Fatal("a commit with a cancelled context succeeds")
		}
	}
	holds(t, db, 1, list[:100])
	commit(t, w, "c")
	s := holds(t, db, 1, list)
	if e, err := s.Events(t.Context()); err != nil || len(e) != 8 {
		t.Errorf("%d events, %v", len(e), err)
	}
	if err := w.Close(gone, End{State: Closed}); err == nil {
		t.Fatal("a close with a cancelled context succeeds")
	}
	closeWriter(t, w)
	holds(t, db, 1, list)
}

func TestTwoWritersOfOneSessionDoNotMix(t *testing.T) {
	db := newDB(t)
	list := some(rand.New(rand.NewPCG(5, 5)), 100)
	w := begin(t, db, Start{UID: "u"})
	v, _, err := db.Resume(t.Context(), "u")
	if err != nil {
		t.Fatal(err)
	}
	addAll(w, list[:50])
	commit(t, w, "")
	addAll(v, list[50:])
	if err := v.Commit(t.Context(), nil); err == nil {
		t.Error("a second writer may commit")
	}
	holds(t, db, 1, list[:50])
}

func TestGiants(t *testing.T) {
	db := newDB(t)
	ctx := t.Context()
	rng := rand.New(rand.NewPCG(6, 6))
	big := make([]byte, 6<<20)
	for i := range big {
		big[i] = byte(rng.IntN(7))
	}
	w := begin(t, db, Start{UID: "g"})
	want := []Frame{}
	small := func(stream Stream, text string) {
		seq := w.Frame(stream, 0, []byte(text), LF)
		want = append(want, Frame{Seq: seq, Stream: stream, Raw: []byte(text), Size: int64(len(text)), Term: LF})
	}
	small(In, "before")
	for at := 0; at < len(big); {
		n := min(len(big), at+rng.IntN(400_000))
		if err := w.Part(Out, big[at:n]); err != nil {
			t.Fatal(err)
		}
		at = n
		switch rng.IntN(6) {
		case 0:
			commit(t, w, "")
		case 1:
			commit(t, w, "")
			w.Part(Out, []byte("never committed"))
			var err error
			if w, _, err = db.Resume(ctx, "g"); err != nil {
				t.Fatal(err)
			}
		case 2:
			small(In, "between")
		case 3:
			small(Err, "between")
		}
	}
	seq, err := w.EndParts(Out, time.Second, CRLF)
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, Frame{Seq: seq, Stream: Out, Time: time.Second, Size: int64(len(big)), Term: CRLF})
	if _, err := w.EndParts(Out, 0, LF); err == nil {
		t.Error("a giant that is not open can be ended")
	}
	commit(t, w, "")
	small(Out, "after")
	closeWriter(t, w)

	s, err := db.Find(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	i := 0
	for f, err := range s.Frames(ctx, 0, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if err := same(f, want[i]); err != nil && f.Seq != want[i].Seq {
			t.Fatal(err)
		}
		i++
	}
	if i != len(want) {
		t.Fatalf("%d frames, want %d", i, len(want))
	}
	r, err := s.Reader(ctx, seq)
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(r)
	if err != nil || !bytes.Equal(got, big) {
		t.Fatalf("the giant reads back as %d other bytes, %v", len(got), err)
	}
	r.Close()
	for i := range want {
		if want[i].Seq == seq {
			want[i].Raw = big
		}
	}
	if c := chainsOf(want); c != s.Chains {
		t.Errorf("the proof of a session with a giant does not fit")
	}
	r, err = s.Reader(ctx, 1)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(r); err != nil || string(got) != "before" {
		t.Errorf("a short frame reads %q, %v", got, err)
	}
	r.Close()
}

func TestFrameEndsAnOpenGiant(t *testing.T) {
	db := newDB(t)
	w := begin(t, db, Start{})
	w.Part(In, []byte("one "))
	seq := w.Frame(In, 0, []byte("two"), LF)
	closeWriter(t, w)
	s, _ := db.Find(t.Context(), "")
	r, err := s.Reader(t.Context(), seq)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(r); err != nil || string(b) != "one two" {
		t.Errorf("got %q, %v", b, err)
	}
}

func TestSessionRow(t *testing.T) {
	db := newDB(t)
	at := time.Date(2026, 3, 4, 5, 6, 7, 8000, time.UTC)
	want := Start{
		UID: "01ARZ3NDEKTSV4RRFFQ69G5FAV", Name: "näme", Tags: map[string]string{"k": "v", "a\x00": "\n"}, Started: at, Host: "h",
		Cwd: "/tmp", Argv: []string{"phi", "", "a b"}, Version: "1", Dialect: "d", Unredacted: true, Edited: true, Parent: "p",
	}
	w := begin(t, db, want)
	w.SetDialect("phi")
	w.Event(Event{Time: 3 * time.Millisecond, Kind: EventStart})
	w.Frame(In, 5*time.Millisecond, []byte("{}"), LF)
	w.Event(Event{Time: 9 * time.Millisecond, Kind: EventExit, Exit: &Exit{Signal: "KILL"}})
	w.Event(Event{Time: 10 * time.Millisecond, Kind: EventLost, Stream: Err, Bytes: 7, Detail: "disk full"})
	if n := sessionCount(t, db); n != 1 {
		t.Fatalf("%d sessions after Begin", n)
	}
	err := w.Close(t.Context(), End{State: Cut, Reason: "why", Ended: time.Second, Exit: &Exit{Code: 3}, Wire: [Streams]int64{3, 0, -1}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := db.Find(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	if s.UID != want.UID || s.Name != want.Name || len(s.Tags) != 2 || s.Tags["a\x00"] != "\n" || !s.Started.Equal(at) || s.Host != "h" || s.Cwd != "/tmp" ||
		len(s.Argv) != 3 || s.Argv[2] != "a b" || s.Version != "1" || s.Dialect != "phi" || !s.Unredacted || !s.Edited || s.Parent != "p" ||
		s.State != Cut || s.Reason != "why" || s.Ended != time.Second || *s.Exit != (Exit{Code: 3}) || s.Wire != [Streams]int64{3, 0, -1} || s.Count() != 1 {
		t.Errorf("the session came back as %+v", s)
	}
	events, err := s.Events(t.Context())
	if err != nil || len(events) != 3 {
		t.Fatalf("%d events, %v", len(events), err)
	}
	if e := events[0]; e.Kind != EventStart || e.After != 0 || e.Time != 3*time.Millisecond || e.Exit != nil {
		t.Errorf("event 1 is %+v", e)
	}
	if e := events[1]; e.After != 1 || e.Exit == nil || e.Exit.Signal != "KILL" {
		t.Errorf("event 2 is %+v", e)
	}
	if e := events[2]; e.Stream != Err || e.Bytes != 7 || e.Detail != "disk full" {
		t.Errorf("event 3 is %+v", e)
	}
}

func TestRefreshSeesALiveSessionGrow(t *testing.T) {
	db := newDB(t)
	w := begin(t, db, Start{})
	reader := openRead(t, db.Path())
	s, err := reader.Find(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		w.Frame(Out, 0, []byte("x"), LF)
		commit(t, w, "")
		if err := s.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		if s.Count() != int64(i+1) {
			t.Fatalf("after %d frames the reader counts %d", i+1, s.Count())
		}
		if _, err := s.Frame(t.Context(), int64(i+1)); err != nil {
			t.Fatal(err)
		}
	}
}

// Agents repeat a growing message in each update: that must cost little, whole
// or with other frames between, and come back exactly after any cut.
func TestSnapshotsCostLittle(t *testing.T) {
	rng := rand.New(rand.NewPCG(12, 12))
	text := words(rng, 200_000)
	db := newDB(t)
	w := begin(t, db, Start{UID: "s"})
	var list []Frame
	raw := 0
	for n := 100_000; n < 120_000; n += 100 {
		for _, line := range []string{fmt.Sprintf(`{"n":%d,"text":"%s","more":[1]}`, n, text[:n]), fmt.Sprintf(`{"delta":"%s"}`, text[n-100:n])} {
			list = append(list, Frame{Seq: int64(len(list) + 1), Stream: Out, Raw: []byte(line), Size: int64(len(line)), Term: LF})
			w.Frame(Out, 0, []byte(line), LF)
			raw += len(line)
		}
		switch n / 100 % 7 {
		case 0:
			commit(t, w, "")
		case 1:
			commit(t, w, "")
			var err error
			if w, _, err = db.Resume(t.Context(), "s"); err != nil {
				t.Fatal(err)
			}
		}
	}
	closeWriter(t, w)
	holds(t, db, 1, list)
	var chunks, packed, most int
	err := db.write.QueryRow("SELECT count(*), sum(length(payload) + length(columns)), max(size) FROM chunk").Scan(&chunks, &packed, &most)
	if err != nil {
		t.Fatal(err)
	}
	if packed > raw/16 || most > chunkMost || chunks > raw/(chunkMost/2) {
		t.Errorf("%d bytes take %d, in %d chunks of up to %d bytes", raw, packed, chunks, most)
	}

	// Long frames that have nothing in common do not share more than a chunk.
	w = begin(t, db, Start{UID: "t"})
	for range 20 {
		rng.Shuffle(len(text), func(i, j int) { text[i], text[j] = text[j], text[i] })
		w.Frame(Out, 0, text[:60_000], LF)
	}
	closeWriter(t, w)
	if err := db.write.QueryRow("SELECT max(size) FROM chunk WHERE id > 2 << 40").Scan(&most); err != nil || most > chunkRaw+60_000 {
		t.Errorf("a chunk of %d bytes, %v", most, err)
	}
}
