package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// exchange makes an exchange with what a real one has.
func exchange(body, answer string) Exchange {
	x := Exchange{
		Time: 5 * time.Millisecond, Route: RouteBaseURL, Proto: "HTTP/1.1", Method: "POST", URL: "https://api.example/v1/chat/completions?a=b",
		Header: []Field{{"Accept", "*/*"}, {"Content-Type", "application/json"}, {"X", "b"}, {"X", "a"}, {"Y", "\xff\x00"}}, Body: []byte(body),
		Status: 200, Answered: 6 * time.Millisecond, Answer: []Field{{"Content-Type", "text/event-stream"}},
		Trailer: []Field{{"T", ""}}, End: Done, Ended: time.Second,
	}
	for i, p := range strings.SplitAfter(answer, "\n\n") {
		x.Pieces = append(x.Pieces, Piece{time.Duration(7+i) * time.Millisecond, []byte(p)})
	}
	x.Ended = max(x.Ended, x.Pieces[len(x.Pieces)-1].Time)
	return x
}

// someExchanges makes n exchanges of all kinds, some open, numbered from 1.
func someExchanges(rng *rand.Rand, n int) []Exchange {
	text := func(most int) string {
		b := make([]byte, rng.IntN(most+1))
		for i := range b {
			b[i] = "ab\"\\{}\n\r\x00\xff é"[rng.IntN(13)]
		}
		return string(b)
	}
	history := `{"model":"m","messages":[`
	var list []Exchange
	for i := range n {
		history += fmt.Sprintf(`{"role":"user","content":"%d %s"},`, i, strings.Repeat("word ", rng.IntN(400)))
		x := exchange(history+`]}`, strings.Repeat("data: {}\n\n", rng.IntN(5)))
		x.Number, x.Time = int64(i+1), time.Duration(rng.IntN(1e6))*time.Microsecond
		x.Answered, x.Ended = x.Time, x.Time
		switch rng.IntN(8) {
		case 0:
			x.Body = []byte(text(20))
		case 1:
			x.Body = nil
		case 2:
			x.Status, x.Answer, x.Pieces, x.Trailer, x.Answered = 0, nil, nil, nil, 0
			x.End, x.Error = Failed, "connection refused"
		case 3:
			x.End, x.Ended = "", 0
		case 4:
			x.Pieces = []Piece{{x.Time, []byte(text(3 << 20))}, {x.Time + time.Hour, []byte(text(1000))}, {x.Time + time.Hour, []byte{}}}
			x.End, x.Omitted = Cancelled, 17
		case 5:
			x.URL, x.Method, x.Proto = "http://other/"+fmt.Sprint(i), "GET", "HTTP/2.0"
		}
		x.Ended = max(x.Ended, x.Time)
		for j := range x.Pieces {
			x.Pieces[j].Time = max(x.Pieces[j].Time, x.Time)
			x.Ended = max(x.Ended, x.Pieces[j].Time)
		}
		if x.End == "" {
			x.Ended = 0
		}
		list = append(list, x)
	}
	return list
}

// sameExchange says where two exchanges differ.
func sameExchange(got, want Exchange) error {
	a, b := reflect.ValueOf(got), reflect.ValueOf(want)
	for i := range a.NumField() {
		if x, y := a.Field(i).Interface(), b.Field(i).Interface(); !reflect.DeepEqual(x, y) {
			return fmt.Errorf("exchange %d: %s is %.60q, want %.60q", want.Number, a.Type().Field(i).Name, fmt.Sprint(x), fmt.Sprint(y))
		}
	}
	return nil
}

// documentedHash computes the hash of an exchange as TEXTFORM.md words it.
func documentedHash(x Exchange) [32]byte {
	var b []byte
	var add func(list ...any)
	add = func(list ...any) {
		for _, v := range list {
			switch v := v.(type) {
			case int64:
				b = binary.BigEndian.AppendUint64(b, uint64(v))
			case time.Duration:
				add(max(0, (v - x.Time).Microseconds()))
			case string:
				add(int64(len(v)))
				b = append(b, v...)
			case []Field:
				add(int64(len(v)))
				for _, f := range v {
					add(f.Name, f.Value)
				}
			}
		}
	}
	add(x.After, string(x.Route), x.Proto, x.Method, x.URL, x.Header, string(x.Body), int64(x.Status), x.Answered, x.Answer, int64(len(x.Pieces)))
	for _, p := range x.Pieces {
		add(p.Time, string(p.Bytes))
	}
	add(x.Trailer, string(x.End), x.Ended, x.Error, x.Omitted)
	return sha256.Sum256(b)
}

