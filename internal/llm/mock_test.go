package llm

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"agentrec/store"

	"github.com/klauspost/compress/zstd"
)

const chatPath = "/v1/chat/completions"

// chat makes the body of a request from pairs of role and text.
func chat(said ...string) string {
	var b strings.Builder
	b.WriteString(`{"model":"gpt-4o","messages":[`)
	for i := 0; i < len(said); i += 2 {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"role":%q,"content":%s}`, said[i], quotedText(said[i+1]))
	}
	return b.String() + "]}"
}

// exchange makes a recorded exchange with api.openai.com.
func exchange(number int64, body string, answer ...string) store.Exchange {
	x := store.Exchange{
		Number: number, Method: "POST", URL: "https://api.openai.com" + chatPath, Body: []byte(body), Status: 200,
		Answer: []store.Field{{Name: "Content-Type", Value: "text/event-stream"}}, End: store.Done, Attempt: 1,
		Time: time.Duration(number) * time.Second, Answered: time.Duration(number)*time.Second + 10*time.Millisecond,
	}
	at := x.Answered
	for _, a := range answer {
		at += 5 * time.Millisecond
		x.Pieces = append(x.Pieces, store.Piece{Time: at, Bytes: []byte(a)})
	}
	x.Ended = at
	return x
}

// serveMock serves a mock until the test ends and returns it with its address.
func serveMock(t testing.TB, o MockOptions, list ...store.Exchange) (*Mock, string) {
	t.Helper()
	m := NewMock(list, o)
	t.Cleanup(m.Close)
	s := httptest.NewUnstartedServer(m)
	s.Config.ErrorLog = nil
	s.Start()
	t.Cleanup(s.Close)
	return m, s.Listener.Addr().String()
}

// answer is an answer as it stood on the wire.
type answer struct {
	status int
	header http.Header
	chunks []string // the chunks of a chunked body, else the body in one
	err    error    // io.ErrUnexpectedEOF: it was cut
}

func (a answer) body() string { return strings.Join(a.chunks, "") }

// ask sends a request and reads the answer chunk by chunk, which Go's client
// would join.
func ask(t testing.TB, addr, method, path, body string, header ...string) answer {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(20 * time.Second))
	head := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n", method, path, addr, len(body))
	for _, h := range header {
		head += h + "\r\n"
	}
	if _, err := io.WriteString(c, head+"\r\n"+body); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(c)
	line, err := r.ReadString('\n')
	if err != nil {
		return answer{err: io.ErrUnexpectedEOF}
	}
	a := answer{header: http.Header{}}
	if fields := strings.Fields(line); len(fields) > 1 {
		a.status, _ = strconv.Atoi(fields[1])
	}
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatalf("reading the head: %v", err)
		}
		name, value, ok := strings.Cut(strings.TrimRight(line, "\r\n"), ": ")
		if !ok {
			break
		}
		a.header.Add(name, value)
	}
	if a.header.Get("Transfer-Encoding") != "chunked" {
		b, err := io.ReadAll(r)
		a.chunks = []string{string(b)}
		if n, e := strconv.Atoi(a.header.Get("Content-Length")); err != nil || e == nil && n != len(b) && method != "HEAD" {
			a.err = io.ErrUnexpectedEOF
		}
		return a
	}
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			a.err = io.ErrUnexpectedEOF
			return a
		}
		n, err := strconv.ParseInt(strings.TrimSpace(line), 16, 64)
		if err != nil {
			t.Fatalf("a chunk's length: %q", line)
		}
		if n == 0 {
			return a
		}
		b := make([]byte, n+2)
		if _, err := io.ReadFull(r, b); err != nil {
			a.err = io.ErrUnexpectedEOF
			return a
		}
		a.chunks = append(a.chunks, string(b[:n]))
	}
}

// Any exchange plays as it was recorded: the same bytes, with the same borders.
func TestPlaysPieceForPiece(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var list []store.Exchange
	for n := range int64(40) {
		var pieces []string
		for range r.IntN(6) {
			b := make([]byte, 1+r.IntN(1<<r.IntN(14)))
			for i := range b {
				b[i] = byte(r.Uint32())
			}
			pieces = append(pieces, string(b))
		}
		x := exchange(n+1, chat("user", fmt.Sprint(n)), pieces...)
		x.Status = []int{200, 201, 400, 404, 429, 500, 529}[r.IntN(7)]
		x.Answer = append(x.Answer, store.Field{Name: "X-Request-Id", Value: fmt.Sprint("req_", n)}, store.Field{Name: "Set-Cookie", Value: "secret"},
			store.Field{Name: "Date", Value: "then"}, store.Field{Name: "Openai-Version", Value: "1"}, store.Field{Name: "Openai-Version", Value: "2"})
		list = append(list, x)
	}
	m, addr := serveMock(t, MockOptions{}, list...)
	for _, i := range r.Perm(len(list)) {
		x := &list[i]
		a := ask(t, addr, "POST", chatPath, string(x.Body))
		var want []string
		for _, p := range x.Pieces {
			want = append(want, string(p.Bytes))
		}
		if a.status != x.Status || a.err != nil || !slices.Equal(a.chunks, want) {
			t.Fatalf("exchange %d: status %d, %v, %d chunks; want %d, %d chunks", x.Number, a.status, a.err, len(a.chunks), x.Status, len(want))
		}
		if got := a.header.Get("X-Request-Id"); got != fmt.Sprint("req_", i) {
			t.Errorf("request id %q", got)
		}
		if got := a.header.Values("Openai-Version"); !slices.Equal(got, []string{"1", "2"}) {
			t.Errorf("equal names: %q", got)
		}
		for _, name := range []string{"Set-Cookie", "Date"} {
			if got := a.header.Get(name); got != "" {
				t.Errorf("%s: %q", name, got)
			}
		}
	}
	report := m.Report()
	if report.Served != len(list) || report.Failed() != 0 || report.Inversions == 0 {
		t.Errorf("%+v", report)
	}
}

// Equal requests at the same time get the recorded answers, each once.
func TestParallelEqualRequests(t *testing.T) {
	const n = 30
	var list []store.Exchange
	for i := range int64(n) {
		list = append(list, exchange(i+1, chat("user", "same"), fmt.Sprint("answer ", i)))
	}
	m, addr := serveMock(t, MockOptions{}, list...)
	got := make([]string, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { got[i] = ask(t, addr, "POST", chatPath, chat("user", "same")).body() })
	}
	all.Wait()
	slices.Sort(got)
	if len(slices.Compact(got)) != n {
		t.Errorf("some answers were given twice: %q", got)
	}
	if r := m.Report(); r.Served != n || r.Failed() != 0 {
		t.Errorf("%+v", r)
	}
}

func TestEqualRequestsInTurn(t *testing.T) {
	list := []store.Exchange{exchange(1, chat("user", "again"), "one"), exchange(2, chat("user", "again"), "two")}
	for policy, want := range map[string][]string{
		ExhaustedFail:  {"one", "two", "", ""},
		ExhaustedLast:  {"one", "two", "two", "two"},
		ExhaustedCycle: {"one", "two", "one", "two"},
	} {
		m, addr := serveMock(t, MockOptions{Exhausted: policy}, list...)
		for i, text := range want {
			a := ask(t, addr, "POST", chatPath, chat("user", "again"))
			if text == "" {
				if a.status != 400 || a.header.Get("X-Should-Retry") != "false" || !strings.Contains(a.body(), "was recorded 2 times") {
					t.Errorf("%s, request %d: %d %q", policy, i+1, a.status, a.body())
				}
			} else if a.body() != text {
				t.Errorf("%s, request %d: %q, want %q", policy, i+1, a.body(), text)
			}
		}
		r := m.Report()
		if failed := policy == ExhaustedFail; failed != (len(r.Missed) == 2) || failed == (r.Repeated == 2) {
			t.Errorf("%s: %+v", policy, r)
		}
	}
}

// Models, embeddings and token counts are asked for as often as an agent likes.
func TestListsServeForEver(t *testing.T) {
	models := exchange(1, "", `{"data":[]}`)
	models.Method, models.URL = "GET", "https://api.openai.com/v1/models"
	count := exchange(2, `{"model":"c","messages":[]}`, `{"input_tokens":3}`)
	count.URL = "https://api.anthropic.com/v1/messages/count_tokens"
	m, addr := serveMock(t, MockOptions{}, models, count)
	for range 3 {
		if a := ask(t, addr, "GET", "/models", ""); a.body() != `{"data":[]}` {
			t.Errorf("models: %d %q", a.status, a.body())
		}
		if a := ask(t, addr, "POST", "/v1/messages/count_tokens", `{"messages":[],"model":"c"}`); a.body() != `{"input_tokens":3}` {
			t.Errorf("count: %d %q", a.status, a.body())
		}
	}
	if r := m.Report(); r.Failed() != 0 || r.Repeated != 4 {
		t.Errorf("%+v", r)
	}
}

func TestLengthsAndHeads(t *testing.T) {
	whole := exchange(1, chat("user", "whole"), "{}\n", "more")
	whole.Answer = []store.Field{{Name: "Content-Length", Value: "9999"}, {Name: "Content-Type", Value: "application/json"}}
	head := exchange(2, "")
	head.Method, head.Answer = "HEAD", []store.Field{{Name: "Content-Length", Value: "12"}}
	none := exchange(3, chat("user", "none"))
	none.Status, none.Answer = 204, nil
	packed := exchange(4, chat("user", "packed"), "\x1f\x8b not really")
	packed.Answer = []store.Field{{Name: "Content-Encoding", Value: "gzip"}}
	_, addr := serveMock(t, MockOptions{}, whole, head, none, packed)
	if a := ask(t, addr, "POST", chatPath, string(whole.Body)); a.body() != "{}\nmore" || a.header.Get("Content-Length") != "7" || a.err != nil {
		t.Errorf("whole: %+v", a)
	}
	if a := ask(t, addr, "HEAD", chatPath, ""); a.body() != "" || a.header.Get("Content-Length") != "12" {
		t.Errorf("head: %+v", a)
	}
	if a := ask(t, addr, "POST", chatPath, string(none.Body)); a.status != 204 || a.body() != "" || a.err != nil {
		t.Errorf("none: %+v", a)
	}
	if a := ask(t, addr, "POST", chatPath, string(packed.Body)); a.body() != "\x1f\x8b not really" || a.header.Get("Content-Encoding") != "gzip" || a.header.Get("Content-Type") != "" {
		t.Errorf("packed: %+v", a)
	}
}

func TestTrailer(t *testing.T) {
	x := exchange(1, chat("user", "trailer"), "body")
	x.Trailer = []store.Field{{Name: "X-Checksum", Value: "abc"}}
	_, addr := serveMock(t, MockOptions{}, x)
	resp, err := http.Post("http://"+addr+chatPath, "application/json", bytes.NewReader(x.Body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if b, err := io.ReadAll(resp.Body); string(b) != "body" || err != nil || resp.Trailer.Get("X-Checksum") != "abc" {
		t.Errorf("%q, %v, %v", b, err, resp.Trailer)
	}
}

// Each wire's clients get an error in the shape that they know.
func TestMissShapes(t *testing.T) {
	list := []store.Exchange{exchange(1, chat("system", "be brief", "user", "one"), "1")}
	for path, want := range map[string]string{
		chatPath:                             `"type":"invalid_request_error"`,
		"/v1/responses":                      `"code":"agentrec"`,
		"/v1/messages":                       `"type":"error"`,
		"/v1beta/models/g:generateContent":   `"status":"INVALID_ARGUMENT"`,
		"/api/chat":                          `{"error":"agentrec: `,
		"/something/else":                    `"message":"agentrec: request`,
		"/v1/models/gemini-2:countTokens":    `"status":"INVALID_ARGUMENT"`,
		"/openai/deployments/x/v1/responses": `"code":"agentrec"`,
	} {
		m, addr := serveMock(t, MockOptions{Where: "report.json"}, list...)
		a := ask(t, addr, "POST", path, chat("system", "be brief", "user", "two"))
		if a.status != 400 || a.header.Get("X-Should-Retry") != "false" || !strings.Contains(a.body(), want) || !strings.Contains(a.body(), "report.json") {
			t.Errorf("%s: %d %v %q", path, a.status, a.header, a.body())
		}
		if path == chatPath && !strings.Contains(a.body(), "the nearest is exchange 1, which differs at message 2 (user)") {
			t.Errorf("%q", a.body())
		}
		if r := m.Report(); len(r.Missed) != 1 || len(r.Unused) != 1 {
			t.Errorf("%s: %+v", path, r)
		}
	}
}

