package llm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"agentrec/internal/dialect"
	"agentrec/store"
)

var recordedAt, now = time.Date(2026, 3, 14, 15, 0, 0, 0, time.UTC), time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)

// tierOf returns the strictest tier by which the body b is taken for the
// recorded a, "" when it is not.
func tierOf(t testing.TB, path, a, b string, o MockOptions) string {
	t.Helper()
	o.Started, o.now = recordedAt, func() time.Time { return now }
	x := exchange(1, a)
	x.URL = "https://host.example" + path
	m := NewMock([]store.Exchange{x}, o)
	u, err := url.Parse(x.URL)
	if err != nil {
		t.Fatal(err)
	}
	live := newLiveRequest("POST", u, []byte(b), "")
	f, miss := m.find(live, reqWith(b))
	if miss != nil {
		return ""
	}
	return f.tier.String()
}

// Each way in which a request may change and still be the one recorded, and the
// next thing to it that may not.
func TestTiers(t *testing.T) {
	user := func(text string) string { return chat("user", text) }
	tool := func(text string) string { return chat("user", "go", "tool", text) }
	system := func(text string) string { return chat("system", text, "user", "go") }
	const other = "/v1/other"
	paths := MockOptions{Paths: []PathPair{{"/home/ann/code", "/tmp/x/repo"}, {"/home/ann", "/srv"}, {`C:\Users\ann`, `C:\Users\bob`}}}
	call := func(id, name string) string {
		return fmt.Sprintf(`{"id":%q,"type":"function","function":{"name":%q,"arguments":"{}"}}`, id, name)
	}
	batch := func(calls, results string) string {
		return `{"model":"m","messages":[{"role":"user","content":"go"},{"role":"assistant","tool_calls":[` + calls + `]},` + results + `]}`
	}
	result := func(id, text string) string {
		return fmt.Sprintf(`{"role":"tool","tool_call_id":%q,"content":%q}`, id, text)
	}
	for _, c := range []struct {
		what, path, recorded, live, want string
		o                                MockOptions
	}{
		{what: "spacing and order", path: chatPath, recorded: `{"a":1,"b":[1,2]}`, live: ` { "b" : [1, 2],"a":1}`, want: "exact"},
		{what: "escapes", path: chatPath, recorded: `{"a":"\u0041/é"}`, live: `{"a":"A\/\u00e9"}`, want: "exact"},
		{what: "order of a list", path: chatPath, recorded: `{"b":[1,2]}`, live: `{"b":[2,1]}`},
		{what: "long numbers", path: other, recorded: `{"a":9007199254740993}`, live: `{"a":9007199254740992}`},
		{what: "number and string", path: other, recorded: `{"a":1}`, live: `{"a":"1"}`},
		{what: "null and absent", path: other, recorded: `{"a":null}`, live: `{}`},
		{what: "lone surrogates", path: other, recorded: `{"a":"\ud800"}`, live: `{"a":"\ud801"}`},
		{what: "equal keys", path: other, recorded: `{"a":1,"a":2}`, live: `{"a":2,"a":1}`},

		{what: "volatile field", path: chatPath, recorded: `{"prompt_cache_key":"a","x":1}`, live: `{"prompt_cache_key":"b","x":1}`, want: "volatile"},
		{what: "volatile field left out", path: "/v1/messages", recorded: `{"metadata":{"user_id":"a"},"x":1}`, live: `{"x":1}`, want: "volatile"},
		{what: "volatile field of another wire", path: other, recorded: `{"prompt_cache_key":"a"}`, live: `{"prompt_cache_key":"b"}`},
		{what: "user's path", path: chatPath, recorded: `{"max_tokens":1,"x":{"y":1}}`, live: `{"max_tokens":2,"x":{"y":3}}`, want: "volatile", o: ignoring("max_tokens", "x.*")},
		{what: "beside the user's path", path: chatPath, recorded: `{"max_tokens":1}`, live: `{"max_tokens":2}`, o: ignoring("max_token")},

		{what: "model", path: chatPath, recorded: `{"model":"a"}`, live: `{"model":"b"}`},
		{what: "prompt", path: chatPath, recorded: user("add 1 and 2"), live: user("add 1 and 3")},
		{what: "case", path: chatPath, recorded: user("Say hi"), live: user("say hi")},

		{what: "path", path: chatPath, recorded: system("in /home/ann/code/a.go"), live: system("in /tmp/x/repo/a.go"), want: "normalised", o: paths},
		{what: "path of a URL", path: chatPath, recorded: user("file:///home/ann/code."), live: user("file:///tmp/x/repo."), want: "normalised", o: paths},
		{what: "longest path first", path: chatPath, recorded: user("/home/ann/.rc and /home/ann/code"), live: user("/srv/.rc and /tmp/x/repo"), want: "normalised", o: paths},
		{what: "path of Windows", path: chatPath, recorded: user(`C:\Users\ann\a`), live: user(`C:\Users\bob\a`), want: "normalised", o: paths},
		{what: "other file", path: chatPath, recorded: user("/home/ann/code/a.go"), live: user("/tmp/x/repo/b.go"), o: paths},
		{what: "longer name", path: chatPath, recorded: user("/home/ann/code2"), live: user("/tmp/x/repo2"), o: paths},
		{what: "recorded path comes back", path: chatPath, recorded: user("/home/ann/code/a"), live: user("/home/ann/code/a"), want: "exact", o: paths},

		{what: "date of today", path: chatPath, recorded: system("Today is 2026-03-14."), live: system("Today is 2026-11-30."), want: "normalised"},
		{what: "date with time", path: chatPath, recorded: user("at 2026-03-14T15:00:00Z!"), live: user("at 2026-11-30T09:12:33.123+01:00!"), want: "normalised"},
		{what: "date in words", path: chatPath, recorded: user("Saturday, March 14, 2026"), live: user("Monday, November 30, 2026"), want: "normalised"},
		{what: "date as ctime", path: chatPath, recorded: user("Sat Mar 14 15:00:01 2026"), live: user("Mon Nov 30 09:00:02 2026"), want: "normalised"},
		{what: "date as date", path: chatPath, recorded: user("Sat Mar 14 15:00:01 UTC 2026"), live: user("Mon Nov 30 09:00:02 CET 2026"), want: "normalised"},
		{what: "date of HTTP", path: chatPath, recorded: user("Sat, 14 Mar 2026 15:00:01 GMT"), live: user("Mon, 30 Nov 2026 09:00:02 GMT"), want: "normalised"},
		{what: "American date", path: chatPath, recorded: user("3/14/2026, 3:00:00 PM"), live: user("11/30/2026, 9:00:00 AM"), want: "normalised"},
		{what: "German date", path: chatPath, recorded: user("14.3.2026"), live: user("30.11.2026"), want: "normalised"},
		{what: "date of the recording comes back", path: chatPath, recorded: user("it is 2026-03-14"), live: user("it is 2026-03-14 "), want: ""},
		{what: "date of neither", path: chatPath, recorded: user("born 1969-07-20"), live: user("born 1969-07-21")},
		{what: "one date of neither", path: chatPath, recorded: user("on 2026-03-14"), live: user("on 2027-05-01")},
		{what: "month alone", path: chatPath, recorded: user("march 14 miles"), live: user("march 15 miles")},
		{what: "version", path: chatPath, recorded: user("v1.2.2026"), live: user("v1.3.2026")},
		{what: "epoch", path: chatPath, recorded: user("ts 1773500400"), live: user("ts 1796029200123"), want: "normalised"},
		{what: "epoch as number", path: chatPath, recorded: `{"t":1773500400.5}`, live: `{"t":1796029200}`, want: "normalised"},
		{what: "old epoch", path: chatPath, recorded: user("ts 1600000000"), live: user("ts 1600000001")},
		{what: "time of day in a result", path: chatPath, recorded: tool("15:00:01 started"), live: tool("09:00:02 started"), want: "normalised"},
		{what: "time of day of a user", path: chatPath, recorded: user("wake me 15:00:01"), live: user("wake me 15:00:02")},
		{what: "listing", path: chatPath, recorded: tool("-rw 1 ann 5 Mar 14 15:00 a.go"), live: tool("-rw 1 ann 5 Nov 30 09:12 a.go"), want: "normalised"},
		{what: "listing of a day before", path: chatPath, recorded: tool("5 Mar  1 15:00 a.go"), live: tool("5 Mar  2 15:00 a.go")},
		{what: "duration in a result", path: chatPath, recorded: tool("ok  0.512s"), live: tool("ok  12.1s"), want: "normalised"},
		{what: "durations of time", path: chatPath, recorded: tool("real 0m0.003s in 5 ms"), live: tool("real 0m1.2s in 17 ms"), want: "normalised"},
		{what: "duration of a user", path: chatPath, recorded: user("wait 5 seconds"), live: user("wait 6 seconds")},
		{what: "duration of a system", path: chatPath, recorded: system("limit 30 seconds"), live: system("limit 60 seconds")},
		{what: "number in a result", path: chatPath, recorded: tool("5 files"), live: tool("6 files")},
		{what: "codex's results", path: chatPath, recorded: user("Chunk ID: 0ab1f2\nWall time: 0.05 seconds"), live: user("Chunk ID: 99e1d0\nWall time: 1.5 seconds"), want: "normalised"},

		{what: "uuid", path: chatPath, recorded: user("id 7b3e1c8e-52a4-4c1a-9f3e-2f1f6a0c9d10"), live: user("id 11111111-2222-3333-4444-555555555555"), want: "normalised"},
		{what: "two uuids, one", path: chatPath, recorded: user("7b3e1c8e-52a4-4c1a-9f3e-2f1f6a0c9d10 11111111-2222-3333-4444-555555555555"),
			live: user("7b3e1c8e-52a4-4c1a-9f3e-2f1f6a0c9d10 7b3e1c8e-52a4-4c1a-9f3e-2f1f6a0c9d10")},
		{what: "known id", path: chatPath, recorded: user("see call_abc12345"), live: user("see call_zzz98765"), want: "normalised"},
		{what: "words like ids", path: chatPath, recorded: user("call_graph_builder"), live: user("call_graph_printer")},
		{what: "ports", path: chatPath, recorded: user("http://127.0.0.1:40001/x"), live: user("http://127.0.0.1:51234/x"), want: "normalised"},
		{what: "chosen ports", path: chatPath, recorded: user("localhost:3000"), live: user("localhost:8080")},
		{what: "temporary file", path: chatPath, recorded: user("cat /tmp/tmp.Xy12ab/o"), live: user("cat /tmp/tmp.77abcd/o"), want: "normalised"},
		{what: "named file in tmp", path: chatPath, recorded: user("cat /tmp/input"), live: user("cat /tmp/output")},

		{what: "client's ids", path: chatPath, recorded: batch(call("a", "f"), result("a", "1")), live: batch(call("b", "f"), result("b", "1")), want: "normalised"},
		{what: "parallel calls", path: chatPath, recorded: batch(call("a", "f")+","+call("b", "g"), result("a", "1")+","+result("b", "2")),
			live: batch(call("b", "g")+","+call("a", "f"), result("b", "2")+","+result("a", "1")), want: "normalised"},
		{what: "parallel calls, ids renamed", path: chatPath, recorded: batch(call("a", "f")+","+call("b", "g"), result("a", "1")+","+result("b", "2")),
			live: batch(call("x", "g")+","+call("y", "f"), result("x", "2")+","+result("y", "1")), want: "normalised"},
		{what: "results changed places", path: chatPath, recorded: batch(call("a", "f")+","+call("b", "g"), result("a", "1")+","+result("b", "2")),
			live: batch(call("a", "f")+","+call("b", "g"), result("a", "2")+","+result("b", "1"))},
		{what: "messages of users in another order", path: chatPath, recorded: chat("user", "a", "user", "b"), live: chat("user", "b", "user", "a")},
		{what: "parallel calls of Anthropic", path: "/v1/messages",
			recorded: `{"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}},{"type":"tool_use","id":"b","name":"g","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"1"},{"type":"tool_result","tool_use_id":"b","content":"2"}]}]}`,
			live:     `{"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"d","name":"g","input":{}},{"type":"tool_use","id":"c","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"d","content":"2"},{"type":"tool_result","tool_use_id":"c","content":"1"}]}]}`, want: "normalised"},
		{what: "parallel calls of Gemini", path: "/v1beta/models/g:generateContent",
			recorded: `{"contents":[{"role":"model","parts":[{"functionCall":{"id":"f-1","name":"f"}},{"functionCall":{"id":"g-1","name":"g"}}]},{"role":"user","parts":[{"functionResponse":{"id":"f-1","name":"f","response":{"o":1}}},{"functionResponse":{"id":"g-1","name":"g","response":{"o":2}}}]}]}`,
			live:     `{"contents":[{"role":"model","parts":[{"functionCall":{"id":"g-9","name":"g"}},{"functionCall":{"id":"f-9","name":"f"}}]},{"role":"user","parts":[{"functionResponse":{"id":"g-9","name":"g","response":{"o":2}}},{"functionResponse":{"id":"f-9","name":"f","response":{"o":1}}}]}]}`, want: "normalised"},
		{what: "parallel calls of Responses", path: "/v1/responses",
			recorded: `{"input":[{"type":"function_call","call_id":"a","name":"f"},{"type":"function_call","call_id":"b","name":"g"},{"type":"function_call_output","call_id":"a","output":"1"},{"type":"function_call_output","call_id":"b","output":"2"}]}`,
			live:     `{"input":[{"type":"function_call","call_id":"b","name":"g"},{"type":"function_call","call_id":"a","name":"f"},{"type":"function_call_output","call_id":"b","output":"2"},{"type":"function_call_output","call_id":"a","output":"1"}]}`, want: "normalised"},
		{what: "order of tools", path: chatPath, recorded: `{"tools":[{"type":"function","function":{"name":"a"}},{"type":"function","function":{"name":"b"}}]}`,
			live: `{"tools":[{"type":"function","function":{"name":"b"}},{"type":"function","function":{"name":"a"}}]}`, want: "normalised"},
		{what: "another tool", path: chatPath, recorded: `{"tools":[{"name":"a"},{"name":"b"}]}`, live: `{"tools":[{"name":"a"},{"name":"c"}]}`},
		{what: "JSON in a string", path: chatPath, recorded: user(`{"a":1,"b":"2026-03-14"}`), live: user(`{ "b":"2026-11-30", "a":1 }`), want: "normalised"},
		{what: "other JSON in a string", path: chatPath, recorded: user(`{"a":1}`), live: user(`{"a":2}`)},

		{what: "redacted", path: chatPath, recorded: user("key <redacted:api_key:0123456789ab>."), live: user("key sk-live-1."), want: "exact"},
		{what: "beside what is redacted", path: chatPath, recorded: user("key <redacted:api_key:0123456789ab>."), live: user("key sk-live-1!")},
		{what: "equal secrets", path: chatPath, recorded: user("<redacted:k:1> <redacted:k:1>"), live: user("one one"), want: "exact"},
		{what: "unequal secrets", path: chatPath, recorded: user("<redacted:k:1> <redacted:k:1>"), live: user("one two")},
		{what: "redacted and volatile", path: chatPath, recorded: `{"user":"a","k":"<redacted:k:1>"}`, live: `{"user":"b","k":"secret"}`, want: "volatile"},
		{what: "redacted and dated", path: chatPath, recorded: user("2026-03-14 <redacted:k:1>"), live: user("2026-11-30 secret"), want: "normalised"},
	} {
		if got := tierOf(t, c.path, c.recorded, c.live, c.o); got != c.want {
			t.Errorf("%s: %q, want %q\n  recorded %s\n  live     %s", c.what, got, c.want, c.recorded, c.live)
		}
	}
}

