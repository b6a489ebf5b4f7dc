package llm

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"agentrec/store"
)

func TestCaptureCancelled(t *testing.T) {
	left := make(chan error, 1)
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "some")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		left <- r.Context().Err()
	}))
	defer upstream.Close()
	rec := newRecording(t, FrontOptions{Route: store.RouteBaseURL}, upstream.URL)
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, "POST", rec.base, strings.NewReader("q"))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := client(t, &http.Transport{}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	io.ReadFull(answer.Body, make([]byte, 4))
	cancel()
	<-left
	answer.Body.Close()
	<-rec.front.running.shut()
	if x := rec.end(t)[0]; x.End != store.Cancelled || received(x) != "some" || x.Status != 200 || x.Error != "" {
		t.Errorf("stored: %+v", x)
	}
}

// TestCaptureClosed closes the Front while an agent still listens.
func TestCaptureClosed(t *testing.T) {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "some")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	defer upstream.Close()
	rec := newRecording(t, FrontOptions{Route: store.RouteBaseURL}, upstream.URL)
	answer, err := client(t, &http.Transport{}).Get(rec.base)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	io.ReadFull(answer.Body, make([]byte, 4))
	if x := rec.end(t)[0]; x.End != store.CutShort || received(x) != "some" || x.Error != errFrontClosed.Error() {
		t.Errorf("stored: %+v", x)
	}
	if _, err := io.ReadAll(answer.Body); err == nil {
		t.Error("the agent takes a cut answer for a whole one")
	}
}

// TestCaptureCut has the upstream break off where it can: the agent must see
// its own connection break at the same place.
func TestCaptureCut(t *testing.T) {
	for _, c := range []struct {
		name, says string
		end        store.ExchangeEnd
		got        string
	}{
		{"in a chunked answer", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nsome\r\n", store.CutShort, "some"},
		{"in a chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n8\r\nsome", store.CutShort, "some"},
		{"in an answer with a length", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nsome", store.CutShort, "some"},
		{"before the body", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n", store.CutShort, ""},
		{"in the head", "HTTP/1.1 200 OK\r\nContent-Le", store.Failed, ""},
		{"at once", "", store.Failed, ""},
		{"with something else", "SSH-2.0-OpenSSH_9.0\r\n\r\n", store.Failed, ""},
		{"nowhere: the end of the connection is the end", "HTTP/1.0 200 OK\r\n\r\nsome", store.Done, "some"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			var served sync.WaitGroup
			served.Go(func() {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				defer conn.Close()
				if _, err := conn.Read(make([]byte, 4096)); err == nil {
					io.WriteString(conn, c.says)
				}
			})
			rec := newRecording(t, FrontOptions{Route: store.RouteBaseURL}, "http://"+l.Addr().String())
			agent := client(t, &http.Transport{})
			answer, err := agent.Get(rec.base)
			got := ""
			if err == nil {
				var b []byte
				b, err = io.ReadAll(answer.Body)
				answer.Body.Close()
				got = string(b)
			}
			if (err == nil) != (c.end == store.Done) || got != c.got {
				t.Errorf("the agent got %q, %v", got, err)
			}
			served.Wait()
			x := rec.end(t)[0]
			if x.End != c.end || received(x) != c.got || (x.Error == "") != (c.end == store.Done) || (x.Status == 0) != (c.end == store.Failed) {
				t.Errorf("stored: %+v", x)
			}
		})
	}
}

func TestCaptureUnreachable(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	rec := newRecording(t, FrontOptions{Route: store.RouteBaseURL}, "http://"+l.Addr().String())
	status, body := say(t, client(t, &http.Transport{}), post(t, rec.base+"/v1/x", "q"))
	if status != http.StatusBadGateway || !strings.Contains(body, "cannot be reached") {
		t.Errorf("%d %s", status, body)
	}
	if x := rec.end(t)[0]; x.End != store.Failed || x.Status != 0 || !strings.Contains(x.Error, "refused") || string(x.Body) != "q" {
		t.Errorf("stored: %+v", x)
	}
}

// TestCaptureAnswersEarly has the upstream answer before it has read a large
// request, of which only a part is then sent and stored.
func TestCaptureAnswersEarly(t *testing.T) {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.NewResponseController(w).EnableFullDuplex()
		w.Header().Set("Connection", "close")
		w.WriteHeader(http.StatusRequestEntityTooLarge)
		io.WriteString(w, "too large")
	}))
	defer upstream.Close()
	rec := newRecording(t, FrontOptions{Route: store.RouteBaseURL}, upstream.URL)
	r, w := io.Pipe()
	defer w.Close()
	go w.Write([]byte("the beginning"))
	answer, err := client(t, &http.Transport{}).Post(rec.base, "text/plain", r)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(answer.Body); answer.StatusCode != 413 || string(b) != "too large" {
		t.Errorf("%d %s %v", answer.StatusCode, b, err)
	}
	answer.Body.Close()
	if !answer.Close {
		t.Error("the connection is to be used again, with half a request on it")
	}
	if x := rec.end(t)[0]; x.Status != 413 || received(x) != "too large" {
		t.Errorf("stored: %+v", x)
	}
}

