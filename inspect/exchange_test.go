package inspect

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agentrec/internal/transcript"
	"agentrec/store"

	"github.com/tidwall/gjson"
)

// chatRequest is the body of a request of the model of a test, with these
// messages behind the instructions.
func chatRequest(messages ...string) string {
	return `{"model":"gpt-5","stream":true,"messages":[` + strings.Join(append([]string{`{"role":"system","content":"You tell the weather."}`}, messages...), ",") +
		`],"tools":[{"type":"function","function":{"name":"get_weather","description":"Tells the weather.","parameters":{"type":"object"}}}]}`
}

const (
	askHello   = `{"role":"user","content":"Say hello"}`
	saidHello  = `{"role":"assistant","content":"Hello, ready."}`
	askOslo    = `{"role":"user","content":"Weather in Oslo?"}`
	calledOslo = `{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"get_weather","arguments":"{\"city\":\"Oslo\"}"}}]}`
	saidOslo   = `{"role":"tool","tool_call_id":"call_1","content":"Oslo: 4 °C"}`
)

// asked makes an exchange of Chat Completions that begins half a millisecond
// after a frame of phiSteps and was answered with these pieces.
func asked(number, after int64, body string, status int, pieces ...string) store.Exchange {
	at := time.Duration(after)*time.Millisecond + 500*time.Microsecond
	x := store.Exchange{
		Number: number, After: after, Time: at, Route: store.RouteBaseURL, Proto: "HTTP/1.1", Method: "POST", URL: "https://api.openai.com/v1/chat/completions",
		Header: []store.Field{{Name: "Authorization", Value: "<redacted:bearer:1>"}, {Name: "Content-Type", Value: "application/json"}}, Body: []byte(body),
		Status: status, Answered: at + 100*time.Microsecond, Answer: []store.Field{{Name: "Content-Type", Value: "text/event-stream"}}, End: store.Done, Attempt: 1,
	}
	if status >= 400 {
		x.Answer[0].Value = "application/json"
	}
	for i, p := range pieces {
		x.Pieces = append(x.Pieces, store.Piece{Time: x.Answered + time.Duration(i+1)*50*time.Microsecond, Bytes: []byte(p)})
	}
	x.Ended = x.Answered + time.Duration(len(pieces)+1)*50*time.Microsecond
	return x
}

// phiExchanges are what the agent of phiSteps asked its model: a title beside
// the first turn, a refusal and its retry, a call.
func phiExchanges() []store.Exchange {
	refused := asked(3, 9, chatRequest(askHello, saidHello, askOslo), 429, `{"error":{"message":"Slow down","type":"rate_limit_error"}}`)
	again := asked(4, 9, chatRequest(askHello, saidHello, askOslo), 200,
		`data: {"id":"c2","model":"gpt-5","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_1","function":{"name":"get_weather","arguments":"{\"city\""}}]}}]}`+"\n\n",
		`data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":":\"Oslo\"}"}}]},"finish_reason":"tool_calls"}]}`+"\n\ndata: [DONE]\n\n")
	again.Attempt, again.Time, again.Answered, again.Ended = 2, again.Time+300*time.Microsecond, again.Answered+300*time.Microsecond, again.Ended+300*time.Microsecond
	for i := range again.Pieces {
		again.Pieces[i].Time += 300 * time.Microsecond
	}
	cut := asked(5, 11, chatRequest(askHello, saidHello, askOslo, calledOslo, saidOslo), 200, `data: {"id":"c3","choices":[{"index":0,"delta":{"content":"It is 4"}}]}`+"\n\n", `data: {"choices":[{"index":0,"delta":{"content":" °C."}}]}`+"\n\n")
	models := store.Exchange{
		Number: 1, Time: 200 * time.Microsecond, Route: store.RouteBaseURL, Proto: "HTTP/1.1", Method: "GET", URL: "https://api.openai.com/v1/models", Status: 200, Answered: 300 * time.Microsecond,
		Answer: []store.Field{{Name: "Content-Type", Value: "application/json"}}, Pieces: []store.Piece{{Time: 400 * time.Microsecond, Bytes: []byte(`{"data":[{"id":"gpt-5"},{"id":"gpt-5-mini"}]}`)}}, End: store.Done, Ended: 400 * time.Microsecond, Attempt: 1,
	}
	return []store.Exchange{
		models,
		asked(2, 4, chatRequest(askHello), 200, `data: {"id":"c1","model":"gpt-5","choices":[{"index":0,"delta":{"content":"Hello, "}}]}`+"\n\n",
			`data: {"choices":[{"index":0,"delta":{"content":"ready."},"finish_reason":"stop"}]}`+"\n\n", `data: {"choices":[],"usage":{"prompt_tokens":21,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":16}}}`+"\n\ndata: [DONE]\n\n"),
		refused, again, cut,
	}
}