func ignoring(paths ...string) MockOptions {
	p, err := dialect.ParsePaths(paths...)
	if err != nil {
		panic(err)
	}
	return MockOptions{Ignore: p}
}

// FuzzCanonical holds that the canonical form of JSON does not depend on the
// order of keys and on white space, and on nothing else: encoding/json is the
// judge of what two texts mean.
func FuzzCanonical(f *testing.F) {
	for _, s := range [][2]string{
		{`{"a":1,"b":[true,null,"x"]}`, ` {"b" : [true, null,"x"] ,"a":1}`}, {`"\u0041"`, `"A"`}, {`[1.0]`, `[1]`}, {`"\ud83d\ude00"`, `"😀"`},
		{`{"a":{"b":{}}}`, `{"a":{"b":[]}}`}, {`["a","b"]`, `["a,b"]`}, {`{"":0}`, `{"":"0"}`}, {`[[1],2]`, `[1,[2]]`}, {`"1:a"`, `"a"`}, {`12`, `[1,2]`}, {`{"b":1,"a":1}`, `{"a":1,"b":1}`},
	} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		va, okA := parse([]byte(a))
		vb, okB := parse([]byte(b))
		if okA != json.Valid([]byte(a)) || okB != json.Valid([]byte(b)) {
			t.Fatalf("judged %v and %v: %q %q", okA, okB, a, b)
		}
		if !okA || !okB || strings.Contains(a+b, `\ud`) || strings.Contains(a+b, `\uD`) || strings.Contains(a+b, "�") || strings.Contains(a+b, `\ufffd`) || strings.Contains(a+b, `\uFFFD`) {
			return // of lone surrogates encoding/json makes one and the same character
		}
		ma, uniqueA := meaning(t, a)
		mb, uniqueB := meaning(t, b)
		if !uniqueA || !uniqueB {
			return // of equal keys encoding/json keeps the last
		}
		if same := bytes.Equal(va.form(nil), vb.form(nil)); same != reflect.DeepEqual(ma, mb) || same != va.equal(&vb) {
			t.Fatalf("the same: %v; %q %q", same, a, b)
		}
	})
}

