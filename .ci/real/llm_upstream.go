// Command llm_upstream is a model's API for the test of real SDKs. The model that
// a request names says what it gets. It sends one piece at a time, each when the
// client has said at /ack that it has read the one before, so that the borders of
// the pieces do not depend on time.
//
//	llm_upstream PORTFILE LOGFILE
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

type upstream struct {
	ack chan bool

	mu    sync.Mutex
	log   io.Writer
	tries map[string]int
}

func main() {
	log, err := os.Create(os.Args[2])
	check(err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	_, port, err := net.SplitHostPort(l.Addr().String())
	check(err)
	check(os.WriteFile(os.Args[1]+".new", []byte(port), 0o600))
	check(os.Rename(os.Args[1]+".new", os.Args[1]))
	u := &upstream{ack: make(chan bool), log: log, tries: map[string]int{}}
	check(http.Serve(l, u))
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "upstream:", err)
		os.Exit(1)
	}
}

// local are headers that depend on the connection, or are new each time.
var local = []string{"Accept-Encoding", "Connection", "Idempotency-Key"}

func (u *upstream) say(v ...any) {
	u.mu.Lock()
	defer u.mu.Unlock()
	b, err := json.Marshal(v)
	check(err)
	_, err = u.log.Write(append(b, '\n'))
	check(err)
}

func (u *upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/ack" {
		select {
		case u.ack <- true:
		case <-time.After(10 * time.Second):
			http.Error(w, "nothing waits for this", http.StatusConflict)
		}
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		u.say("request broke off", err.Error())
		return
	}
	header := r.Header.Clone()
	for _, name := range local {
		header.Del(name)
	}
	names := []string{}
	for name, values := range header {
		names = append(names, name+": "+strings.Join(values, " | "))
	}
	slices.Sort(names)
	u.say("request", r.Method, r.RequestURI, names, string(body))

	var q struct {
		Model  string
		Stream bool
	}
	json.Unmarshal(body, &q)
	u.mu.Lock()
	u.tries[q.Model]++
	try := u.tries[q.Model]
	u.mu.Unlock()
	wire := "chat"
	switch {
	case strings.HasSuffix(r.URL.Path, "/messages"):
		wire = "messages"
	case strings.HasSuffix(r.URL.Path, "/responses"):
		wire = "responses"
	}
	switch kind, _, _ := strings.Cut(q.Model, "@"); {
	case kind == "busy" && try%2 == 1:
		u.refuse(w, 429, `{"error":{"message":"slow down","type":"rate_limit_error","param":null,"code":"rate_limit_exceeded"}}`, "Retry-After-Ms", "1")
	case kind == "overloaded" && try%3 != 0:
		u.refuse(w, 529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_1"}`, "Retry-After-Ms", "1")
	case kind == "fail":
		u.refuse(w, 400, `{"error":{"message":"no such model","type":"invalid_request_error","param":"model","code":"model_not_found"}}`)
	case !q.Stream:
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, whole[wire])
	default:
		list := streams[wire]
		if kind == "error" {
			list = append(slices.Clone(list[:3]), broken[wire])
		}
		u.stream(w, list, kind == "cut")
	}
}

func (u *upstream) refuse(w http.ResponseWriter, status int, body string, header ...string) {
	w.Header().Set("Content-Type", "application/json")
	for i := 0; i+1 < len(header); i += 2 {
		w.Header().Set(header[i], header[i+1])
	}
	w.WriteHeader(status)
	io.WriteString(w, body)
}

func (u *upstream) stream(w http.ResponseWriter, pieces []string, cut bool) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.Header().Set("Request-Id", "req_42")
	w.Header()["X-Ratelimit-Remaining-Tokens"] = []string{"149984"}
	w.WriteHeader(200)
	w.(http.Flusher).Flush()
	for i, piece := range pieces {
		if cut && i == len(pieces)/2 {
			panic(http.ErrAbortHandler)
		}
		io.WriteString(w, piece)
		w.(http.Flusher).Flush()
		u.say("piece", []byte(piece))
		select {
		case <-u.ack:
		case <-time.After(10 * time.Second):
			u.say("nobody read this piece")
			panic(http.ErrAbortHandler)
		}
	}
}

// whole are answers that are not streamed.
var whole = map[string]string{
	"chat":      `{"id":"chatcmpl-1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Grüße, 世界"},"finish_reason":"stop","logprobs":null}],"usage":{"prompt_tokens":9,"completion_tokens":4,"total_tokens":13}}`,
	"responses": `{"id":"resp_1","object":"response","created_at":1,"status":"completed","model":"m","output":[{"type":"message","id":"msg_1","status":"completed","role":"assistant","content":[{"type":"output_text","text":"Grüße","annotations":[]}]}],"parallel_tool_calls":true,"tool_choice":"auto","tools":[],"usage":{"input_tokens":1,"output_tokens":1,"total_tokens":2,"input_tokens_details":{"cached_tokens":0},"output_tokens_details":{"reasoning_tokens":0}}}`,
	"messages":  `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"Grüße"}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}}`,
}

