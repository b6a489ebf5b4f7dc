package llm

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agentrec/internal/tape"
	"agentrec/store"
)

// What a mock answers is recorded as it goes out: piece by piece, with its
// trailers, and as cut where the mock cuts it. An exchange recorded so can be
// served again.
func TestWitness(t *testing.T) {
	r := &recording{db: filepath.Join(t.TempDir(), "session.db")}
	var err error
	if r.tape, err = tape.Create(r.db, tape.Start{Started: time.Now()}); err != nil {
		t.Fatal(err)
	}
	read := make(chan struct{}) // the client has the first piece
	r.front = newFront(t, FrontOptions{Route: store.RouteBaseURL, Handler: &Witness{Tape: r.tape, Route: store.RouteBaseURL, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		if strings.HasSuffix(r.URL.Path, "/plain") {
			io.WriteString(w, "got "+string(asked))
			return
		}
		w.WriteHeader(http.StatusTeapot)
		io.WriteString(w, "one ")
		http.NewResponseController(w).Flush()
		<-read
		io.WriteString(w, "two")
		if strings.HasSuffix(r.URL.Path, "/cut") {
			panic(http.ErrAbortHandler)
		}
		w.Header().Set(http.TrailerPrefix+"X-Last", "word")
	})}})
	upstream, err := url.Parse("https://api.example.com/v1")
	if err != nil {
		t.Fatal(err)
	}
	post := func(path, body string, first bool) (string, error) {
		t.Helper()
		answer, err := http.Post(r.front.BaseURL(upstream)+path, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		if first {
			piece := make([]byte, 4)
			if _, err := io.ReadFull(answer.Body, piece); err != nil || string(piece) != "one " {
				t.Fatalf("%q, %v", piece, err)
			}
			read <- struct{}{}
		}
		rest, err := io.ReadAll(answer.Body)
		return string(rest), err
	}
	if text, err := post("/plain", `{"a":1}`, false); err != nil || text != `got {"a":1}` {
		t.Errorf("%q, %v", text, err)
	}
	if text, err := post("/pieces", "x", true); err != nil || text != "two" {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := post("/cut", "y", true); err == nil {
		t.Error("a cut answer came to its end")
	}
	list := r.end(t)
	if len(list) != 3 {
		t.Fatalf("%d exchanges", len(list))
	}
	for i, want := range []struct {
		url, body, answer string
		status, pieces    int
		end               store.ExchangeEnd
	}{
		{"https://api.example.com/v1/plain", `{"a":1}`, `got {"a":1}`, 200, 1, store.Done},
		{"https://api.example.com/v1/pieces", "x", "one two", 418, 2, store.Done},
		{"https://api.example.com/v1/cut", "y", "one two", 418, 2, store.CutShort},
	} {
		x := list[i]
		if x.URL != want.url || string(x.Body) != want.body || received(x) != want.answer || x.Status != want.status || len(x.Pieces) != want.pieces || x.End != want.end {
			t.Errorf("exchange %d: %s %q %q %d, %d pieces, %s", i+1, x.URL, x.Body, received(x), x.Status, len(x.Pieces), x.End)
		}
	}
	if value(list[1].Trailer, "X-Last") != "word" {
		t.Errorf("trailers %v", list[1].Trailer)
	}
	again := httptest.NewServer(NewMock(list, MockOptions{}))
	defer again.Close()
	answer, err := http.Post(again.URL+"/v1/plain", "application/json", strings.NewReader(`{"a":1}`))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if b, err := io.ReadAll(answer.Body); err != nil || string(b) != `got {"a":1}` {
		t.Errorf("served again: %q, %v", b, err)
	}
}
