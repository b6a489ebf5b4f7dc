package llm

import (
	"bytes"
	"compress/gzip"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"agentrec/internal/tape"
	"agentrec/store"
)

// recording is a Front with a Capture behind it, before an upstream.
type recording struct {
	front   *Front
	capture *Capture
	tape    *tape.Tape
	db      string
	base    string // stands for the upstream
}

func newRecording(t testing.TB, o FrontOptions, upstream string) *recording {
	t.Helper()
	r := &recording{db: filepath.Join(t.TempDir(), "session.db")}
	var err error
	if r.tape, err = tape.Create(r.db, tape.Start{Started: time.Now()}); err != nil {
		t.Fatal(err)
	}
	r.capture = NewCapture(r.tape, o.Route)
	o.Handler = r.capture
	r.front = newFront(t, o)
	t.Cleanup(r.capture.Close)
	u, err := url.Parse(upstream)
	if err != nil {
		t.Fatal(err)
	}
	r.base = r.front.BaseURL(u)
	return r
}

// end closes the recording and returns its exchanges as they are stored.
func (r *recording) end(t *testing.T) []store.Exchange {
	t.Helper()
	r.front.Close()
	f := r.tape.Follower()
	defer f.Close()
	if err := f.Complete(t.Context(), r.tape.Finish(nil)); err != nil {
		t.Fatal(err)
	}
	opened, err := tape.Open(t.Context(), r.db)
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	s, err := opened.Find(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	var list []store.Exchange
	for x, err := range s.Exchanges(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, x)
	}
	return list
}

// received joins the body of an answer.
func received(x store.Exchange) string {
	var b strings.Builder
	for _, p := range x.Pieces {
		b.Write(p.Bytes)
	}
	return b.String()
}

func value(list []store.Field, name string) string {
	for _, f := range list {
		if f.Name == name {
			return f.Value
		}
	}
	return ""
}