// holdsExchanges sees that the session has exactly the exchanges want, by every
// way of reading them.
func holdsExchanges(t *testing.T, db *DB, id int64, want []Exchange) *Session {
	t.Helper()
	ctx := t.Context()
	s, err := db.Find(ctx, fmt.Sprint(id))
	if err != nil {
		t.Fatal(err)
	}
	plain := func(x Exchange) Exchange {
		x.Attempt, x.Sent, x.Received = 0, 0, 0
		if len(x.Body) == 0 {
			x.Body = nil
		}
		if x.End == CutShort && x.Error == "the recording ended before it" {
			x.End, x.Error = "", ""
		}
		return x
	}
	i := 0
	var bytes int64
	var proof Chain
	for x, err := range s.Exchanges(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		if i == len(want) {
			t.Fatalf("there is an exchange %d more than the %d expected", x.Number, len(want))
		}
		bytes += x.Sent + x.Received
		hash := documentedHash(plain(x))
		proof.Hash = sha256.Sum256(append(proof.Hash[:], hash[:]...))
		if err := sameExchange(plain(x), plain(want[i])); err != nil {
			t.Fatal(err)
		}
		i++
	}
	if i != len(want) || s.Exchanged != int64(i) || s.ExchangedBytes != bytes {
		t.Fatalf("read %d exchanges, want %d; the session counts %d of %d bytes, read %d", i, len(want), s.Exchanged, s.ExchangedBytes, bytes)
	}
	if proof.Hash != s.exchangeChain.Hash {
		t.Error("the proof of the exchanges is not what TEXTFORM.md says")
	}
	i = 0
	for x, err := range s.ExchangeHeads(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		w := plain(want[i])
		if w.measure(); x.Sent != w.Sent || x.Received != w.Received {
			t.Errorf("exchange %d counts %d and %d bytes, want %d and %d", x.Number, x.Sent, x.Received, w.Sent, w.Received)
		}
		w.Body, w.Sent, w.Received, w.Pieces = nil, 0, 0, slices.Clone(w.Pieces)
		for j := range w.Pieces {
			w.Pieces[j].Bytes = nil
		}
		if err := sameExchange(plain(x), w); err != nil {
			t.Fatalf("the head: %v", err)
		}
		i++
	}
	if i != len(want) {
		t.Fatalf("read %d heads, want %d", i, len(want))
	}
	for range min(10, len(want)) {
		w := want[rand.IntN(len(want))]
		x, err := s.Exchange(ctx, w.Number)
		if err := errors.Join(err, sameExchange(plain(x), plain(w))); err != nil {
			t.Fatalf("by itself: %v", err)
		}
	}
	if _, err := s.Exchange(ctx, int64(len(want))+1); !errors.Is(err, ErrNotFound) {
		t.Errorf("an exchange that is not there: %v", err)
	}
	return s
}

func TestExchangesRoundTrip(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	path := filepath.Join(t.TempDir(), "session.db")
	db := openDB(t, path)
	w := begin(t, db, Start{})
	want := someExchanges(rng, 60)
	var open []int
	for i, x := range want {
		w.Frame(In, x.Time, []byte("frame"), LF)
		want[i].After = int64(i + 1)
		x.After = int64(i + 1)
		begun := x
		begun.End, begun.Ended, begun.Pieces = "", 0, nil
		if begun.Status != 0 {
			begun.Pieces = x.Pieces[:len(x.Pieces)/2]
		}
		w.Exchange(begun)
		if rng.IntN(2) == 0 {
			commit(t, w, "")
		}
		if rng.IntN(3) == 0 {
			open = append(open, i) // ends later
			continue
		}
		w.Exchange(x)
	}
	if rng.IntN(2) == 0 {
		commit(t, w, "")
	}
	for _, i := range open {
		w.Exchange(want[i])
	}
	commit(t, w, "")
	holdsExchanges(t, db, 1, want)
	holdsExchanges(t, openRead(t, path), 1, want)

	// Another writer goes on.
	w, _, err := db.Resume(t.Context(), w.Session().UID)
	if err != nil {
		t.Fatal(err)
	}
	for i, x := range want {
		if x.End == "" {
			want[i].End, want[i].Ended, want[i].Error = CutShort, time.Hour, "killed"
			want[i].Body = append(bytes.Clone(x.Body), "more"...)
			w.Exchange(want[i])
		}
	}
	more := exchange(`{}`, "x")
	more.Number = int64(len(want)) + 1
	w.Exchange(more)
	closeWriter(t, w)
	s := holdsExchanges(t, db, 1, append(want, more))
	last := time.Duration(0)
	for _, x := range want {
		last = max(last, x.Ended)
	}
	if s.Ended != last {
		t.Errorf("the session ended at %v, its last exchange at %v", s.Ended, last)
	}
}

