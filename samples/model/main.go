// Command model is a model of OpenAI's chat completions that thinks nothing: the
// words of the last user message decide what it answers, so equal requests get
// equal answers.
//
//	count, weather, ...   calls the tools whose names hold the word
//	busy                  is refused with 429 the first time
//	fail                  is refused with 400
//	cut                   breaks off in the middle of the answer
//
// Given a command, it runs that with OPENAI_BASE_URL set to itself, and leaves as
// it left. Alone it prints its base URL and serves until it is ended.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"
)

func main() {
	pace := flag.Duration("pace", 0, "pause between two pieces of an answer, such as 20ms")
	listen := flag.String("listen", "127.0.0.1:0", "address to serve at")
	flag.Parse()
	l, err := net.Listen("tcp", *listen)
	if err != nil {
		fmt.Fprintln(os.Stderr, "sample model:", err)
		os.Exit(1)
	}
	base := "http://" + l.Addr().String() + "/v1"
	m := &model{pace: *pace, refused: map[string]bool{}}
	if flag.NArg() == 0 {
		fmt.Println(base)
		fmt.Fprintln(os.Stderr, "sample model:", http.Serve(l, m))
		os.Exit(1)
	}
	go http.Serve(l, m)
	cmd := exec.Command(flag.Arg(0), flag.Args()[1:]...)
	cmd.Env = append(os.Environ(), "OPENAI_BASE_URL="+base)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		os.Exit(exit.ExitCode())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "sample model:", err)
		os.Exit(127)
	}
}

type model struct {
	pace time.Duration

	mu      sync.Mutex
	refused map[string]bool // queries that were told to come again
}

// question is what counts of a request.
type question struct {
	Model    string
	Stream   bool
	Messages []struct{ Role, Content string }
	Tools    []struct {
		Function struct {
			Name       string
			Parameters struct{ Properties map[string]any }
		}
	}
}

func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == "GET" && r.URL.Path == "/v1/models":
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintln(w, `{"object":"list","data":[{"id":"sample","object":"model","created":0,"owned_by":"samples"}]}`)
	case r.Method == "POST" && r.URL.Path == "/v1/chat/completions":
		var q question
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			refuse(w, http.StatusBadRequest, "invalid_request_error", err.Error())
			return
		}
		m.answer(w, q)
	default:
		refuse(w, http.StatusNotFound, "invalid_request_error", "there is no "+r.URL.Path)
	}
}

func refuse(w http.ResponseWriter, status int, kind, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"error":{"message":%s,"type":%q,"param":null,"code":null}}`+"\n", quote(message), kind)
}

func (m *model) answer(w http.ResponseWriter, q question) {
	query, results := q.last()
	words := strings.FieldsFunc(query, func(r rune) bool { return strings.ContainsRune(" ,.?!:;", r) })
	switch {
	case holds(words, "fail"):
		refuse(w, http.StatusBadRequest, "invalid_request_error", "the query asked for a failure")
		return
	case holds(words, "busy") && m.first(query):
		w.Header().Set("Retry-After", "0")
		refuse(w, http.StatusTooManyRequests, "rate_limit_error", "come again")
		return
	}
	if len(results) == 0 {
		if calls := q.calls(query, words); len(calls) > 0 {
			m.send(w, q, []any{map[string]any{"role": "assistant", "content": nil, "tool_calls": calls}}, "tool_calls", false)
			return
		}
	}
	text := "You said: " + query
	for _, result := range results {
		text += "\nA tool says: " + result
	}
	deltas := []any{}
	for i, part := range strings.SplitAfter(text, " ") {
		delta := map[string]any{"content": part}
		if i == 0 {
			delta["role"] = "assistant"
		}
		deltas = append(deltas, delta)
	}
	m.send(w, q, deltas, "stop", holds(words, "cut"))
}

// first tells whether a query comes for the first time.
func (m *model) first(query string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	was := m.refused[query]
	m.refused[query] = true
	return !was
}

// last returns the last user message and the tool results since.
func (q question) last() (query string, results []string) {
	for _, message := range q.Messages {
		switch message.Role {
		case "user":
			query, results = message.Content, nil
		case "tool":
			results = append(results, message.Content)
		}
	}
	return query, results
}

// calls are the tool calls that the words of a query ask for. Every parameter
// called text is the query, any other its last word.
func (q question) calls(query string, words []string) []any {
	list := []any{}
	for _, tool := range q.Tools {
		f := tool.Function
		if !slices.ContainsFunc(strings.Split(f.Name, "_"), func(part string) bool { return holds(words, part) }) {
			continue
		}
		args := map[string]string{}
		for name := range f.Parameters.Properties {
			args[name] = words[len(words)-1]
			if name == "text" {
				args[name] = query
			}
		}
		n := len(list)
		list = append(list, map[string]any{
			"index": n, "id": fmt.Sprintf("call_%s_%d", f.Name, n), "type": "function",
			"function": map[string]string{"name": f.Name, "arguments": quote(args)},
		})
	}
	return list
}

// send answers with deltas, streamed or as the one message they make.
func (m *model) send(w http.ResponseWriter, q question, deltas []any, reason string, cut bool) {
	usage := map[string]int{"prompt_tokens": 10 * len(q.Messages), "completion_tokens": len(deltas), "total_tokens": 10*len(q.Messages) + len(deltas)}
	head := map[string]any{"id": "chatcmpl-sample", "created": 0, "model": q.Model}
	if !q.Stream {
		message := map[string]any{"role": "assistant"}
		text := ""
		for _, d := range deltas {
			if part, ok := d.(map[string]any)["content"].(string); ok {
				text += part
			}
			if calls, ok := d.(map[string]any)["tool_calls"]; ok {
				message["tool_calls"] = calls
			}
		}
		message["content"] = text
		head["object"], head["usage"] = "chat.completion", usage
		head["choices"] = []any{map[string]any{"index": 0, "message": message, "finish_reason": reason}}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintln(w, quote(head))
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	head["object"] = "chat.completion.chunk"
	event := func(choices []any) {
		head["choices"] = choices
		fmt.Fprintf(w, "data: %s\n\n", quote(head))
		w.(http.Flusher).Flush()
		time.Sleep(m.pace)
	}
	for i, d := range deltas {
		if cut && i == len(deltas)/2 {
			panic(http.ErrAbortHandler)
		}
		event([]any{map[string]any{"index": 0, "delta": d, "finish_reason": nil}})
	}
	event([]any{map[string]any{"index": 0, "delta": map[string]any{}, "finish_reason": reason}})
	head["usage"] = usage
	event([]any{})
	fmt.Fprint(w, "data: [DONE]\n\n")
}

func holds(words []string, word string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.EqualFold(w, word) })
}

// quote returns v as JSON. Everything given to it here can be encoded.
func quote(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}