// TestCaptureChangesNothing sends each request directly and through a capture:
// what the upstream and the client see must be equal, but for Accept-Encoding.
func TestCaptureChangesNothing(t *testing.T) {
	type sight struct {
		Line    string
		Header  http.Header
		Body    string
		Trailer http.Header
		Length  int64
		Chunked []string
	}
	saw := make(chan sight, 1)
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		saw <- sight{r.Method + " " + r.RequestURI + " " + r.Proto, r.Header, string(body), r.Trailer, r.ContentLength, r.TransferEncoding}
		h := w.Header()
		switch r.URL.Path {
		case "/v1/messages":
			h["Date"], h["Content-Type"] = nil, nil
			h["Request-Id"] = []string{"b", "a"}
			w.WriteHeader(529)
			io.WriteString(w, `{"type":"error"}`)
		case "/redirect":
			http.Redirect(w, r, "/elsewhere?x=1", http.StatusTemporaryRedirect)
		case "/204":
			w.WriteHeader(http.StatusNoContent)
		case "/304":
			h.Set("Etag", `"x"`)
			w.WriteHeader(http.StatusNotModified)
		case "/head":
			h.Set("Content-Length", "12345")
		case "/gzip":
			h.Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			io.WriteString(z, "squeezed")
			z.Close()
		case "/trailer":
			h.Set("Trailer", "X-Sum")
			io.WriteString(w, "body")
			w.(http.Flusher).Flush()
			h.Set("X-Sum", "42")
			h.Set(http.TrailerPrefix+"X-Late", "43")
		case "/hints":
			h.Set("Link", "</a>")
			w.WriteHeader(http.StatusEarlyHints)
			h.Set("X-Final", "1")
			io.WriteString(w, "ok")
		case "/empty":
			w.(http.Flusher).Flush()
		default:
			io.WriteString(w, "fine")
		}
	}))
	defer upstream.Close()
	rec := newRecording(t, FrontOptions{Route: store.RouteBaseURL}, upstream.URL)
	c := client(t, &http.Transport{DisableCompression: true})
	chunked := func(s string) io.Reader { return struct{ io.Reader }{strings.NewReader(s)} }
	cases := []struct {
		method, path string
		body         io.Reader
		again        io.Reader // the same
		header       http.Header
	}{
		{"POST", "/v1/messages?beta=true&x=%zz;y", strings.NewReader("{}"), strings.NewReader("{}"), http.Header{"Anthropic-Version": {"1"}, "User-Agent": {"sdk/1 (x)"}}},
		{"POST", "/v1//a%2Fb/%E2%82%AC?", chunked("pieces"), chunked("pieces"), http.Header{"User-Agent": nil, "X-Forwarded-For": {"6.6.6.6"}}},
		{"GET", "/redirect", nil, nil, http.Header{"Accept-Encoding": {"gzip, br"}}},
		{"PUT", "/204", strings.NewReader("x"), strings.NewReader("x"), http.Header{"Connection": {"X-Hop"}, "X-Hop": {"1"}, "Te": {"trailers"}}},
		{"GET", "/304", nil, nil, nil},
		{"HEAD", "/head", nil, nil, nil},
		{"GET", "/gzip", nil, nil, nil},
		{"GET", "/trailer", nil, nil, nil},
		{"GET", "/hints", nil, nil, nil},
		{"PURGE", "/empty", nil, nil, nil},
		{"DELETE", "/v1/files/1", nil, nil, nil},
		{"OPTIONS", "/v1/files/1", nil, nil, nil},
	}
	for _, k := range cases {
		type answer struct {
			Status  string
			Header  http.Header
			Body    string
			Trailer http.Header
			Length  int64
			Chunked []string
			Hints   string
		}
		ask := func(base string, body io.Reader) (answer, sight) {
			var got answer
			hints := &httptrace.ClientTrace{Got1xxResponse: func(code int, h textproto.MIMEHeader) error {
				got.Hints += fmt.Sprint(code, h)
				return nil
			}}
			r, err := http.NewRequestWithContext(httptrace.WithClientTrace(t.Context(), hints), k.method, base+k.path, body)
			if err != nil {
				t.Fatal(err)
			}
			for name, values := range k.header {
				r.Header[name] = values
			}
			if values, ok := k.header["User-Agent"]; ok && values == nil {
				r.Header["User-Agent"] = []string{""}
			}
			a, err := c.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer a.Body.Close()
			b, err := io.ReadAll(a.Body)
			if err != nil {
				t.Fatal(err)
			}
			got.Status, got.Header, got.Body, got.Trailer, got.Length, got.Chunked = a.Status, a.Header, string(b), a.Trailer, a.ContentLength, a.TransferEncoding
			return got, <-saw
		}
		direct, sawDirect := ask(upstream.URL, k.body)
		through, sawThrough := ask(rec.base, k.again)
		if got := sawThrough.Header["Accept-Encoding"]; !slices.Equal(got, []string{"identity"}) {
			t.Errorf("%s %s: Accept-Encoding %q", k.method, k.path, got)
		}
		delete(sawDirect.Header, "Accept-Encoding")
		delete(sawThrough.Header, "Accept-Encoding")
		delete(sawDirect.Header, "X-Hop") // for the next hop only
		delete(sawDirect.Header, "Connection")
		if d, e := fmt.Sprintf("%+v", sawDirect), fmt.Sprintf("%+v", sawThrough); d != e {
			t.Errorf("%s %s: the upstream sees\n%s\ndirectly\n%s", k.method, k.path, e, d)
		}
		delete(direct.Header, "Date")
		if k.path != cases[0].path {
			delete(through.Header, "Date")
		}
		if d, e := fmt.Sprintf("%+v", direct), fmt.Sprintf("%+v", through); d != e {
			t.Errorf("%s %s: the client sees\n%s\ndirectly\n%s", k.method, k.path, e, d)
		}
	}
	list := rec.end(t)
	if len(list) != len(cases) {
		t.Fatalf("%d exchanges of %d", len(list), len(cases))
	}
	x := list[0]
	if x.Number != 1 || x.Route != store.RouteBaseURL || x.Proto != "HTTP/1.1" || x.Method != "POST" || x.URL != upstream.URL+cases[0].path || string(x.Body) != "{}" ||
		x.Status != 529 || received(x) != `{"type":"error"}` || x.End != store.Done || value(x.Header, "User-Agent") != "sdk/1 (x)" || value(x.Header, "X-Forwarded-For") != "" {
		t.Errorf("stored: %+v", x)
	}
	if ids := fmt.Sprint(x.Answer); !strings.Contains(ids, "{Request-Id b} {Request-Id a}") {
		t.Errorf("stored header: %s", ids)
	}
	if value(list[2].Header, "Accept-Encoding") != "gzip, br" || list[2].Status != 307 || value(list[2].Answer, "Location") != "/elsewhere?x=1" {
		t.Errorf("stored: %+v", list[2])
	}
	if z, err := gzip.NewReader(strings.NewReader(received(list[6]))); err != nil {
		t.Errorf("what is stored of a compressed answer is not compressed: %v", err)
	} else if b, _ := io.ReadAll(z); string(b) != "squeezed" {
		t.Errorf("stored: %s", b)
	}
	if len(list[7].Trailer) != 2 || value(list[7].Trailer, "X-Sum") != "42" {
		t.Errorf("stored trailer: %v", list[7].Trailer)
	}
}

