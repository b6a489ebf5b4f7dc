package tape

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"agentrec/store"
)

// told is what a test told the tape of an exchange.
type told struct {
	x    *Exchange
	want store.Exchange
}

// What is told is what encoding/json would make of it, and would read.
func TestTellingsAreJSON(t *testing.T) {
	for _, list := range [][]store.Field{nil, {{Name: "A", Value: ""}}, {{Name: "A", Value: "\xff<&>\u2028"}, {Name: "", Value: "b\n"}}} {
		var packed [][]byte
		for _, f := range list {
			packed = append(packed, []byte(f.Name), []byte(f.Value))
		}
		r := Request{Route: store.RouteBaseURL, Proto: "HTTP/1.1", Method: "POST", URL: "http://h/\xfe?<>", Header: list}
		for _, c := range []struct {
			got  []byte
			want any
		}{
			{r.append(nil), exchangeBegin{r.Route, []byte(r.Proto), []byte(r.Method), []byte(r.URL), packed}},
			{appendAnswer(nil, 429, list), exchangeAnswer{429, packed}},
			{appendEnd(nil, store.Failed, list, "no route\xff", 7), exchangeEnd{store.Failed, packed, []byte("no route\xff"), 7}},
			{appendEnd(nil, store.Done, list, "", 0), exchangeEnd{End: store.Done, Trailer: packed}},
		} {
			if want, err := json.Marshal(c.want); err != nil || string(c.got) != string(want) {
				t.Errorf("%s, want %s, %v", c.got, want, err)
			}
		}
	}
}

// converse tells a tape of many exchanges at once, between frames, and returns
// what should be stored.
func converse(t testing.TB, tape *Tape, r *rand.Rand, n int) []*told {
	var all, open []*told
	frames := int64(0)
	for range n {
		if len(open) == 0 || r.IntN(5) == 0 {
			req := Request{store.RouteMITM, "HTTP/2.0", "POST", fmt.Sprintf("https://h/%d", len(all)), []store.Field{{Name: "A", Value: "\xff"}, {Name: "B", Value: "2"}}, nil}
			if len(all)%2 == 1 {
				req.Body = []byte("begun")
			}
			o := &told{x: tape.Exchange(req)}
			o.want = store.Exchange{Body: req.Body, After: frames, Route: req.Route, Proto: req.Proto, Method: req.Method, URL: req.URL, Header: req.Header}
			all, open = append(all, o), append(open, o)
			continue
		}
		i := r.IntN(len(open))
		o := open[i]
		p := bytes.Repeat([]byte("ab\n\xff"[r.IntN(4):]), r.IntN(30))
		switch r.IntN(6) {
		case 0:
			o.x.Body(p)
			o.want.Body = append(o.want.Body, p...)
		case 1:
			o.want.Status, o.want.Answer = 200+r.IntN(300), []store.Field{{Name: "C", Value: "3"}}
			o.x.Answer(o.want.Status, o.want.Answer)
		case 2, 3:
			o.x.Piece(p)
			if len(p) > 0 {
				o.want.Pieces = append(o.want.Pieces, store.Piece{Bytes: p})
			}
		case 4:
			o.want.End, o.want.Trailer, o.want.Error = store.Cancelled, []store.Field{{Name: "D", Value: ""}}, "why"
			o.x.End(o.want.End, o.want.Trailer, o.want.Error)
			open = slices.Delete(open, i, i+1)
		case 5:
			appendTo(t, tape, store.Out, "frame\nhal")
			appendTo(t, tape, store.Out, "f\n")
			frames += 2
		}
	}
	for _, o := range open {
		o.want.End, o.want.Error = store.CutShort, "the recording ended before it"
	}
	return all
}

