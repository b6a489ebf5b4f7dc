package tape

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"agentrec/store"
)

// TestAFullTapeCutsExchanges: what a full tape does not take is counted in its
// exchange and cuts the session; what came before stays exact.
func TestAFullTapeCutsExchanges(t *testing.T) {
	tape := create(t)
	x := tape.Exchange(Request{URL: "http://h/"})
	x.Body([]byte("asked"))
	x.Answer(200, nil)
	x.Piece([]byte("one"))
	tape.limit.Store(tape.end)
	x.Piece([]byte("lost"))
	tape.limit.Store(maxBacklog)
	x.Piece([]byte("lost too"))
	x.End(store.Done, nil, "")
	end := tape.Finish(&store.Exit{})
	db := openStore(t, tape.db)
	d := begin(t, tape, db)
	if err := d.drainAll(t.Context(), tape.length.Load()); err != nil {
		t.Fatal(err)
	}
	if err := d.close(t.Context(), &end, ""); err != nil {
		t.Fatal(err)
	}
	s, err := db.Find(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.Exchange(t.Context(), 1)
	if err != nil || len(got.Pieces) != 1 || string(got.Pieces[0].Bytes) != "one" || got.Omitted != int64(len("lostlost too")) || got.End != store.Done {
		t.Errorf("it is %+v, %v", got, err)
	}
	if s.State != store.Cut || !strings.Contains(s.Reason, "4 bytes were forwarded but not recorded: the tape is full") {
		t.Errorf("the session is %s: %s", s.State, s.Reason)
	}
}

// TestNoTapeKeepsNoExchange: telling a tape that keeps nothing does no harm.
func TestNoTapeKeepsNoExchange(t *testing.T) {
	tape := None(Start{Started: time.Now()}, errors.New("no disk"))
	x := tape.Exchange(Request{URL: "http://h/"})
	x.Body([]byte("asked"))
	x.Answer(200, nil)
	x.Piece([]byte("one"))
	x.End(store.Done, nil, "")
	if end := tape.Finish(nil); end.LostExchanges != int64(len("askedone")) || end.Reason != "no disk" {
		t.Errorf("it ends with %+v", end)
	}
}

// TestAFrozenTapeHoldsNoExchange: an append that does not come back is given up.
func TestAFrozenTapeHoldsNoExchange(t *testing.T) {
	tape := create(t)
	x := tape.Exchange(Request{URL: "http://h/"})
	tape.mu.Lock() // as an append that does not come back holds it
	returned := make(chan struct{})
	go func() {
		defer close(returned)
		x.Piece([]byte("one"))
		x.Piece([]byte("two"))
		x.End(store.Done, nil, "")
		tape.Exchange(Request{URL: "http://h/2"}).Piece([]byte("three"))
	}()
	select {
	case <-returned:
	case <-time.After(30 * time.Second):
		t.Error("the exchange waits")
	}
	tape.mu.Unlock()
}

// TestALossTogetherLeavesABeginning: of what is told together and does not fit,
// nothing is kept that stands behind a loss.
func TestALossTogetherLeavesABeginning(t *testing.T) {
	tape := create(t)
	x := tape.Exchange(Request{URL: "http://h/"})
	tape.limit.Store(tape.end + 2*(recordSize+tagSize) + 200)
	x.Together(func() {
		x.Answer(200, nil)
		x.Piece([]byte("one"))
		x.Piece(bytes.Repeat([]byte("x"), 1000))
		x.Piece([]byte("two"))
	})
	tape.limit.Store(maxBacklog)
	x.Piece([]byte("three"))
	x.End(store.Done, nil, "")
	s := drained(t, tape)
	got, err := s.Exchange(t.Context(), 1)
	if err != nil || got.Status != 200 || len(got.Pieces) != 1 || string(got.Pieces[0].Bytes) != "one" || got.Omitted != 1000+3+5 {
		t.Errorf("it is %.300q, %v", fmt.Sprint(got), err)
	}
}