// The host of the upstream may begin the path; where it was recorded it decides
// between equal requests.
func TestHosts(t *testing.T) {
	a, b := exchange(1, "", "models of a"), exchange(2, "", "models of b")
	a.Method, a.URL = "GET", "https://a.example/v1/models"
	b.Method, b.URL = "GET", "https://b.example/v1/models"
	_, addr := serveMock(t, MockOptions{}, a, b)
	for range 2 {
		for host, want := range map[string]string{"a.example": "models of a", "b.example": "models of b"} {
			if got := ask(t, addr, "GET", "/"+host+"/v1/models", ""); got.body() != want {
				t.Errorf("%s: %d %q", host, got.status, got.body())
			}
		}
	}
}

func reqWith(body string) *http.Request {
	return httptest.NewRequest("POST", "/", strings.NewReader(body))
}

// A request that is compressed is the same as one that is not.
func TestCompressedRequest(t *testing.T) {
	x := exchange(1, chat("user", "hi"), "1")
	_, addr := serveMock(t, MockOptions{}, x, exchange(2, chat("user", "hi"), "2"))
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	w.Write(x.Body)
	w.Close()
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	if a := ask(t, addr, "POST", chatPath, packed.String(), "Content-Encoding: gzip"); a.body() != "1" {
		t.Errorf("gzip: %d %q", a.status, a.body())
	}
	if a := ask(t, addr, "POST", chatPath, string(z.EncodeAll(x.Body, nil)), "Content-Encoding: zstd"); a.body() != "2" {
		t.Errorf("zstd: %d %q", a.status, a.body())
	}
}