// stored sees that the only session of a database has the exchanges told.
func stored(t testing.TB, s *store.Session, all []*told) {
	t.Helper()
	i := 0
	for x, err := range s.Exchanges(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if i == len(all) {
			t.Fatalf("exchange %d is one too many", x.Number)
		}
		w := all[i].want
		i++
		last := x.Time
		for j, p := range x.Pieces {
			if p.Time < last || p.Time > time.Hour {
				t.Errorf("exchange %d: piece %d came at %v, before it %v", x.Number, j, p.Time, last)
			}
			last = p.Time
			x.Pieces[j].Time = 0
		}
		got := fmt.Sprintf("after %d %s %s %s %s %q %q %d %q %q %q %s %s %d", x.After, x.Route, x.Proto, x.Method, x.URL, x.Header, x.Body, x.Status, x.Answer, x.Pieces, x.Trailer, x.End, x.Error, x.Omitted)
		want := fmt.Sprintf("after %d %s %s %s %s %q %q %d %q %q %q %s %s %d", w.After, w.Route, w.Proto, w.Method, w.URL, w.Header, w.Body, w.Status, w.Answer, w.Pieces, w.Trailer, w.End, w.Error, w.Omitted)
		if x.Number != int64(i) || got != want {
			t.Fatalf("exchange %d is\n%s, exchange %d should be\n%s", x.Number, got, i, want)
		}
	}
	if i != len(all) || s.Exchanged != int64(i) {
		t.Fatalf("%d exchanges, the session counts %d, want %d", i, s.Exchanged, len(all))
	}
}