// recordTold makes a database with phiSteps and these exchanges.
func recordTold(t testing.TB, steps []step, list []store.Exchange) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "session.db")
	recordToldInto(t, path, steps, list)
	return path
}

func recordToldInto(t testing.TB, path string, steps []step, list []store.Exchange) {
	t.Helper()
	ctx := context.Background()
	db, err := store.Open(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	w, err := db.Begin(ctx, store.Start{Name: "told", Started: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC), Argv: []string{"phi", "serve"}, Version: "v0"})
	if err != nil {
		t.Fatal(err)
	}
	w.Event(store.Event{Kind: store.EventStart})
	at := time.Duration(0)
	for i, s := range steps {
		for len(list) > 0 && list[0].After <= int64(i) {
			w.Exchange(list[0])
			list = list[1:]
		}
		at += time.Millisecond
		w.Frame(s.stream, at, []byte(s.raw), store.LF)
	}
	for _, x := range list {
		w.Exchange(x)
	}
	exit := store.Exit{}
	w.Event(store.Event{Kind: store.EventExit, After: int64(len(steps)), Time: at, Exit: &exit})
	if err := w.Close(ctx, store.End{State: store.Closed, Ended: at, Exit: &exit, Wire: [store.Streams]int64{-1, -1, -1}}); err != nil {
		t.Fatal(err)
	}
}

func shown(t *testing.T, o showOptions) string {
	t.Helper()
	var b strings.Builder
	o.Out = &b
	if o.Seq == (seqs{}) {
		o.Seq = seqs{From: 1}
	}
	if err := show(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// withoutPaths replaces the path of a recording, which differs from run to run.
func withoutPaths(s, path string) string { return strings.ReplaceAll(s, path, "FILE") }

// golden holds a text against a file; -update writes it.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", "exchanges", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; look at it and write it anew with -update:\n%s", file, got)
	}
}

// A prompt, its requests to the model and its calls read as one story, in each
// form.
func TestShowTellsExchangesInPlace(t *testing.T) {
	path := recordTold(t, phiSteps, phiExchanges())
	for name, o := range map[string]showOptions{
		"story.txt": {}, "table.txt": {Exchanges: true}, "one.txt": {Exchange: exchangePart{Number: 4}}, "one-raw.txt": {Exchange: exchangePart{Number: 4}, Raw: true},
		"one.json": {Exchange: exchangePart{Number: 4}, JSON: true}, "table.json": {Exchanges: true, JSON: true},
	} {
		o.File = path
		golden(t, name, withoutPaths(shown(t, o), path))
	}
}