// broken are errors in the middle of a stream.
var broken = map[string]string{
	"chat":      "data: {\"error\":{\"message\":\"the model fell over\",\"type\":\"server_error\",\"code\":null}}\n\n",
	"responses": "event: error\ndata: {\"type\":\"error\",\"sequence_number\":3,\"code\":\"server_error\",\"message\":\"the model fell over\",\"param\":null}\n\n",
	"messages":  "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n",
}

// chunk is one event of a chat.
func chunk(delta, reason string) string {
	return `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","system_fingerprint":"fp_1","choices":[{"index":0,"delta":` + delta + `,"logprobs":null,"finish_reason":` + reason + `}],"obfuscation":"x9Yb"}` + "\n\n"
}

// event is one event of the other wires, which name it twice.
func event(kind, rest string) string {
	return "event: " + kind + "\ndata: {\"type\":\"" + kind + "\"" + rest + "}\n\n"
}

// streams are the pieces that are sent: events whole, two in one piece, and cut
// within a line and within a letter.
var streams = map[string][]string{
	"chat": cutLast([]string{
		": OPENROUTER PROCESSING\n\n",
		chunk(`{"role":"assistant","content":""}`, "null"),
		chunk(`{"content":"Gr\u00fc"}`, "null") + chunk(`{"content":"ße"}`, "null"),
		chunk(`{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"get_weather","arguments":""}}]}`, "null"),
		chunk(`{"tool_calls":[{"index":0,"function":{"arguments":"{\"city\":"}}]}`, "null"),
		chunk(`{"tool_calls":[{"index":0,"function":{"arguments":"\"Oslo\"}"}}]}`, "null"),
		chunk(`{}`, `"tool_calls"`),
		`data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":4,"total_tokens":13}}` + "\n\n",
	}, chunk(`{"content":"世界"}`, "null"), "data: [DONE]\n\n"),
	"responses": cutLast([]string{
		event("response.created", `,"sequence_number":0,"response":{"id":"resp_1","object":"response","created_at":1,"status":"in_progress","model":"m","output":[]}`),
		event("response.output_item.added", `,"sequence_number":1,"output_index":0,"item":{"type":"message","id":"msg_1","status":"in_progress","role":"assistant","content":[]}`),
		event("response.content_part.added", `,"sequence_number":2,"item_id":"msg_1","output_index":0,"content_index":0,"part":{"type":"output_text","text":"","annotations":[]}`),
		event("response.output_text.delta", `,"sequence_number":3,"item_id":"msg_1","output_index":0,"content_index":0,"delta":"Grüße"`) + event("response.output_text.delta", `,"sequence_number":4,"item_id":"msg_1","output_index":0,"content_index":0,"delta":", "`),
		event("response.something_new", `,"sequence_number":5`),
	}, event("response.output_text.delta", `,"sequence_number":6,"item_id":"msg_1","output_index":0,"content_index":0,"delta":"世界"`),
		event("response.completed", `,"sequence_number":7,"response":{"id":"resp_1","object":"response","created_at":1,"status":"completed","model":"m","output":[{"type":"message","id":"msg_1","status":"completed","role":"assistant","content":[{"type":"output_text","text":"Grüße, 世界","annotations":[]}]}]}`)),
	"messages": cutLast([]string{
		event("message_start", `,"message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":5,"output_tokens":1}}`),
		event("content_block_start", `,"index":0,"content_block":{"type":"text","text":""}`) + "event: ping\ndata: {\"type\": \"ping\"}\n\n",
		event("content_block_delta", `,"index":0,"delta":{"type":"text_delta","text":"Grüße"}`),
		event("content_block_stop", `,"index":0`),
		event("content_block_start", `,"index":1,"content_block":{"type":"tool_use","id":"toolu_1","name":"get_weather","input":{}}`),
		event("content_block_delta", `,"index":1,"delta":{"type":"input_json_delta","partial_json":"{\"city\":"}`),
	}, event("content_block_delta", `,"index":1,"delta":{"type":"input_json_delta","partial_json":"\"世界\"}"}`),
		event("content_block_stop", `,"index":1`)+event("message_delta", `,"delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":9}`)+event("message_stop", "")),
}

// cutLast appends an event in three pieces, cut within a line and within a
// letter of several bytes, and then the last.
func cutLast(pieces []string, event, last string) []string {
	letter := strings.Index(event, "世") + 1
	return append(pieces, event[:20], event[20:letter], event[letter:], last)
}
