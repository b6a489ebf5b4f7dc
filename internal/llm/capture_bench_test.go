package llm

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"agentrec/store"
)

// BenchmarkCapture asks a model directly and through a recording capture, in
// turns, so that both meet the same machine. It reports the median times of a
// JSON answer and until the first byte of a stream, in microseconds, and for the
// first the ratio.
func BenchmarkCapture(b *testing.B) {
	const answer = `{"id":"chatcmpl-1","object":"chat.completion","created":1,"model":"gpt-4o","choices":[{"index":0,"message":{"role":"assistant","content":"Hello! How can I help you today?"},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":9,"total_tokens":18}}`
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		if r.URL.Path == "/stream" {
			w.Header().Set("Content-Type", "text/event-stream")
			for i := range 10 {
				fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"tok%d \"}}]}\n\n", i)
				w.(http.Flusher).Flush()
			}
			return
		}
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, answer)
	}))
	defer upstream.Close()
	rec := newRecording(b, FrontOptions{Route: store.RouteBaseURL}, upstream.URL)
	f := rec.tape.Follower()
	ctx, stop := context.WithCancel(b.Context())
	followed := make(chan bool)
	go func() { defer close(followed); f.Run(ctx) }()
	defer func() { stop(); <-followed; f.Close(); rec.tape.Discard() }()
	c := client(b, &http.Transport{MaxIdleConnsPerHost: 8})
	ask := func(url string) time.Duration {
		began := time.Now()
		r, err := c.Post(url, "application/json", strings.NewReader(`{"model":"gpt-4o","messages":[{"role":"user","content":"hello"}]}`))
		if err != nil {
			b.Fatal(err)
		}
		defer r.Body.Close()
		lines := bufio.NewReader(r.Body)
		lines.ReadString('\n')
		took := time.Since(began)
		io.Copy(io.Discard, lines)
		return took
	}
	var times [4][]time.Duration
	for b.Loop() {
		for i, url := range []string{upstream.URL + "/json", rec.base + "/json", upstream.URL + "/stream", rec.base + "/stream"} {
			times[i] = append(times[i], ask(url))
		}
	}
	var median [4]float64
	for i, list := range times {
		slices.Sort(list)
		median[i] = float64(list[len(list)/2].Nanoseconds()) / 1000
	}
	b.ReportMetric(0, "ns/op") // of no meaning
	b.ReportMetric(median[0], "us/direct")
	b.ReportMetric(median[1], "us/capture")
	b.ReportMetric(median[1]/median[0], "x-direct")
	b.ReportMetric(median[3]-median[2], "us-added/first-byte")
}