func TestShowExchangeBytes(t *testing.T) {
	list := phiExchanges()
	list[1].Body = []byte("\x00\xff not JSON")
	path := recordTold(t, phiSteps, list)
	for side, want := range map[string]string{"request": "\x00\xff not JSON", "answer": string(list[1].Pieces[0].Bytes) + string(list[1].Pieces[1].Bytes) + string(list[1].Pieces[2].Bytes)} {
		if got := shown(t, showOptions{File: path, Exchange: exchangePart{2, side}, Raw: true}); got != want {
			t.Errorf("the %s is %q, want %q", side, got, want)
		}
	}
	err := show(t.Context(), showOptions{File: path, Exchange: exchangePart{Number: 6}, Out: nothing{}})
	if err == nil || !strings.Contains(err.Error(), "session 1 has no exchange 6, it has 5 exchanges") {
		t.Error(err)
	}
}

func TestFilterExchanges(t *testing.T) {
	path := recordTold(t, phiSteps, phiExchanges())
	for expr, want := range map[string]string{
		"exchange": "1 2 3 4 5", "exchange = 2..3": "2 3", "status >= 400": "3", "model = gpt*": "2 3 4 5", "host = api.openai.com and path = */models": "1",
		"attempt > 1": "4", "failed": "3", "turn = 1": "2", `text:"Slow down"`: "3", `"Weather in Oslo"`: "3 4 5", ".stream = true and not .messages.3": "2",
		"took > 1s": "", "size > 1kB": "", "not exchange": "", "event": "", "exchange and host = example.org": "", "label = run": "",
	} {
		f, err := transcript.ParseFilter(expr)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for l := range strings.Lines(shown(t, showOptions{File: path, Exchanges: true, JSON: true, Filter: f})) {
			got = append(got, gjson.Get(l, "number").Raw)
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%s chooses %q, want %q", expr, s, want)
		}
	}
	f, err := transcript.ParseFilter("status = 429 or call")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for l := range strings.Lines(shown(t, showOptions{File: path, JSON: true, Filter: f})) {
		got = append(got, gjson.Get(l, "object").String()+gjson.Get(l, "number").Raw)
	}
	if s := strings.Join(got, " "); s != "session exchange3 item" {
		t.Errorf("the story holds %s", s)
	}
}

func TestGrepExchanges(t *testing.T) {
	path := recordTold(t, phiSteps, phiExchanges())
	for text, want := range map[string]string{
		"Slow down":         "e3 answer",
		"You tell the":      "e2 request",        // repeated in each request, told once
		"Tells the weather": "e2 request",        // a tool
		"Weather in Oslo?":  "#9 in e3 request",  // a retry says nothing new
		`{"city":"Oslo"}`:   "e4 answer #10 out", // joined from pieces
		"It is 4 °C.":       "e5 answer #12 out", // joined from events
		"gpt-5-mini":        "e1 answer",         // of no messages
	} {
		var b strings.Builder
		if err := grep(t.Context(), grepOptions{Pattern: text, Files: []string{path}, JSON: true, Out: &b}); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		var got []string
		for l := range strings.Lines(b.String()) {
			h := gjson.Parse(l)
			at := h.Get("text").String()[h.Get("start").Int():h.Get("end").Int()]
			if at != text {
				t.Errorf("%s: found %q", text, at)
			}
			if n := h.Get("exchange"); n.Exists() {
				got = append(got, "e"+n.Raw+" "+h.Get("side").String())
			} else {
				got = append(got, "#"+h.Get("seq").Raw+" "+h.Get("stream").String())
			}
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%s is found in %s, want %s", text, s, want)
		}
	}
}