// What was not given in order is refused, and nothing of it is stored.
func TestExchangesOutOfOrder(t *testing.T) {
	db := newDB(t)
	w := begin(t, db, Start{})
	x := exchange("{}", "a")
	w.Exchange(x)
	commit(t, w, "")
	for _, number := range []int64{1, 3, -1} {
		w, _, err := db.Resume(t.Context(), w.Session().UID)
		if err != nil {
			t.Fatal(err)
		}
		x.Number = number
		w.Exchange(x)
		if err := w.Commit(t.Context(), nil); err == nil {
			t.Errorf("exchange %d is taken", number)
		}
	}
}

// A history that is sent again and again takes little more than once.
func TestExchangesThatRepeatThemselves(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	words := func(n int) string {
		var b strings.Builder
		for b.Len() < n {
			fmt.Fprintf(&b, "%x ", rng.IntN(1<<20))
		}
		return b.String()
	}
	db := newDB(t)
	w := begin(t, db, Start{})
	history, titles := words(100<<10), words(20<<10)
	var want []Exchange
	var raw int
	for i := range 50 {
		history += words(8 << 10)
		x := exchange(fmt.Sprintf(`{"n":%d,"messages":"%s","tools":[]}`, i, history), "ok")
		y := exchange(fmt.Sprintf(`{"title":%d,"of":"%s"}`, i, titles), "ok") // another row at the same place
		for _, x := range []Exchange{x, y} {
			x.Number = int64(len(want)) + 1
			w.Exchange(x)
			raw += len(x.Body)
			want = append(want, x)
		}
		if i%7 == 0 {
			commit(t, w, "")
		}
	}
	closeWriter(t, w)
	s := holdsExchanges(t, db, 1, want)
	var stored, deepest int
	if err := db.write.QueryRow("SELECT sum(length(data)) FROM body").Scan(&stored); err != nil {
		t.Fatal(err)
	}
	if once := len(history) + len(titles); stored > once*2 {
		t.Errorf("%d bytes of requests, %d of them different, take %d bytes", raw, once, stored)
	}
	bases := map[int64]int64{}
	for _, x := range want {
		k, err := s.keptExchange(t.Context(), x.Number, &knownBodies{})
		if err != nil {
			t.Fatal(err)
		}
		bases[x.Number] = k.base
		n := 0
		for at := k.base; at != 0; at = bases[at] {
			n++
		}
		deepest = max(deepest, n)
	}
	if deepest < 2 || deepest > mostBases {
		t.Errorf("reading one takes %d others", deepest)
	}
}

// Equal requests count as tries of one another when the earlier ones failed.
func TestExchangeAttempts(t *testing.T) {
	db := newDB(t)
	w := begin(t, db, Start{})
	at := time.Duration(0)
	var want []int
	add := func(attempt int, body string, status int, end ExchangeEnd, parallel bool) {
		x := exchange(body, "x")
		if x.Status, x.End = status, end; status == 0 {
			x.Pieces, x.Answer, x.Trailer = nil, nil, nil
		}
		x.Time, x.Answered, x.Ended = at, at, at+time.Second
		for i := range x.Pieces {
			x.Pieces[i].Time = at
		}
		if !parallel {
			at += 2 * time.Second
		}
		w.Exchange(x)
		want = append(want, attempt)
	}
	add(1, "a", 429, Done, false)
	add(1, "b", 200, Done, false)
	add(2, "a", 0, Failed, false)
	closedByAgent := len(want)
	add(3, "a", 200, Cancelled, true)
	add(3, "a", 200, Done, false) // beside the one before
	if closedByAgent == 0 {
		t.Fatal("nothing failed")
	}
	w, _, err := db.Resume(t.Context(), func() string { commit(t, w, ""); return w.Session().UID }())
	if err != nil {
		t.Fatal(err)
	}
	add(4, "a", 200, Done, false)
	add(1, "b", 200, Done, false)
	closeWriter(t, w)
	i := 0
	for x, err := range w.Session().Exchanges(t.Context()) {
		if err != nil || x.Attempt != want[i] {
			t.Errorf("exchange %d is attempt %d, want %d (%v)", x.Number, x.Attempt, want[i], err)
		}
		i++
	}
}