// TestCaptureHoldsNothing has each side say its next piece only when the other
// has got the one before.
func TestCaptureHoldsNothing(t *testing.T) {
	for _, route := range []store.Route{store.RouteBaseURL, store.RouteMITM} {
		t.Run(string(route), func(t *testing.T) { holdsNothing(t, route) })
	}
}

func holdsNothing(t *testing.T, route store.Route) {
	const pieces = 20
	next := make(chan bool)
	serve := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rc := http.NewResponseController(w)
		rc.EnableFullDuplex()
		buf := make([]byte, 100)
		for i := range pieces {
			if n, err := r.Body.Read(buf); string(buf[:n]) != fmt.Sprint("up", i) {
				t.Errorf("piece %d of the request: %q, %v", i, buf[:n], err)
			}
			next <- true
		}
		if n, err := r.Body.Read(buf); n > 0 || err != io.EOF {
			t.Errorf("after the request: %q, %v", buf[:n], err)
		}
		w.WriteHeader(200)
		rc.Flush()
		for i := range pieces {
			<-next
			fmt.Fprintf(w, "data: %d\n", i)
			rc.Flush()
		}
		<-next
	})
	upstream := httptest.NewServer(serve)
	defer upstream.Close()
	host := strings.TrimPrefix(upstream.URL, "http://")
	rec := newRecording(t, FrontOptions{Route: route, Hosts: []string{host}}, upstream.URL)
	c, base := client(t, &http.Transport{}), rec.base
	if route == store.RouteMITM {
		c, base = agentOf(t, rec.front.Env(nil), true), upstream.URL
	}
	r, w := io.Pipe()
	up := make(chan bool)
	go func() {
		defer close(up)
		for i := range pieces {
			fmt.Fprint(w, "up", i)
			<-next
		}
		w.Close()
	}()
	answer, err := c.Post(base+"/v1/x", "text/plain", r)
	if err != nil {
		t.Fatal(err)
	}
	<-up
	buf := make([]byte, 100)
	for i := range pieces {
		next <- true
		if n, err := answer.Body.Read(buf); string(buf[:n]) != fmt.Sprintf("data: %d\n", i) {
			t.Errorf("piece %d: %q, %v", i, buf[:n], err)
		}
	}
	next <- true
	if _, err := answer.Body.Read(buf); err != io.EOF {
		t.Error(err)
	}
	answer.Body.Close()
	x := rec.end(t)[0]
	if len(x.Pieces) != pieces || x.End != store.Done || !bytes.HasPrefix(x.Body, []byte("up0up1up2")) {
		t.Errorf("%d pieces stored, %s, of %q", len(x.Pieces), x.End, x.Body)
	}
	for i := 1; i < len(x.Pieces); i++ {
		if x.Pieces[i].Time < x.Pieces[i-1].Time || x.Pieces[i].Time < x.Answered || x.Answered < x.Time {
			t.Errorf("piece %d is out of time", i)
		}
	}
}

func TestCaptureParallel(t *testing.T) {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		for _, c := range b {
			w.Write([]byte{c})
			w.(http.Flusher).Flush()
		}
	}))
	defer upstream.Close()
	rec := newRecording(t, FrontOptions{Route: store.RouteBaseURL}, upstream.URL)
	c := client(t, &http.Transport{})
	const n = 40
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			body := fmt.Sprintf("request %d", i)
			if _, got := say(t, c, post(t, rec.base, body)); got != body {
				t.Errorf("%s got %s", body, got)
			}
		})
	}
	all.Wait()
	had := map[string]bool{}
	for i, x := range rec.end(t) {
		if x.Number != int64(i+1) || received(x) != string(x.Body) || x.End != store.Done {
			t.Errorf("stored: %+v", x)
		}
		had[string(x.Body)] = true
	}
	if len(had) != n {
		t.Errorf("%d different exchanges of %d", len(had), n)
	}
}