// A missed request goes on to the real upstream only when that is asked for, and
// the report says so.
func TestPassthrough(t *testing.T) {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("X-Real", "yes")
		w.WriteHeader(http.StatusTeapot)
		fmt.Fprintf(w, "%s %s %s", r.URL.Path, r.Header.Get("Authorization"), b)
	}))
	defer upstream.Close()
	u, err := url.Parse(upstream.URL)
	if err != nil {
		t.Fatal(err)
	}
	x := exchange(1, chat("user", "a"), "recorded")
	x.URL = upstream.URL + chatPath
	m := NewMock([]store.Exchange{x}, MockOptions{OnMiss: MissPassthrough})
	f, err := NewFront(FrontOptions{Route: store.RouteDirect, Handler: m, Upstream: u})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	defer f.Close()
	base := strings.TrimPrefix(f.BaseURL(u), "http://"+f.Addr())
	if a := ask(t, f.Addr(), "POST", base+chatPath, string(x.Body)); a.body() != "recorded" {
		t.Errorf("%+v", a)
	}
	a := ask(t, f.Addr(), "POST", base+chatPath, chat("user", "b"), "Authorization: Bearer x")
	if a.status != http.StatusTeapot || a.header.Get("X-Real") != "yes" || a.body() != chatPath+" Bearer x "+chat("user", "b") {
		t.Errorf("%+v", a)
	}
	if r := m.Report(); len(r.Missed) != 1 || !r.Missed[0].Passed || !strings.Contains(r.Missed[0].Message, "went on to the real upstream") {
		t.Errorf("%+v", r)
	}
}
