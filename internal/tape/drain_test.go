package tape

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"agentrec/store"
)

// frame is what a test compares of a store.Frame.
type frame struct {
	stream store.Stream
	raw    string
	term   store.Terminator
}

// create makes a tape beside a database that does not exist yet.
func create(t testing.TB) *Tape {
	t.Helper()
	tape, err := Create(filepath.Join(t.TempDir(), "session.db"), Start{Started: time.Now(), Argv: []string{"agent"}, Unredacted: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tape.remove)
	return tape
}

func appendTo(t testing.TB, tape *Tape, s store.Stream, p string) {
	t.Helper()
	if err := tape.Append(s, []byte(p)); err != nil {
		t.Fatal(err)
	}
}

func openStore(t testing.TB, path string) *store.DB {
	t.Helper()
	db, err := store.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// drained brings all of a tape into its database and returns the session.
func drained(t testing.TB, tape *Tape) *store.Session {
	t.Helper()
	db := openStore(t, tape.db)
	d := begin(t, tape, db)
	if err := d.drainAll(t.Context(), tape.length.Load()); err != nil {
		t.Fatal(err)
	}
	s, err := db.Find(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func begin(t testing.TB, tape *Tape, db *store.DB) *Drain {
	t.Helper()
	secret, err := db.Secret(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	d, err := newDrain(t.Context(), db, secret, newReader(tape.file, tape.aead), tape.length.Load(), 0)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// frames returns the frames of the only session of a database.
func frames(t testing.TB, db *store.DB) (*store.Session, []frame) {
	t.Helper()
	s, err := db.Find(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	var list []frame
	last := time.Duration(0)
	for f, err := range s.Frames(t.Context(), 1, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if f.Time < last {
			t.Errorf("frame %d: time runs backwards", f.Seq)
		}
		last = f.Time
		raw := f.Raw
		if raw == nil && f.Size > 0 {
			r, err := s.Reader(t.Context(), f.Seq)
			if err != nil {
				t.Fatal(err)
			}
			if raw, err = io.ReadAll(r); err != nil {
				t.Fatal(err)
			}
			r.Close()
		}
		list = append(list, frame{f.Stream, string(raw), f.Term})
	}
	return s, list
}

// oracle cuts chunks into frames the slow and obvious way.
type oracle struct {
	open   [store.Streams]string
	frames []frame
	kinds  []store.EventKind
}

func (o *oracle) chunk(s store.Stream, p string) {
	o.open[s] += p
	for {
		line, rest, ok := strings.Cut(o.open[s], "\n")
		if !ok {
			return
		}
		o.open[s] = rest
		if cut, ok := strings.CutSuffix(line, "\r"); ok {
			o.frames = append(o.frames, frame{s, cut, store.CRLF})
		} else {
			o.frames = append(o.frames, frame{s, line, store.LF})
		}
	}
}

func (o *oracle) flush(s store.Stream) {
	if o.open[s] != "" {
		o.frames = append(o.frames, frame{s, o.open[s], store.None})
		o.open[s] = ""
	}
}

// record fills a tape with n random chunks and events.
func (o *oracle) record(t testing.TB, tape *Tape, r *rand.Rand, n int) {
	for range n {
		s := store.Stream(r.IntN(store.Streams))
		switch r.IntN(10) {
		case 0:
			tape.Event(store.Event{Kind: store.EventSignal, Signal: "USR1"})
			o.kinds = append(o.kinds, store.EventSignal)
		case 1:
			tape.Event(store.Event{Kind: store.EventLost, Stream: s, Bytes: 1})
			o.kinds = append(o.kinds, store.EventLost)
			o.flush(s)
		default:
			p := make([]byte, r.IntN(40))
			for i := range p {
				p[i] = "ab\r\n\x00\xff"[r.IntN(6)]
			}
			if len(p) > 0 {
				appendTo(t, tape, s, string(p))
				o.chunk(s, string(p))
			}
		}
	}
}

// TestDrainResumesExactlyOnce stops drains at random records, before or after
// their commit, and lets new ones go on.
func TestDrainResumesExactlyOnce(t *testing.T) {
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 1))
		tape := create(t)
		var want oracle
		want.record(t, tape, r, 60+r.IntN(200))
		for s := range store.Streams {
			want.flush(store.Stream(s))
		}
		var db *store.DB
		for ended := false; !ended; {
			db = openStore(t, tape.db)
			d := begin(t, tape, db)
			for k := 1 + r.IntN(80); k > 0; k-- {
				rec, err := d.reader.read(tape.length.Load())
				if errors.Is(err, io.EOF) {
					ended = true
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				if err := d.take(rec); err != nil {
					t.Fatal(err)
				}
				if r.IntN(8) == 0 {
					if err := d.commit(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
			}
			if ended {
				if err := d.close(t.Context(), nil, ""); err != nil {
					t.Fatal(err)
				}
			} else if r.IntN(2) == 0 {
				if err := d.commit(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if !ended {
				db.Close() // what was not committed is gone
			}
		}
		s, got := frames(t, db)
		if !slices.Equal(got, want.frames) {
			t.Fatalf("seed %d: got %d frames %+v\nwant %d %+v", seed, len(got), got, len(want.frames), want.frames)
		}
		events, err := s.Events(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var kinds []store.EventKind
		for _, e := range events {
			kinds = append(kinds, e.Kind)
		}
		if !slices.Equal(kinds, want.kinds) {
			t.Fatalf("seed %d: events %v, want %v", seed, kinds, want.kinds)
		}
	}
}

// A private key that comes line by line is taken out although another drain
// took its beginning.
func TestAKeyIsRedactedAcrossDrains(t *testing.T) {
	tape, err := Create(filepath.Join(t.TempDir(), "session.db"), Start{Started: time.Now(), Argv: []string{"agent"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tape.remove)
	line := func(c string) string { return strings.Repeat(c, 64) }
	appendTo(t, tape, store.Err, "-----BEGIN RSA PRIVATE KEY-----\n"+line("MIIE")[:64]+"\n")
	db := openStore(t, tape.db)
	d := begin(t, tape, db)
	if err := d.drainAll(t.Context(), tape.length.Load()); err != nil {
		t.Fatal(err)
	}
	db.Close()
	appendTo(t, tape, store.Err, line("Ab")[:64]+"\nQUJD\n-----END RSA PRIVATE KEY-----\nAfterTheEnd\n")
	db = openStore(t, tape.db)
	d = begin(t, tape, db)
	if err := d.drainAll(t.Context(), tape.length.Load()); err != nil {
		t.Fatal(err)
	}
	_, got := frames(t, db)
	for i, f := range got {
		if secret := i > 0 && i < 4; secret != strings.HasPrefix(f.raw, "<redacted:private_key:") {
			t.Errorf("frame %d: %s", i+1, f.raw)
		}
	}
	if len(got) != 6 {
		t.Errorf("%d frames", len(got))
	}
}

// TestGiantResumesExactlyOnce stops a drain within a line that is too long for
// memory.
func TestGiantResumesExactlyOnce(t *testing.T) {
	tape := create(t)
	var line bytes.Buffer
	for i := 0; line.Len() < store.MaxRaw+(3<<20); i++ {
		fmt.Fprintf(&line, "%d,", i)
	}
	for _, ending := range []string{"\r\n", ""} {
		whole := "short\n" + line.String() + ending
		for whole != "" {
			n := min(len(whole), MaxChunk-1)
			appendTo(t, tape, store.Out, whole[:n])
			whole = whole[n:]
			if len(whole) == 1 { // CR and LF in chunks of their own
				appendTo(t, tape, store.In, "between\n")
			}
		}
		if ending == "" {
			tape.Event(store.Event{Kind: store.EventEOF, Stream: store.Out})
		}
	}
	// A line begins to be a giant after 257 records and ends after 305: stop
	// late in it, then where the next drain has not caught up, then go on.
	stops := []int{300, 270, 262, 320}
	var db *store.DB
	for ended := false; !ended; {
		db = openStore(t, tape.db)
		d := begin(t, tape, db)
		k := stops[0]
		stops = append(stops[1:], k)
		for ; k > 0 && !ended; k-- {
			rec, err := d.reader.read(tape.length.Load())
			if ended = errors.Is(err, io.EOF); ended {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := d.take(rec); err != nil {
				t.Fatal(err)
			}
			if k%3 == 0 {
				if err := d.commit(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		}
		if ended {
			if err := d.close(t.Context(), nil, ""); err != nil {
				t.Fatal(err)
			}
		} else {
			db.Close()
		}
	}
	_, got := frames(t, db)
	var out []frame
	for _, f := range got {
		if f.stream == store.Out {
			out = append(out, f)
		}
	}
	want := []frame{
		{store.Out, "short", store.LF}, {store.Out, line.String(), store.CRLF},
		{store.Out, "short", store.LF}, {store.Out, line.String(), store.None},
	}
	if !slices.Equal(out, want) {
		for i, f := range out {
			t.Errorf("frame %d: %d bytes, terminator %d", i, len(f.raw), f.term)
		}
	}
}

// TestTornTape cuts a tape at every byte of its last record, and turns a bit
// over in each place of it: all before it stays readable, nothing of it passes.
func TestTornTape(t *testing.T) {
	tape := create(t)
	appendTo(t, tape, store.Out, "first\nsec")
	whole := tape.length.Load()
	appendTo(t, tape, store.Out, "ond\nthird\n")
	end := tape.length.Load()
	b, err := os.ReadFile(tape.path)
	if err != nil {
		t.Fatal(err)
	}
	check := func(what string, b []byte) {
		t.Helper()
		r := newReader(bytes.NewReader(b), tape.aead)
		var got []string
		for {
			rec, err := r.read(int64(len(b)))
			if err != nil {
				if len(b) > int(whole) && !errors.Is(err, errTorn) && !errors.Is(err, errDamaged) {
					t.Errorf("%s: %v", what, err)
				}
				break
			}
			if rec.kind == kindOut {
				got = append(got, string(rec.data))
			}
		}
		if !slices.Equal(got, []string{"first\nsec"}) {
			t.Errorf("%s: read %q", what, got)
		}
	}
	for n := whole; n < end; n++ {
		check(fmt.Sprintf("cut at %d", n-whole), b[:n])
	}
	for n := whole; n < end; n++ {
		for bit := range 8 {
			turned := slices.Clone(b)
			turned[n] ^= 1 << bit
			check(fmt.Sprintf("bit %d of byte %d", bit, n-whole), turned)
		}
	}
	zeros := append(slices.Clone(b[:whole]), make([]byte, 100)...)
	check("zeros after a power loss", zeros)
}

func TestNothingStandsOnTheTapeInClear(t *testing.T) {
	tape := create(t)
	appendTo(t, tape, store.In, `{"api_key":"sk-verysecretvalue"}`)
	tape.Event(store.Event{Kind: store.EventSignal, Detail: "verysecretvalue"})
	b, err := os.ReadFile(tape.path)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(b, []byte("secret")) || bytes.Contains(b, []byte("agent\"")) {
		t.Error("the tape holds text in clear")
	}
	for _, path := range []string{tape.path, tape.keyPath} {
		if path == "" {
			continue
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
}

// TestAppendAllocatesNothing keeps garbage off the hot path.
func TestAppendAllocatesNothing(t *testing.T) {
	tape := create(t)
	chunk := bytes.Repeat([]byte("x"), MaxChunk)
	if n := testing.AllocsPerRun(100, func() {
		if err := tape.Append(store.Out, chunk); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations a chunk", n)
	}
}

// TestAFullTapeCountsAndGoesOn fills the tape to its limit, drains it and goes
// on: the gap is counted, and lines on both sides of it do not join.
func TestAFullTapeCountsAndGoesOn(t *testing.T) {
	tape := create(t)
	appendTo(t, tape, store.Out, "before\nhalf")
	tape.limit.Store(tape.end) // of the backlog, which begins at 0
	if err := tape.Append(store.Out, []byte(" a line\nlost\n")); !errors.Is(err, errFull) {
		t.Fatalf("append to a full tape: %v", err)
	}
	if err := tape.Append(store.Out, []byte("lost too\nrest")); !errors.Is(err, errFull) {
		t.Fatalf("append to a full tape: %v", err)
	}
	tape.drained.Store(tape.end)
	appendTo(t, tape, store.Out, " of it\nafter\n")
	end := tape.Finish(&store.Exit{})

	db := openStore(t, tape.db)
	d := begin(t, tape, db)
	if err := d.drainAll(t.Context(), tape.length.Load()); err != nil {
		t.Fatal(err)
	}
	if err := d.close(t.Context(), &end, ""); err != nil {
		t.Fatal(err)
	}
	s, got := frames(t, db)
	want := []frame{{store.Out, "before", store.LF}, {store.Out, "half", store.None}, {store.Out, " of it", store.LF}, {store.Out, "after", store.LF}}
	if !slices.Equal(got, want) {
		t.Errorf("frames %+v", got)
	}
	const lost = int64(len(" a line\nlost\nlost too\nrest"))
	if s.State != store.Cut || !strings.HasPrefix(s.Reason, fmt.Sprintf("%d bytes were forwarded but not recorded: the tape is full", lost)) {
		t.Errorf("state %s: %s", s.State, s.Reason)
	}
	events, err := s.Events(t.Context())
	if err != nil || len(events) != 1 || events[0].Kind != store.EventLost || events[0].Bytes != lost || events[0].After != 2 {
		t.Errorf("events %v, %v", events, err)
	}
	if s.Wire[store.Out]-s.Chains[store.Out].Bytes != lost {
		t.Errorf("%d bytes on the wire, %d recorded, %d lost", s.Wire[store.Out], s.Chains[store.Out].Bytes, lost)
	}
}

// TestAnEventDoesNotWaitForAFrozenAppend: an end of input must be passed on also
// while another stream's append hangs.
func TestAnEventDoesNotWaitForAFrozenAppend(t *testing.T) {
	tape := create(t)
	tape.mu.Lock() // as an append that does not come back holds it
	returned := make(chan struct{})
	go func() {
		defer close(returned)
		tape.Event(store.Event{Kind: store.EventEOF, Stream: store.In})
	}()
	select {
	case <-returned:
	case <-time.After(30 * time.Second):
		t.Error("the event waits")
	}
	tape.mu.Unlock()
}