func TestCheckExchanges(t *testing.T) {
	list := phiExchanges()
	broken := asked(6, 12, chatRequest(askHello), 200, `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"{\"a\":"}}]}}]}`+"\n\ndata: [DONE]\n\n")
	failed := asked(7, 12, chatRequest(saidHello), 0)
	failed.End, failed.Error = store.Failed, "connection refused"
	gone := asked(8, 12, chatRequest(askOslo), 200, "data: {}\n\n")
	gone.End = store.Cancelled
	short := asked(9, 12, chatRequest(saidOslo), 200, "data: {}\n\n")
	short.End, short.Error = store.CutShort, "unexpected EOF"
	inside := asked(10, 12, chatRequest(calledOslo), 200, `data: {"error":{"message":"overloaded","type":"server_error"}}`+"\n\n")
	path := recordTold(t, phiSteps, append(list, broken, failed, gone, short, inside))
	var b strings.Builder
	err := check(t.Context(), checkOptions{Files: []string{path}, Only: []string{"llm"}, Level: LevelNote, Format: formatJSON, Out: &b})
	if want := (Findings{Count: 8}); !errors.As(err, new(Findings)) || err.Error() != want.Error() {
		t.Errorf("%v, want %v", err, want)
	}
	var got []string
	for l := range strings.Lines(b.String()) {
		f := gjson.Parse(l)
		got = append(got, fmt.Sprintf("e%s %s %s", f.Get("exchange").Raw, f.Get("level"), strings.TrimPrefix(f.Get("rule").String(), "llm/")))
	}
	want := "e3 note status\ne4 note retry\ne5 warning no_end\ne6 warning call_arguments\ne7 warning no_answer\ne8 note cancelled\ne9 warning cut\ne10 warning stream_error"
	if s := strings.Join(got, "\n"); s != want {
		t.Errorf("found\n%s\nwant\n%s", s, want)
	}
}

// An agent that leaves once the stream has said that it is over has all of it.
func TestLeavingBehindTheEndIsNoCancel(t *testing.T) {
	list := phiExchanges()[1:2]
	list[0].Number, list[0].End = 1, store.Cancelled
	path := recordTold(t, phiSteps, list)
	if err := check(t.Context(), checkOptions{Files: []string{path}, Only: []string{"llm"}, Level: LevelNote, Out: nothing{}}); err != nil {
		t.Error(err)
	}
	if s := shown(t, showOptions{File: path, Exchanges: true}); strings.Contains(s, "cancelled") {
		t.Error(s)
	}
}

func TestStatsOfModels(t *testing.T) {
	path := recordTold(t, phiSteps, phiExchanges())
	var b strings.Builder
	if err := stats(t.Context(), statsOptions{File: path, JSON: true, Out: &b}); err != nil {
		t.Fatal(err)
	}
	m := gjson.Get(b.String(), "llm.0")
	got := fmt.Sprintf("%s at %s: %s exchanges, %s failed, %s retries, %s in, %s out, %s cached, took %s to %s (e%s)", m.Get("model"), m.Get("host"), m.Get("exchanges"), m.Get("failed"),
		m.Get("retries"), m.Get("input"), m.Get("output"), m.Get("cached"), m.Get("took.p50_us"), m.Get("took.max_us"), m.Get("took.slowest"))
	if want := "gpt-5 at api.openai.com: 4 exchanges, 2 failed, 1 retries, 21 in, 5 out, 16 cached, took 250 to 300 (e2)"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	b.Reset()
	if err := stats(t.Context(), statsOptions{File: path, Out: &b}); err != nil {
		t.Fatal(err)
	}
	golden(t, "stats.txt", b.String())
}

// TestFindingsOfManyBytes: exchanges that take long to look through are not unless
// that was asked for; then what was found is told.
func TestFindingsOfManyBytes(t *testing.T) {
	ownCache(t)
	l, err := openLook(t.Context(), recordTold(t, phiSteps, phiExchanges()), "", "")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	few, err := findingCount(t.Context(), l)
	if err != nil || few < 1 {
		t.Fatalf("%d findings, %v", few, err)
	}
	l.Session.ExchangedBytes = mostUnasked + 1
	if n, err := findingCount(t.Context(), l); err != nil || n != -1 {
		t.Errorf("%d findings, %v", n, err)
	}
	if _, err := findingsOf(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	if n, err := findingCount(t.Context(), l); err != nil || n != few {
		t.Errorf("%d findings of %d, %v", n, few, err)
	}
}