// TestCaptureBrokenRequest has the agent go away within its request.
func TestCaptureBrokenRequest(t *testing.T) {
	for _, head := range []string{"Content-Length: 10\r\n", "Transfer-Encoding: chunked\r\n", "Content-Length: 1000000\r\n"} {
		upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body) }))
		rec := newRecording(t, FrontOptions{Route: store.RouteBaseURL}, upstream.URL)
		u, err := url.Parse(rec.base)
		if err != nil {
			t.Fatal(err)
		}
		conn, err := net.Dial("tcp", u.Host)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "POST %s/x HTTP/1.1\r\nHost: %s\r\n%s\r\n4\r\nsome\r\n", u.Path, u.Host, head)
		for rec.front.Requests() == 0 {
			time.Sleep(time.Millisecond)
		}
		conn.Close()
		<-rec.front.running.shut()
		if x := rec.end(t)[0]; x.End != store.Cancelled || x.Status != 0 {
			t.Errorf("%s: stored: %+v", head, x)
		}
		upstream.Close()
	}
}

// TestCaptureLeft has the agent leave when the stream has said that it is over,
// as some SDKs do, before the connection says so.
func TestCaptureLeft(t *testing.T) {
	for text, end := range map[string]store.ExchangeEnd{"data: [DONE]\n\n": store.Done, "data: {\"delta\":\"[DONE]\"}\n\n": store.Cancelled} {
		left := make(chan bool)
		upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, text)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
			close(left)
		}))
		defer upstream.Close()
		rec := newRecording(t, FrontOptions{Route: store.RouteBaseURL}, upstream.URL)
		ctx, cancel := context.WithCancel(t.Context())
		r, err := http.NewRequestWithContext(ctx, "POST", rec.base, strings.NewReader("q"))
		if err != nil {
			t.Fatal(err)
		}
		answer, err := client(t, &http.Transport{}).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		io.ReadFull(answer.Body, make([]byte, len(text)))
		cancel()
		<-left
		answer.Body.Close()
		<-rec.front.running.shut()
		if x := rec.end(t)[0]; x.End != end || received(x) != text || x.Error != "" {
			t.Errorf("%q: stored: %+v", text, x)
		}
	}
}

func TestSaysOver(t *testing.T) {
	for piece, want := range map[string]bool{
		"data: [DONE]\n\n":           true,
		"data:[DONE]\r\n\r\n":        true,
		"data: {}\n\ndata: [DONE]\n": true,
		"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n":                             true,
		"event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{}}\n\n": true,
		"{\"message\":{\"content\":\"\"},\"done\":true}\n":                                       true,
		"": false, "\n\n": false,
		"data: [DONE]":                           false, // more of the line may come
		"data: [DON\n\n":                         false,
		"[DONE]\n":                               false,
		"{\"done\":false}\n":                     false,
		"data: {\"done\":true}\n\n":              false,
		"data: {\"text\":\"data: [DONE]\"}\n\n":  false,
		"data: {\"type\":\"message_delta\"}\n\n": false,
		"data: [DONE]\n\ndata: {\"type\":\"message_delta\"}\n": false,
		strings.Repeat("[", 1<<20) + "\n":                      false,
	} {
		if got := saysOver([]byte(piece)); got != want {
			t.Errorf("%.60q: %v", piece, got)
		}
	}
}