// meaning decodes JSON with the text of its numbers, and reports whether its
// keys are unique and its text is UTF-8.
func meaning(t *testing.T, s string) (any, bool) {
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%q: %v", s, err)
	}
	n, _ := parse([]byte(s))
	return v, n.unique()
}

func (n *node) unique() bool {
	if n.kind == bytesText {
		return false
	}
	for i := range n.list {
		if i > 0 && n.kind == object && n.keys[i] == n.keys[i-1] || n.kind == object && strings.HasPrefix(n.keys[i], "\xff") || !n.list[i].unique() {
			return false
		}
	}
	return true
}

// FuzzNormalise holds that any text is taken, and that what was normalised stays
// as it is when it is normalised again.
func FuzzNormalise(f *testing.F) {
	for _, s := range []string{"2026-11-30T09:00:00Z", "Mon, 30 Nov 2026 09:00 GMT x", "7b3e1c8e-52a4-4c1a-9f3e-2f1f6a0c9d10", "call_abc12345", "/tmp/tmp.Xy12ab/", "0m0.3s 5 ms 12:00:00",
		"<redacted:k:1>", "Chunk ID: ab", "127.0.0.1:40000", "1796029200", "Nov 30 09:00", "é2026-11-30é", "Nov", "30 Nov", "11/30/2026, 9:00:00 AM"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n := normaliser{near: near{[]span{{now, now}}}}
		once := n.text(s, leeway{true, true})
		m := normaliser{near: near{[]span{{now, now}}}}
		if twice := m.text(once, leeway{true, true}); strings.Count(twice, "<date>") < strings.Count(once, "<date>") {
			t.Fatalf("%q became %q, then %q", s, once, twice)
		}
		if !strings.ContainsAny(s, "0123456789") && once != s && !strings.Contains(once, "<changes>") {
			t.Fatalf("%q became %q", s, once)
		}
	})
}