// TestExchangesResumeExactlyOnce stops drains at random records, before or after
// their commit, and lets new ones go on.
func TestExchangesResumeExactlyOnce(t *testing.T) {
	for seed := range uint64(25) {
		r := rand.New(rand.NewPCG(seed, 2))
		tape := create(t)
		want := converse(t, tape, r, 100+r.IntN(200))
		var db *store.DB
		furthest := int64(0)
		for ended := false; !ended; {
			db = openStore(t, tape.db)
			d := begin(t, tape, db)
			for k := 1 + r.IntN(120); k > 0; {
				if d.at.Offset > furthest { // an open exchange is read again from its beginning
					furthest = d.at.Offset
					k--
				}
				rec, err := d.reader.read(tape.length.Load())
				if ended = errors.Is(err, io.EOF); ended {
					break
				}
				if err == nil {
					err = d.take(rec)
				}
				if err == nil && r.IntN(8) == 0 {
					err = d.commit(t.Context())
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if ended {
				if err := d.close(t.Context(), nil, ""); err != nil {
					t.Fatal(err)
				}
				break
			}
			if r.IntN(2) == 0 {
				if err := d.commit(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			db.Close() // what was not committed is gone
		}
		s, err := db.Find(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		stored(t, s, want)
	}
}

// TestSecretsOfExchangesStayOffTheDisk: at no commit, however a secret is cut
// into pieces, does any part of it reach the database, its log or the tape.
func TestSecretsOfExchangesStayOffTheDisk(t *testing.T) {
	const secret, known = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD", "c0rrect-hOrse-b4ttery"
	tape, err := Create(filepath.Join(t.TempDir(), "session.db"), Start{Started: time.Now(), Argv: []string{"agent"}, Environ: []string{"SOME_API_KEY=" + known}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tape.remove)
	db := openStore(t, tape.db)
	d := begin(t, tape, db)
	clean := func() {
		t.Helper()
		for _, x := range d.begun {
			x.when, x.took = time.Time{}, 0 // it may be stored again at once
		}
		if err := d.drainAll(t.Context(), tape.length.Load()); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{tape.db, tape.db + "-wal", tape.path} {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, part := range []string{secret, secret[:14], secret[14:28], secret[28:], known[:10], known[10:], "hunter2hunter2", "plainvalue1234"} {
				if bytes.Contains(b, []byte(part)) {
					t.Fatalf("%s holds %q", filepath.Base(path), part)
				}
			}
		}
	}
	body := `{"say":"` + known + ` ` + secret + `"}`
	x := tape.Exchange(Request{store.RouteBaseURL, "HTTP/1.1", "POST", "https://u:hunter2hunter2@h/v1?key=plainvalue1234", []store.Field{
		{Name: "Authorization", Value: "Bearer " + secret}, {Name: "Content-Length", Value: fmt.Sprint(len(body))}}, nil})
	clean()
	for i := range body {
		x.Body([]byte(body[i : i+1]))
		if i%9 == 0 {
			clean()
		}
	}
	x.Answer(200, []store.Field{{Name: "Set-Cookie", Value: "a=plainvalue1234"}})
	clean()
	for _, p := range []string{"data: first\n\n", "data: " + secret[:14], secret[14:28], secret[28:] + " ", "and " + known[:10], known[10:] + "\n\ndata: la", "st\n\n",
		`data: {"delta":"so ` + secret[:14] + `"}` + "\n\n", `data: {"delta":"` + secret[14:28] + `"}` + "\n\n", `data: {"delta":"` + secret[28:] + ` it is"}` + "\n\ndata: {\"delta\":\" \"}\n\n"} {
		x.Piece([]byte(p))
		clean()
	}
	s, err := db.Find(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	if live, err := s.Exchange(t.Context(), 1); err != nil || live.End != "" || len(live.Pieces) != 10 {
		t.Errorf("while it is open it has %q, end %q, %v", live.Pieces, live.End, err)
	}
	x.End(store.Done, nil, "see https://u:hunter2hunter2@h")
	clean()
	end := tape.Finish(nil)
	if err := d.close(t.Context(), &end, ""); err != nil {
		t.Fatal(err)
	}
	got, err := s.Exchange(t.Context(), 1)
	if err != nil || len(got.Pieces) != 10 || got.End != store.Done || string(got.Pieces[0].Bytes) != "data: first\n\n" || !strings.HasPrefix(string(got.Pieces[1].Bytes), "data: <redacted:") {
		t.Errorf("it has %q, %v", got.Pieces, err)
	}
	for _, f := range got.Header {
		if f.Name == "Content-Length" && f.Value != fmt.Sprint(len(got.Body)) {
			t.Errorf("the content-length is %s, the body has %d bytes", f.Value, len(got.Body))
		}
	}
	if s.State != store.Recording {
		t.Fatal("the session was read again")
	}
}

// TestExchangesUnredacted: a recording without redaction keeps all as it was.
func TestExchangesUnredacted(t *testing.T) {
	const secret = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD"
	tape := create(t)
	x := tape.Exchange(Request{URL: "https://h/?key=" + secret, Header: []store.Field{{Name: "Authorization", Value: secret}}})
	x.Body([]byte(secret))
	x.Answer(200, nil)
	x.Piece([]byte(secret))
	x.End(store.Done, nil, "")
	s := drained(t, tape)
	got, err := s.Exchange(t.Context(), 1)
	if err != nil || got.Header[0].Value != secret || string(got.Body) != secret || string(got.Pieces[0].Bytes) != secret || !strings.HasSuffix(got.URL, secret) {
		t.Errorf("it is %q, %v", fmt.Sprint(got), err)
	}
}

// TestExchangesAtOnce: many goroutines tell of exchanges while a follower drains.
func TestExchangesAtOnce(t *testing.T) {
	tape := create(t)
	f := tape.Follower()
	defer f.Close()
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			x := tape.Exchange(Request{Method: "POST", URL: fmt.Sprint("http://h/", i)})
			for j := range 50 {
				x.Body([]byte{byte(i)})
				if j == 0 {
					x.Answer(200, nil)
				}
				x.Piece([]byte{byte(i), byte(j)})
			}
			x.End(store.Done, nil, "")
		})
	}
	wg.Wait()
	end := tape.Finish(&store.Exit{})
	if err := f.Complete(t.Context(), end); err != nil {
		t.Fatal(err)
	}
	db := openStore(t, tape.db)
	s, err := db.Find(t.Context(), "")
	if err != nil || s.State != store.Closed || s.Exchanged != 20 {
		t.Fatalf("%v, %v", s, err)
	}
	for x, err := range s.Exchanges(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		var i byte
		fmt.Sscanf(x.URL, "http://h/%d", &i)
		if !bytes.Equal(x.Body, bytes.Repeat([]byte{i}, 50)) || len(x.Pieces) != 50 || !bytes.Equal(x.Pieces[49].Bytes, []byte{i, 49}) {
			t.Errorf("exchange %d of %s has %v, %v", x.Number, x.URL, x.Body, x.Pieces)
		}
	}
}

// TestAnOpenExchangeIsSeen: a look at a live session sees an exchange begin, be
// answered and grow, also when nothing more comes.
func TestAnOpenExchangeIsSeen(t *testing.T) {
	tape := create(t)
	f := tape.Follower()
	ctx, stop := context.WithCancel(t.Context())
	ran := make(chan struct{})
	go func() {
		defer close(ran)
		f.Run(ctx)
		f.Close()
	}()
	defer func() {
		stop()
		<-ran
	}()
	see := func(what string, is func(x store.Exchange) bool) {
		t.Helper()
		for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
			db, err := store.OpenRead(t.Context(), tape.db)
			if err != nil {
				continue
			}
			s, err := db.Find(t.Context(), "")
			if err == nil {
				var x store.Exchange
				if x, err = s.Exchange(t.Context(), 1); err == nil && is(x) {
					db.Close()
					return
				}
			}
			db.Close()
		}
		t.Fatalf("%s is not seen", what)
	}
	x := tape.Exchange(Request{URL: "http://h/", Header: []store.Field{{Name: "Content-Length", Value: "5"}}})
	see("the beginning", func(x store.Exchange) bool { return x.URL == "http://h/" && x.End == "" })
	x.Body([]byte("asked"))
	see("the request", func(x store.Exchange) bool { return string(x.Body) == "asked" })
	x.Answer(200, nil)
	see("the head of the answer", func(x store.Exchange) bool { return x.Status == 200 })
	x.Piece([]byte("data: 1\n\n"))
	see("a piece", func(x store.Exchange) bool { return len(x.Pieces) == 1 })
	x.Piece(append(bytes.Repeat([]byte("x"), 3<<20), '\n'))
	see("a long piece", func(x store.Exchange) bool { return x.Received > 3<<20 })
	x.Piece([]byte("short\n")) // of a long answer: not at once
	see("a short piece after it", func(x store.Exchange) bool { return len(x.Pieces) == 3 && x.End == "" })
	x.End(store.Done, nil, "")
	see("the end", func(x store.Exchange) bool { return x.End == store.Done })
}

// TestAnExchangeDoesNotHoldTheTapeForEver: one that never ends is cut before the
// tape is full of what came after it.
func TestAnExchangeDoesNotHoldTheTapeForEver(t *testing.T) {
	tape := create(t)
	db := openStore(t, tape.db)
	d := begin(t, tape, db)
	d.spare = 1 << 20
	drain := func() {
		t.Helper()
		if err := d.drainAll(t.Context(), tape.length.Load()); err != nil {
			t.Fatal(err)
		}
	}
	x := tape.Exchange(Request{URL: "http://h/"})
	x.Answer(200, nil)
	x.Piece([]byte("one\n"))
	drain()
	if at := d.checkpoint().Anchor.Offset; at >= tape.length.Load() {
		t.Fatal("an open exchange holds nothing of the tape")
	}
	for range 20 {
		appendTo(t, tape, store.Out, strings.Repeat("x", MaxChunk-1)+"\n")
	}
	drain()
	if at := d.checkpoint().Anchor.Offset; at != tape.length.Load() {
		t.Errorf("the tape is held from %d of %d on", at, tape.length.Load())
	}
	x.Piece([]byte("two\n"))
	x.End(store.Done, nil, "")
	y := tape.Exchange(Request{URL: "http://h/2"})
	y.End(store.Done, nil, "")
	end := tape.Finish(&store.Exit{})
	drain()
	if err := d.close(t.Context(), &end, ""); err != nil {
		t.Fatal(err)
	}
	s, err := db.Find(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.Exchange(t.Context(), 1)
	if err != nil || len(got.Pieces) != 1 || got.End != store.CutShort || got.Error != tooLong {
		t.Errorf("it is %+v, %v", got, err)
	}
	if s.Exchanged != 2 || s.State != store.Cut || s.Reason != "4 bytes of exchanges are missing: "+tooLong {
		t.Errorf("%d exchanges; the session is %s: %s", s.Exchanged, s.State, s.Reason)
	}
}
