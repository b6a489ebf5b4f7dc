package inspect

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agentrec/store"
)

// TestExchangeScreens holds what the views show of exchanges, character by
// character.
func TestExchangeScreens(t *testing.T) {
	path := recordTold(t, phiSteps, phiExchanges())
	for _, size := range [][2]int{{80, 24}, {60, 15}} {
		d := drive(t, path, size[0], size[1])
		d.settle()
		var b strings.Builder
		shot := func(what string) { fmt.Fprintf(&b, "== %s ==\n%s\n\n", what, strings.Join(d.rows(), "\n")) }
		d.keys("Enter").settle()
		shot("timeline")
		d.keys("g", "i", "i", "Space")
		shot("timeline with an open exchange")
		d.keys("2")
		shot("conversation")
		d.keys("5")
		shot("exchanges")
		d.keys("Enter", "]", "]")
		shot("exchange")
		d.keys("m")
		shot("exchange with all messages")
		d.keys("2")
		shot("request as a tree")
		d.keys("3")
		shot("answer, event by event")
		d.keys("4")
		shot("raw")
		d.keys("6")
		shot("bytes of the answer")
		d.keys("Esc", "e", "Enter")
		shot("an exchange that went wrong")
		d.keys("Esc", "4").settle()
		shot("findings")
		d.keys("5", "?")
		shot("help")
		golden(t, fmt.Sprintf("screens-%dx%d.txt", size[0], size[1]), b.String())
	}
}

func TestExchangeKeys(t *testing.T) {
	d := drive(t, recordTold(t, phiSteps, phiExchanges()), 80, 24)
	d.settle()
	copied := ""
	d.clipboard = func(b []byte) { copied = string(b) }
	d.keys("Enter").settle()
	d.wants("✗     0.009 ⇄ gpt-5", "!     0.011 ⇄ gpt-5") // went wrong; has a finding
	d.keys("g", "i", "i", "Enter").wants("e2 POST api.openai.com", "21 in (16 cached), 5 out").keys("y").wants("copied the answer, 13 B")
	if copied != "Hello, ready." {
		t.Errorf("copied %q", copied)
	}
	d.keys("%").wants("#4 in run").keys("Esc", "Esc").wants("6/17")
	d.keys("5").wants("2/5").keys("1").wants("6/17") // the place is kept from view to view
	d.keys("4").settle()
	d.keys("j", "Enter").wants("e5 POST", "200 broken").keys("Esc", "Tab").wants("exchanges", "5/5").keys("Tab").wants("timeline", "14/17")
	d.keys("f").types("status >= 400").settle()
	d.wants("1 of 17: status >= 400", "429 try 1/2 rate_limit_error: Slow down")
	d.keys("5", "g", "/").types("slow down").settle()
	d.wants("3/5")
	d.keys("1", "f")
	d.root.input.field.SetText("")
	d.types("").keys("g", "/").types("oslo?").settle()
	d.wants("hit 1 of 2", "10/17").keys("n").wants("hit 2 of 2", "11/17").keys("n").wants("hit 1 of 2").keys("/").types("status = 200").settle()
	d.wants("hit 3 of 4", "12/17").keys("n").wants("hit 4 of 4", "14/17").keys("n").wants("hit 1 of 4", "2/17").keys("N").wants("hit 4 of 4")
}

// An exchange that is going on shows what has come of it so far, in every view.
func TestFollowExchange(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "session.db")
	db, err := store.Open(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	w, err := db.Begin(ctx, store.Start{Name: "live", Started: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	commit := func() {
		t.Helper()
		if err := w.Commit(ctx, nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range phiSteps[:4] {
		w.Frame(s.stream, 0, []byte(s.raw), store.LF)
	}
	x := phiExchanges()[1]
	x.Number = 1
	open := x
	open.Pieces, open.End, open.Ended = x.Pieces[:1], "", 0
	w.Exchange(open)
	commit()
	d := drive(t, path, 80, 24)
	d.settle()
	d.keys("Enter").settle()
	d.keys("G").wants("following", "open 200 open Hello,")
	d.keys("Enter").wants("200 open", "answer    Hello,")
	open.Pieces = x.Pieces[:2]
	w.Exchange(open)
	commit()
	if !d.grows() {
		t.Error("news went unnoticed")
	}
	d.wants("answer    Hello, ready.")
	d.keys("Esc", "5").wants("200 open")
	w.Exchange(x)
	w.Frame(phiSteps[4].stream, 6*time.Millisecond, []byte(phiSteps[4].raw), store.LF)
	commit()
	if !d.grows() {
		t.Error("the end went unnoticed")
	}
	d.wants("300µs  21    5").keys("1").wants("300µs 200 21→5 Hello, ready.", "← text")
	if d.grows() {
		t.Error("news where there was none")
	}
	if err := w.Close(ctx, store.End{State: store.Closed, Wire: [store.Streams]int64{-1, -1, -1}}); err != nil {
		t.Fatal(err)
	}
}

// A session that holds exchanges and no frame, as llm record makes them, can be
// looked at like any other.
func TestExchangesAlone(t *testing.T) {
	path := recordTold(t, nil, phiExchanges()[:1])
	if s := shown(t, showOptions{File: path}); !strings.Contains(s, "e1 ⇄     0.000  GET api.openai.com /v1/models") {
		t.Error(s)
	}
	for _, size := range [][2]int{{80, 24}, {60, 15}} {
		d := drive(t, path, size[0], size[1])
		d.settle()
		d.keys("Enter").settle()
		d.wants("⇄ api.openai.com", "gpt-5-mini").keys("Enter").wants("the session has no frames").keys("i", "Enter").wants("e1 GET api.openai.com").keys("%").wants("no frame before it").keys("Esc")
		for _, view := range []string{"2", "3", "4", "5", "1"} {
			d.keys(view).settle()
			d.keys("j", "k", "G", "g", "Space", "%", "n")
			if d.root.input != nil {
				t.Fatal("something is being typed")
			}
			for len(d.views) > 2 {
				d.pop()
			}
		}
		d.keys("5").wants("1/1")
	}
}

func TestSearchExchangesEverywhere(t *testing.T) {
	path := recordTold(t, phiSteps, phiExchanges())
	recordInto(t, path, "other", phiSteps)
	d := drive(t, path, 120, 24)
	d.settle()
	d.keys("/").types("slow down").settle()
	d.wants("slow down in all sessions", "1 hit", "1 told", "e3", "429 gpt-5", "rate_limit_error: Slow down")
	d.keys("Enter").settle()
	d.wants("told", "timeline", "11/17").keys("Enter").wants("e3 POST")
}