// TestCaptureReusesConnections counts the connections of requests one after the
// other, to an upstream that closes one when it rests.
func TestCaptureReusesConnections(t *testing.T) {
	var conns []net.Conn
	var mu sync.Mutex
	upstream := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(w, r.Body)
	}))
	upstream.Config.ConnState = func(c net.Conn, s http.ConnState) {
		mu.Lock()
		defer mu.Unlock()
		if s == http.StateNew {
			conns = append(conns, c)
		}
	}
	upstream.Start()
	defer upstream.Close()
	rec := newRecording(t, FrontOptions{Route: store.RouteBaseURL}, upstream.URL)
	c := client(t, &http.Transport{})
	for i := range 6 {
		body := fmt.Sprint("request ", i)
		if _, got := say(t, c, post(t, rec.base, body)); got != body {
			t.Errorf("%q", got)
		}
		if i == 2 {
			mu.Lock()
			conns[0].(*net.TCPConn).SetLinger(0)
			conns[0].Close()
			mu.Unlock()
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if len(conns) != 2 {
		t.Errorf("%d connections", len(conns))
	}
	if list := rec.end(t); len(list) != 6 || list[3].End != store.Done {
		t.Errorf("stored: %+v", list)
	}
}

// TestCaptureTrusts asks an upstream whose certificate only a variable for the
// agent names.
func TestCaptureTrusts(t *testing.T) {
	upstream := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "hello") }))
	upstream.Config.ErrorLog = log.New(io.Discard, "", 0)
	defer upstream.Close()
	file := filepath.Join(t.TempDir(), "corp.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: upstream.Certificate().Raw})
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, named := range []bool{false, true} {
		if named {
			t.Setenv("NODE_EXTRA_CA_CERTS", file)
		}
		rec := newRecording(t, FrontOptions{Route: store.RouteBaseURL}, upstream.URL)
		status, got := say(t, client(t, &http.Transport{}), post(t, rec.base, "q"))
		if named && (status != 200 || got != "hello") || !named && status != http.StatusBadGateway {
			t.Errorf("named: %v, %d %s", named, status, got)
		}
		want := map[bool]store.ExchangeEnd{true: store.Done, false: store.Failed}[named]
		if x := rec.end(t)[0]; x.End != want {
			t.Errorf("stored: %+v", x)
		}
	}
}

// TestCaptureHTTP2 speaks HTTP/2 on both sides of a MITM.
func TestCaptureHTTP2(t *testing.T) {
	upstream := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 2 {
			t.Errorf("the upstream is asked by %s", r.Proto)
		}
		w.Header().Set("Trailer", "X-Sum")
		io.WriteString(w, "data: 1\n\n")
		w.(http.Flusher).Flush()
		if r.URL.Path == "/cut" {
			panic(http.ErrAbortHandler)
		}
		w.Header().Set("X-Sum", "1")
	}))
	upstream.EnableHTTP2 = true
	upstream.StartTLS()
	defer upstream.Close()
	rec := newRecording(t, FrontOptions{Route: store.RouteMITM, Hosts: []string{"127.0.0.1"}}, upstream.URL)
	rec.capture.transport.TLSClientConfig = upstream.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	c := agentOf(t, rec.front.Env(nil), true)
	answer, err := c.Do(post(t, upstream.URL+"/v1/x", "q"))
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(answer.Body)
	answer.Body.Close()
	if err != nil || string(b) != "data: 1\n\n" || answer.Trailer.Get("X-Sum") != "1" || answer.ProtoMajor != 2 {
		t.Errorf("%s %v %v %v", answer.Proto, b, answer.Trailer, err)
	}
	if answer, err = c.Do(post(t, upstream.URL+"/cut", "q")); err != nil {
		t.Fatal(err)
	}
	if b, err = io.ReadAll(answer.Body); err == nil || errors.Is(err, io.EOF) || string(b) != "data: 1\n\n" {
		t.Errorf("a cut stream: %q, %v", b, err)
	}
	answer.Body.Close()
	list := rec.end(t)
	if x := list[0]; x.Proto != "HTTP/2.0" || x.End != store.Done || value(x.Trailer, "X-Sum") != "1" || x.URL != upstream.URL+"/v1/x" {
		t.Errorf("stored: %+v", x)
	}
	if x := list[1]; x.End != store.CutShort || received(x) != "data: 1\n\n" {
		t.Errorf("stored: %+v", x)
	}
}