// Whatever is done to sessions, their exchanges go with them.
func TestExchangesAreCarried(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 22))
	db := newDB(t)
	other := begin(t, db, Start{})
	other.Exchange(exchange("{}", "of another session"))
	closeWriter(t, other)
	w := begin(t, db, Start{})
	want := someExchanges(rng, 30)
	for _, x := range want {
		w.Exchange(x)
	}
	commit(t, w, "here")

	// While it is open: with its writer's state.
	temporary := temp(t)
	if err := temporary.CopyOpen(t.Context(), w.Session()); err != nil {
		t.Fatal(err)
	}
	again, checkpoint, err := temporary.Resume(t.Context(), w.Session().UID)
	if err != nil || string(checkpoint) != "here" {
		t.Fatalf("%q, %v", checkpoint, err)
	}
	ended := slices.Clone(want)
	for i, x := range ended {
		if x.End == "" {
			ended[i].End, ended[i].Ended = Done, time.Hour*2
			again.Exchange(ended[i])
		}
	}
	closeWriter(t, again)
	holdsExchanges(t, temporary, w.id, ended)
	db.Overlay(temporary)
	if s := holdsExchanges(t, db, w.id, ended); s.State != Closed {
		t.Errorf("laid over it is %s", s.State)
	}
	db.over = overlay{}

	closeWriter(t, w)
	s := holdsExchanges(t, db, w.id, want)
	if err := db.Rename(t.Context(), s, "new"); err != nil {
		t.Fatal(err)
	}
	if err := db.SetTag(t.Context(), s, "a", "b"); err != nil {
		t.Fatal(err)
	}
	s = holdsExchanges(t, db, w.id, want)
	into := newDB(t)
	copies, err := into.Copy(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := Verify(t.Context(), copies[0]); err != nil || got.Verdict == Damaged {
		t.Errorf("the copy is %v, %v", got, err)
	}
	holdsExchanges(t, into, copies[0].ID, want)
	if err := db.Delete(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	rows := 0
	if err := db.write.QueryRow("SELECT (SELECT count(*) FROM exchange) + (SELECT count(*) FROM body)").Scan(&rows); err != nil || rows != 3 {
		t.Errorf("%d rows are left, want 3 of the other session (%v)", rows, err)
	}
	holdsExchanges(t, db, other.id, []Exchange{func() Exchange { x := exchange("{}", "of another session"); x.Number = 1; return x }()})
}

// Rewriting an exchange changes that one, marks the session, and keeps the proof
// that it had.
func TestRewriteExchanges(t *testing.T) {
	db := newDB(t)
	w := begin(t, db, Start{})
	for i := range 5 {
		w.Exchange(exchange(fmt.Sprintf(`{"n":%d,"all":"%s"}`, i, strings.Repeat("history ", 500)), "data: one\n\ndata: two\n\n"))
	}
	closeWriter(t, w)
	s := w.Session()
	was := s.exchangeChain
	edit := Edit{Exchange: func(x *Exchange) error {
		x.SetBody(bytes.ReplaceAll(x.Body, []byte(`"n":3`), []byte(`"n":"three"`)))
		x.Time, x.Number, x.After = 0, 9, 9 // not its to change
		return nil
	}}
	done, err := db.Rewrite(t.Context(), s, edit)
	if err != nil || done != (Rewritten{0, 1}) || !s.Edited || *s.originalExchanges != was || s.exchangeChain == was {
		t.Fatalf("%+v, %v: %+v", done, err, s)
	}
	if got, err := Verify(t.Context(), s); err != nil || got.Verdict != IsEdited || got.Exchanges != 5 {
		t.Errorf("it is %+v, %v", got, err)
	}
	for i := range 5 {
		x, err := s.Exchange(t.Context(), int64(i+1))
		if err != nil || x.Time != 5*time.Millisecond || strings.Contains(string(x.Body), "three") != (i == 3) || len(x.Pieces) != 3 {
			t.Errorf("exchange %d is %.200q, %v", i+1, fmt.Sprint(x), err)
		}
	}
	if done, err := db.Rewrite(t.Context(), s, edit); err != nil || done != (Rewritten{}) {
		t.Errorf("a second time: %+v, %v", done, err)
	}
	if _, err := db.Rewrite(t.Context(), s, Edit{Exchange: func(x *Exchange) error { x.Pieces = x.Pieces[1:]; return nil }}); err == nil {
		t.Error("a piece can be taken away")
	}
}
