package llm

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"agentrec/internal/dialect"
	"agentrec/store"
)

// said makes the pieces of a streamed answer of Chat Completions.
func said(words ...string) []string {
	var out []string
	for _, w := range words {
		out = append(out, fmt.Sprintf("data: {\"id\":\"chatcmpl-x\",\"choices\":[{\"index\":0,\"delta\":{\"content\":%s}}]}\n\n", quotedText(w)))
	}
	return append(out, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
}

// paired pairs exchanges of two sessions, of which one ran in /home/a/project
// and the other, months later, in /tmp/b.
func paired(a, b []store.Exchange, ignore ...string) []Pair {
	first := &store.Session{Started: time.Date(2026, 3, 14, 9, 0, 0, 0, time.UTC), Ended: time.Minute, Cwd: "/home/a/project"}
	second := &store.Session{Started: time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC), Ended: time.Minute, Cwd: "/tmp/b"}
	paths, err := dialect.ParsePaths(ignore...)
	if err != nil {
		panic(err)
	}
	return newPairing(first, second, a, b, paths).pairs()
}

// What changes from run to run is no difference, nor is the order of requests
// or how an answer was cut.
func TestPairsForgive(t *testing.T) {
	one := exchange(1, chat("system", "Today is 2026-03-14. You work in /home/a/project.", "user", "list the files"), said("a.go ", "in /home/a/project")...)
	two := exchange(2, `{"model":"small","messages":[{"role":"user","content":"a title"}],"user":"u-1"}`, said("Files")...)
	title := exchange(1, `{"messages":[{"content":"a title","role":"user"}],"user":"u-2","model":"small"}`, said("Fi", "les")...)
	again := exchange(2, chat("system", "Today is 2026-11-30. You work in /tmp/b.", "user", "list the files"), said("a.go in /tmp/b")...)
	title.URL, again.URL = "http://127.0.0.1:40001/v1/chat/completions", "http://127.0.0.1:40001/v1/chat/completions"
	list := paired([]store.Exchange{one, two}, []store.Exchange{title, again})
	if len(list) != 2 || list[0].A != 2 || list[0].B != 1 || list[1].A != 1 || list[1].B != 2 {
		t.Fatalf("%+v", list)
	}
	for _, p := range list {
		if p.Differences() != 0 {
			t.Errorf("%+v", p)
		}
	}
	if name := list[1].Name; name != "POST /chat/completions gpt-4o" {
		t.Errorf("%q", name)
	}
}

// A changed message is named where it comes first; the later requests that bring
// it back say so.
func TestPairsTellTheDifferenceOnce(t *testing.T) {
	var lists [2][]store.Exchange
	for side, word := range []string{"start", "stort"} {
		history := []string{"user", word}
		for n := range int64(3) {
			lists[side] = append(lists[side], exchange(n+1, chat(history...), said(fmt.Sprint("answer ", n))...))
			history = append(history, "assistant", fmt.Sprint("answer ", n), "user", fmt.Sprint("step ", n))
		}
	}
	list := paired(lists[0], lists[1])
	if len(list) != 3 || list[0].Message != 1 || list[0].Role != "user" || list[0].Follows != 0 {
		t.Fatalf("%+v", list)
	}
	want := PairDifference{"request", "messages.0.content", `"start"`, `"stort"`}
	if !slices.Equal(list[0].List, []PairDifference{want}) {
		t.Errorf("%+v", list[0].List)
	}
	for i, p := range list[1:] {
		if p.A != int64(i+2) || p.B != p.A || p.Follows != 1 || len(p.List) != 0 || p.Differences() != 1 {
			t.Errorf("%+v", p)
		}
	}
	if list := paired(lists[0], lists[1], "messages.0.content"); list[0].Differences()+list[1].Differences()+list[2].Differences() != 0 {
		t.Errorf("ignored: %+v", list)
	}
}

// Answers are compared by what they say, and one side's own exchanges stand in
// their place.
func TestPairsCompareAnswers(t *testing.T) {
	ask := func(n int64, text string, answer ...string) store.Exchange {
		return exchange(n, chat("user", text), answer...)
	}
	cut := ask(3, "three", said("whole")[:1]...)
	cut.End, cut.Error = store.CutShort, "unexpected EOF"
	refused := ask(4, "four", `{"error":{"message":"Slow down","type":"rate_limit_error"}}`)
	refused.Status, refused.Answer = 429, []store.Field{{Name: "Content-Type", Value: "application/json"}}
	models := store.Exchange{Number: 2, Method: "GET", URL: "https://api.openai.com/v1/models", Status: 200, End: store.Done}
	a := []store.Exchange{ask(1, "one", said("It is 4 °C.")...), models, ask(3, "three", said("whole")...), ask(4, "four", said("ok")...)}
	b := []store.Exchange{ask(1, "one", said("It is 5 °C.")...), ask(2, "two", said("new")...), cut, refused}
	b[1].URL = "https://api.openai.com/v1/embeddings"
	var got []string
	for _, p := range paired(a, b) {
		line := fmt.Sprintf("%d/%d", p.A, p.B)
		for _, d := range p.List {
			line += fmt.Sprintf(" %s %s %s|%s", d.Part, d.Path, d.A, d.B)
		}
		got = append(got, line)
	}
	want := []string{
		`1/1 answer text "It is 4 °C."|"It is 5 °C."`,
		`0/2`,
		`2/0`,
		`3/3 answer end |"cut" answer finish "stop"|`,
		`4/4 answer error |"Slow down" answer finish "stop"| answer status 200|429 answer text "ok"|`,
	}
	if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
		t.Errorf("got\n%s\nwant\n%s", g, w)
	}
}

// Each database has tokens of its own for the same secret.
func TestPairsForgiveTokens(t *testing.T) {
	session := func(token string) []store.Exchange {
		return []store.Exchange{exchange(1, chat("user", "my key is "+token+", keep it"), said("I keep "+token)...)}
	}
	for _, p := range paired(session("<redacted:api_key:c57bffcfc489>"), session("<redacted:api_key:6fbecf9a471e>")) {
		if p.A != p.B || p.Differences() != 0 {
			t.Errorf("%+v", p)
		}
	}
}

// A server that keeps the history itself gives ids, which are others each time.
func TestPairsFollowServerState(t *testing.T) {
	session := func(id string) []store.Exchange {
		first := exchange(1, `{"model":"gpt-5","input":"hello"}`, `{"id":"`+id+`","status":"completed","output":[]}`)
		next := exchange(2, `{"model":"gpt-5","previous_response_id":"`+id+`","input":"and now?"}`, `{"id":"x`+id+`","status":"completed","output":[]}`)
		first.URL, next.URL = "https://api.openai.com/v1/responses", "https://api.openai.com/v1/responses"
		first.Answer, next.Answer = first.Answer[:0], next.Answer[:0]
		return []store.Exchange{first, next}
	}
	for _, p := range paired(session("resp_one"), session("resp_two")) {
		if p.A != p.B || p.Differences() != 0 {
			t.Errorf("%+v", p)
		}
	}
}
