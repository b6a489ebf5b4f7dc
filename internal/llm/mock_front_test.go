package llm

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"testing"
	"time"

	"agentrec/store"
)

// The mock answers on every route: by base URL, and as a proxy over HTTP/1.1 and
// HTTP/2.
func TestMockBehindFront(t *testing.T) {
	stream := []string{"data: 1\n\n", "data: 2\n\n", "data: [DONE]\n\n"}
	list := []store.Exchange{exchange(1, chat("user", "a"), stream...), exchange(2, chat("user", "a"), stream...)}
	list[1].End = store.CutShort
	ask := func(c *http.Client, base string) (bodies [2]string, protos [2]int, cut error) {
		for i := range bodies {
			answer, err := c.Do(post(t, base+chatPath, string(list[0].Body)))
			if err != nil {
				t.Fatal(err)
			}
			b, err := io.ReadAll(answer.Body)
			answer.Body.Close()
			bodies[i], protos[i], cut = string(b), answer.ProtoMajor, err
		}
		return bodies, protos, cut
	}
	for _, h2 := range []bool{false, true} {
		m := NewMock(list, MockOptions{})
		f := newFront(t, FrontOptions{Route: store.RouteMITM, Handler: m, Refuse: true})
		c := agentOf(t, f.Env(nil), h2)
		bodies, protos, cut := ask(c, "https://api.openai.com")
		if want := "data: 1\n\ndata: 2\n\ndata: [DONE]\n\n"; bodies != [2]string{want, want} || (protos[0] == 2) != h2 || cut == nil {
			t.Errorf("HTTP/2 %v: %q by %v, %v", h2, bodies, protos, cut)
		}
		if r := m.Report(); r.Served != 2 || r.Failed() != 0 {
			t.Errorf("%+v", r)
		}
	}
	m := NewMock(list, MockOptions{})
	f := newFront(t, FrontOptions{Route: store.RouteBaseURL, Handler: m})
	if _, _, cut := ask(client(t, &http.Transport{}), f.BaseURL(&url.URL{Scheme: "https", Host: "api.openai.com"})); cut == nil {
		t.Error("a stream that broke off ended")
	}
	if r := m.Report(); r.Served != 2 || r.Failed() != 0 {
		t.Errorf("%+v", r)
	}
}

// An agent whose answer is still under way when the Front closes sees it break
// off.
func TestMockEndsWithFront(t *testing.T) {
	x := exchange(1, chat("user", "a"), "data: 1\n\n", "data: [DONE]\n\n")
	x.Pieces[1].Time += time.Hour
	m := NewMock([]store.Exchange{x}, MockOptions{Pace: 1})
	f := newFront(t, FrontOptions{Route: store.RouteBaseURL, Handler: m})
	answer, err := client(t, &http.Transport{}).Do(post(t, f.BaseURL(&url.URL{Scheme: "https", Host: "api.openai.com"})+chatPath, string(x.Body)))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	b := make([]byte, 100)
	if n, err := answer.Body.Read(b); string(b[:n]) != "data: 1\n\n" || err != nil {
		t.Fatalf("%q, %v", b[:n], err)
	}
	f.Close()
	if n, err := answer.Body.Read(b); n > 0 || err == nil || errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%q, %v", b[:n], err)
	}
	if r := m.Report(); len(r.Left) != 1 || r.Left[0] != 1 {
		t.Errorf("%+v", r)
	}
}
