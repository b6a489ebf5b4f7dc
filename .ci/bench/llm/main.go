// Command llm_bench measures servers that answer in a model's place. Each gets
// the same two requests, one answered whole and one by a stream of 52 events:
// the candidates in turn, round by round, so that a busy machine is busy for all.
//
//	llm_bench upstream ADDR                    answers as a model would
//	llm_bench vcr-record FILE UPSTREAM         records both requests with go-vcr
//	llm_bench vcr-serve FILE ADDR UPSTREAM     answers from that
//	llm_bench load NAME=URL...                 measures; the first is what the others are compared with
package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"gopkg.in/dnaeon/go-vcr.v4/pkg/cassette"
	"gopkg.in/dnaeon/go-vcr.v4/pkg/recorder"
)

const path = "/v1/chat/completions"

// The two requests.
var whole, streamed = body(false), body(true)

func body(stream bool) string {
	return fmt.Sprintf(`{"model":"gpt-4o","stream":%v,"messages":[{"role":"user","content":"hello"}]}`, stream)
}

func main() {
	switch args := os.Args[1:]; {
	case len(args) == 2 && args[0] == "upstream":
		check(http.ListenAndServe(args[1], http.HandlerFunc(upstream)))
	case len(args) == 3 && args[0] == "vcr-record":
		vcrRecord(args[1], args[2])
	case len(args) == 4 && args[0] == "vcr-serve":
		vcrServe(args[1], args[2], args[3])
	case len(args) > 1 && args[0] == "load":
		load(args[1:])
	default:
		check(fmt.Errorf("see the head of main.go for its use"))
	}
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "llm_bench:", err)
		os.Exit(1)
	}
}

func upstream(w http.ResponseWriter, r *http.Request) {
	b, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	if string(b) != streamed {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"id":"chatcmpl-1","object":"chat.completion","created":1,"model":"gpt-4o","choices":[{"index":0,"message":{"role":"assistant","content":"Hello! How can I help you today?"},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":9,"total_tokens":18}}`)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for i := range 50 {
		fmt.Fprintf(w, `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"gpt-4o","choices":[{"index":0,"delta":{"content":"tok%d "},"finish_reason":null}]}`+"\n\n", i)
		w.(http.Flusher).Flush()
	}
	io.WriteString(w, `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"gpt-4o","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
}

// sameRequest is go-vcr's matcher: it compares no headers, as the others do.
func sameRequest(r *http.Request, i cassette.Request) bool {
	b, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(b))
	return err == nil && r.Method == i.Method && r.URL.String() == i.URL && string(b) == i.Body
}

func vcr(file string, mode recorder.Mode) *recorder.Recorder {
	r, err := recorder.New(file, recorder.WithMode(mode), recorder.WithMatcher(sameRequest), recorder.WithReplayableInteractions(true), recorder.WithSkipRequestLatency(true))
	check(err)
	return r
}

func vcrRecord(file, upstream string) {
	r := vcr(file, recorder.ModeRecordOnly)
	for _, b := range []string{whole, streamed} {
		answer, err := r.GetDefaultClient().Post(upstream+path, "application/json", strings.NewReader(b))
		check(err)
		_, err = io.Copy(io.Discard, answer.Body)
		check(err)
		answer.Body.Close()
	}
	check(r.Stop())
}

func vcrServe(file, addr, upstream string) {
	client := vcr(file, recorder.ModeReplayOnly).GetDefaultClient()
	check(http.ListenAndServe(addr, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, err := client.Post(upstream+r.URL.Path, "application/json", r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		defer answer.Body.Close()
		w.Header().Set("Content-Type", answer.Header.Get("Content-Type"))
		io.Copy(w, answer.Body)
	})))
}

// figures are what one candidate reached, a value a round.
type figures struct {
	name, url            string
	median, rate, stream []float64
	events               int
}

const rounds, inTurn, atOnce, workers, streams = 7, 300, 1200, 8, 20

func load(args []string) {
	var list []*figures
	for _, a := range args {
		name, url, _ := strings.Cut(a, "=")
		list = append(list, &figures{name: name, url: url})
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}, Timeout: 20 * time.Second}
	for round := range rounds + 1 {
		for _, f := range list {
			kept := *f
			f.round(client)
			if round == 0 { // to warm up
				*f = kept
			}
		}
	}
	fmt.Println("| server | request, median | requests a second, 8 at once | of the first | stream of 52 events | events |")
	fmt.Println("|---|---|---|---|---|---|")
	for _, f := range list {
		var of []float64
		for i, v := range f.rate {
			of = append(of, v/list[0].rate[i])
		}
		fmt.Printf("| %s | %s µs | %s | %s | %s µs | %d |\n", f.name, spread(f.median, "%.0f"), spread(f.rate, "%.0f"), spread(of, "%.2f"), spread(f.stream, "%.0f"), f.events)
	}
}

func (f *figures) round(client *http.Client) {
	var took []float64
	for range inTurn {
		start := time.Now()
		f.ask(client, whole)
		took = append(took, float64(time.Since(start).Nanoseconds())/1000)
	}
	f.median = append(f.median, middle(took))
	start := time.Now()
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for range atOnce / workers {
				f.ask(client, whole)
			}
		})
	}
	all.Wait()
	f.rate = append(f.rate, atOnce/time.Since(start).Seconds())
	took = nil
	for range streams {
		start := time.Now()
		f.events = strings.Count(f.ask(client, streamed), "data:")
		took = append(took, float64(time.Since(start).Nanoseconds())/1000)
	}
	f.stream = append(f.stream, middle(took))
}

func (f *figures) ask(client *http.Client, body string) string {
	answer, err := client.Post(f.url+path, "application/json", strings.NewReader(body))
	check(err)
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	check(err)
	if answer.StatusCode != http.StatusOK {
		check(fmt.Errorf("%s answers %s: %.200s", f.name, answer.Status, b))
	}
	return string(b)
}

func middle(v []float64) float64 {
	v = slices.SortedFunc(slices.Values(v), cmp.Compare[float64])
	return v[len(v)/2]
}

// spread writes the median of the rounds with the least and the most.
func spread(v []float64, format string) string {
	return fmt.Sprintf(format+" ("+format+" to "+format+")", middle(v), slices.Min(v), slices.Max(v))
}