// A request with an image of 10 MB is compared by the hash of the image.
func TestLargeBody(t *testing.T) {
	image := strings.Repeat("iVBORw0KGgoAAAANSUhEUg", 10<<20/22)
	body := func(user, image string) string {
		return `{"user":"` + user + `","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,` + image + `"}},{"type":"text","text":"what is it?"}]}]}`
	}
	if got := tierOf(t, chatPath, body("a", image), body("b", image), MockOptions{}); got != "volatile" {
		t.Errorf("the same image: %q", got)
	}
	if got := tierOf(t, chatPath, body("a", image), body("a", image+"A"), MockOptions{}); got != "" {
		t.Errorf("another image: %q", got)
	}
}

func BenchmarkCanonise(b *testing.B) {
	var said []string
	for i := range 40 {
		said = append(said, "user", strings.Repeat("Look into the file /home/ann/code/main.go and tell what it does. ", 20)+fmt.Sprint(i), "assistant", strings.Repeat("It does this and that since 2026-03-14. ", 20))
	}
	image := chat("user", strings.Repeat("iVBORw0KGgoAAAANSUhEUg", 10<<20/22))
	for name, body := range map[string]string{"history": chat(said...), "image": image} {
		b.Run(name, func(b *testing.B) {
			u, err := url.Parse("https://api.openai.com" + chatPath)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				r := newRequest("POST", u)
				r.parse("application/json", []byte(body))
				r.canonise(&sides{near: near{[]span{{now, now}}}, paths: []string{"/home/ann/code"}, marks: []string{"<path 1>"}})
			}
		})
	}
}
