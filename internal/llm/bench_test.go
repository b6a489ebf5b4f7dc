package llm

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"agentrec/store"
)

// plainAnswer is an exchange without a stream, streamed one of 50 pieces.
func plainAnswer() store.Exchange {
	x := exchange(1, chat("user", "hello"), `{"id":"chatcmpl-1","choices":[{"message":{"role":"assistant","content":"Hello! How can I help you today?"}}]}`)
	x.Answer = []store.Field{{Name: "Content-Length", Value: "107"}, {Name: "Content-Type", Value: "application/json"}}
	return atOnce(x)
}

// atOnce is an exchange that was recorded without any gap: a mock keeps a little
// of each.
func atOnce(x store.Exchange) store.Exchange {
	x.Answered, x.Ended = x.Time, x.Time
	for i := range x.Pieces {
		x.Pieces[i].Time = x.Time
	}
	return x
}

func streamedAnswer() store.Exchange {
	var pieces []string
	for i := range 50 {
		pieces = append(pieces, fmt.Sprintf("data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"tok%d \"}}]}\n\n", i))
	}
	return atOnce(exchange(1, chat("user", "hello"), pieces...))
}

// BenchmarkMock compares the mock with a server that only writes the same bytes,
// with the client in the same process; run both in one go and take the ratio.
func BenchmarkMock(b *testing.B) {
	for name, x := range map[string]store.Exchange{"plain": plainAnswer(), "stream": streamedAnswer()} {
		bare := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", x.Answer[0].Value)
			for _, p := range x.Pieces {
				w.Write(p.Bytes)
				if len(x.Pieces) > 1 {
					w.(http.Flusher).Flush()
				}
			}
		})
		mock := NewMock([]store.Exchange{x}, MockOptions{Exhausted: ExhaustedLast})
		b.Run(name+"/bare", func(b *testing.B) { load(b, bare, x.Body) })
		b.Run(name+"/mock", func(b *testing.B) { load(b, mock, x.Body) })
	}
}

// load asks a handler over loopback, eight requests at a time.
func load(b *testing.B, h http.Handler, body []byte) {
	s := httptest.NewServer(h)
	defer s.Close()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	defer client.CloseIdleConnections()
	b.SetParallelism(4)
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			resp, err := client.Post(s.URL+chatPath, "application/json", bytes.NewReader(body))
			if err != nil {
				b.Error(err)
				return
			}
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
	})
}

// BenchmarkHandler measures the mock alone.
func BenchmarkHandler(b *testing.B) {
	x := plainAnswer()
	mock := NewMock([]store.Exchange{x}, MockOptions{Exhausted: ExhaustedLast})
	b.ReportAllocs()
	for b.Loop() {
		r := httptest.NewRequest("POST", chatPath, bytes.NewReader(x.Body))
		mock.ServeHTTP(httptest.NewRecorder(), r)
	}
}
