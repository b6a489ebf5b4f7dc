package llm

import (
	"bytes"
	"fmt"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"
	"testing"

	"agentrec/store"
)

func find(t *testing.T, m *Mock, x store.Exchange, body string) (found, *Miss) {
	t.Helper()
	return m.find(newLiveRequest(x.Method, m.matcher.entries[0].url, []byte(body), ""), reqWith(body))
}

// A miss names the nearest exchange, the first message that differs and what
// differs in it; what is the same after normalising is no difference.
func TestMissTellsTheDifference(t *testing.T) {
	one := exchange(1, chat("system", "Today is 2026-03-14.", "user", "add 1 and 2"), "3")
	two := exchange(2, chat("system", "Today is 2026-03-14.", "user", "add 1 and 2", "assistant", "3", "user", "and 4?"), "7")
	var told []Miss
	m := NewMock([]store.Exchange{one, two}, MockOptions{Missed: func(miss Miss) { told = append(told, miss) }})
	_, miss := find(t, m, one, chat("system", "Today is 2026-11-30.", "user", "add 1 and 2", "assistant", "3", "user", "and 5?"))
	if miss == nil || miss.Nearest != 2 || miss.First != 4 || miss.Role != "user" || len(miss.Differences) != 1 {
		t.Fatalf("%+v", miss)
	}
	if d := miss.Differences[0]; d.Path != "messages.3.content" || d.Recorded != `"and 4?"` || d.Live != `"and 5?"` {
		t.Errorf("%+v", d)
	}
	if miss.Ignore != "--ignore 'messages.3.content'" {
		t.Errorf("%q", miss.Ignore)
	}
	if len(told) != 1 || told[0].Message != miss.Message {
		t.Errorf("told %+v", told)
	}
	_, miss = find(t, m, one, `{"model":"gpt-5","messages":[{"role":"user","content":"x"}],"temperature":1}`)
	if miss == nil || miss.First != 1 || len(miss.Differences) < 3 {
		t.Errorf("%+v", miss)
	}
}

// Of exchanges that say the same to other models, none is nearer than one with the
// same model.
func TestNearestHasTheModel(t *testing.T) {
	other := exchange(1, `{"model":"small","messages":[{"role":"user","content":"one"}]}`, "title")
	same := exchange(2, `{"model":"large","messages":[{"role":"user","content":"two"}]}`, "answer")
	m := NewMock([]store.Exchange{other, same}, MockOptions{})
	if _, miss := find(t, m, same, `{"model":"large","messages":[{"role":"user","content":"one"}]}`); miss == nil || miss.Nearest != 2 || miss.First != 1 {
		t.Errorf("%+v", miss)
	}
}

// A changed message comes back in every later request; it is told once.
func TestMissIsToldOnce(t *testing.T) {
	var list []store.Exchange
	said := []string{"user", "start"}
	live := []string{"user", "stort"}
	for n := range int64(4) {
		list = append(list, exchange(n+1, chat(said...), fmt.Sprint("answer ", n)))
		said = append(said, "assistant", fmt.Sprint("answer ", n), "user", fmt.Sprint("step ", n))
	}
	m := NewMock(list, MockOptions{OnMiss: MissNearest})
	for n := range 4 {
		f, miss := find(t, m, list[0], chat(live...))
		if miss == nil || !miss.Served || f.x.Number != int64(n+1) {
			t.Fatalf("request %d: exchange %d, %+v", n+1, f.x.Number, miss)
		}
		if n == 0 && (miss.Follows != 0 || len(miss.Differences) != 1) || n > 0 && (miss.Follows != 1 || len(miss.Differences) != 0) {
			t.Errorf("request %d: %+v", n+1, miss)
		}
		live = append(live, "assistant", fmt.Sprint("answer ", n), "user", fmt.Sprint("step ", n))
	}
	if r := m.Report(); r.Served != 4 || len(r.Missed) != 4 || len(r.Unused) != 0 {
		t.Errorf("%+v", r)
	}
}

// A new change beside a told one is told.
func TestAnotherChangeIsTold(t *testing.T) {
	list := []store.Exchange{exchange(1, chat("user", "a"), "1"), exchange(2, chat("user", "a", "assistant", "1", "user", "b"), "2")}
	m := NewMock(list, MockOptions{OnMiss: MissNearest})
	find(t, m, list[0], chat("user", "x"))
	_, miss := find(t, m, list[0], chat("user", "x", "assistant", "1", "user", "y"))
	if miss == nil || miss.Follows != 0 || len(miss.Differences) != 2 {
		t.Errorf("%+v", miss)
	}
}

func TestMissHidesSecrets(t *testing.T) {
	x := exchange(1, chat("user", "a"), "1")
	hide := func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("sk-secret"), []byte("<redacted>")) }
	m := NewMock([]store.Exchange{x}, MockOptions{Redact: hide})
	_, miss := find(t, m, x, chat("user", "my key is sk-secret"))
	if miss == nil || len(miss.Differences) != 1 || miss.Differences[0].Live != `"my key is <redacted>"` {
		t.Errorf("%+v", miss)
	}
}

func TestManyDifferences(t *testing.T) {
	body := func(n int) string {
		var b strings.Builder
		for i := range 100 {
			fmt.Fprintf(&b, `,"k%d":%d`, i, i+n)
		}
		return `{"a":"` + strings.Repeat("x", 10000) + fmt.Sprint(n) + `"` + b.String() + "}"
	}
	x := exchange(1, body(0), "1")
	m := NewMock([]store.Exchange{x}, MockOptions{})
	_, miss := find(t, m, x, body(1))
	if miss == nil || len(miss.Differences) != maxDifferences || miss.More != 61 || miss.Ignore != "" {
		t.Fatalf("%d differences, %d more", len(miss.Differences), miss.More)
	}
	if d := miss.Differences[0]; len(d.Live) > maxValue+100 || !strings.Contains(d.Live, `x1"`) || !strings.Contains(d.Recorded, `x0"`) {
		t.Errorf("%d bytes: %s", len(d.Live), d.Live)
	}
}

// previous_response_id names an earlier answer: of equal requests it does not
// matter whose answer was got, of others it does.
func TestPreviousResponse(t *testing.T) {
	list := []store.Exchange{
		exchange(1, `{"input":"go"}`, `{"id":"resp_1"}`), exchange(2, `{"input":"go"}`, "event: response.created\ndata: {\"response\":{\"id\": \"resp_2\"}}\n\n"),
		exchange(3, `{"input":"x","previous_response_id":"resp_1"}`, "after x"), exchange(4, `{"input":"y","previous_response_id":"resp_2"}`, "after y"),
		exchange(5, `{"input":"other"}`, `{"id":"resp_5"}`),
	}
	for i := range list {
		list[i].URL = "https://api.openai.com/v1/responses"
	}
	m := NewMock(list, MockOptions{})
	if f, miss := find(t, m, list[0], `{"input":"y","previous_response_id":"resp_1"}`); miss != nil || f.x.Number != 4 || f.tier != Normalised {
		t.Errorf("%+v, %+v", f, miss)
	}
	if f, miss := find(t, m, list[0], `{"input":"x","previous_response_id":"resp_1"}`); miss != nil || f.x.Number != 3 || f.tier != Exact {
		t.Errorf("%+v, %+v", f, miss)
	}
	m = NewMock(list, MockOptions{})
	if _, miss := find(t, m, list[0], `{"input":"x","previous_response_id":"resp_5"}`); miss == nil {
		t.Error("the answer to another request was taken for the same")
	}
}

// The boundary of a multipart body is made up each time; its parts are the key.
func TestMultipart(t *testing.T) {
	form := func(text string) (string, string) {
		var b bytes.Buffer
		w := multipart.NewWriter(&b)
		w.WriteField("model", "whisper-1")
		f, err := w.CreateFormFile("file", "a.wav")
		if err != nil {
			t.Fatal(err)
		}
		f.Write([]byte(text))
		w.Close()
		return b.String(), w.FormDataContentType()
	}
	recorded, kind := form("sound\x00\xff")
	x := exchange(1, recorded, "text")
	x.URL, x.Header = "https://api.openai.com/v1/audio/transcriptions", []store.Field{{Name: "content-type", Value: kind}}
	_, addr := serveMock(t, MockOptions{}, x)
	for text, want := range map[string]int{"other": http.StatusBadRequest, "sound\x00\xff": http.StatusOK} {
		body, kind := form(text)
		resp, err := http.Post("http://"+addr+"/v1/audio/transcriptions", kind, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%q: %d", text, resp.StatusCode)
		}
	}
}

// Values that were once found in the place of a token are known wherever they
// come again.
func TestTokensBind(t *testing.T) {
	list := []store.Exchange{
		exchange(1, chat("user", "log in with <redacted:password:1>"), "1"),
		exchange(2, chat("user", "log in with <redacted:password:1>", "assistant", "<redacted:password:1>, 2026-03-14"), "2"),
	}
	m := NewMock(list, MockOptions{})
	if f, miss := find(t, m, list[0], chat("user", "log in with hunter22")); miss != nil || f.x.Number != 1 {
		t.Fatalf("%+v", miss)
	}
	if _, miss := find(t, m, list[0], chat("user", "log in with another1", "assistant", "another1, 2026-03-14")); miss == nil {
		t.Error("an equal token took another value")
	}
	if f, miss := find(t, m, list[0], chat("user", "log in with hunter22", "assistant", "hunter22, 2026-03-14")); miss != nil || f.x.Number != 2 {
		t.Errorf("%+v", miss)
	}
}

// Answers name live paths, whole paths only, and pieces keep their borders.
func TestAnswersNameLivePaths(t *testing.T) {
	x := exchange(1, "{}", `{"p":"/home/ann/code/a`, `.go","q":"{\"cwd\":\"/home/an`, `n/code\"}"`, `,"r":"/home/ann/codebook"}`)
	r := newRewriter([]PathPair{{"/home/ann/code", "/tmp/a \"b\""}})
	var got []string
	for _, p := range r.pieces(&x) {
		got = append(got, string(p.Bytes))
	}
	want := []string{`{"p":"/tmp/a \"b\"/a`, `.go","q":"{\"cwd\":\"/tmp/a \\\"b\\\"`, `\"}"`, `,"r":"/home/ann/codebook"}`}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	windows := newRewriter([]PathPair{{`C:\ann`, "/tmp/x"}})
	y := exchange(2, "{}", `C:\ann\a {"p":"C:\\ann","q":"{\"p\":\"C:\\\\ann\"}"}`)
	if got := string(windows.pieces(&y)[0].Bytes); got != `/tmp/x\a {"p":"/tmp/x","q":"{\"p\":\"/tmp/x\"}"}` {
		t.Errorf("%s", got)
	}
	same := newRewriter([]PathPair{{"/a", "/a"}, {"", "/b"}})
	if p := same.pieces(&x); &p[0] != &x.Pieces[0] {
		t.Error("copied although nothing changes")
	}
}

// A path that a stream spells bit by bit is replaced too; every event stays one,
// and in its piece.
func TestSpelledPaths(t *testing.T) {
	x := exchange(1, "{}",
		"data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"{\\\"path\\\":\\\"/ho\"}}]}}]}\n\n",
		"data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":1,\"function\":{\"arguments\":\"/home\"}}]}}]}\n\ndata: {\"choi",
		"ces\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"me/\\u0061nn\"}}]}}]}\n\n",
		"data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"/code/a.go\\\"}\"}}]}}]}\n\ndata: [DONE]\n\n")
	r := newRewriter([]PathPair{{"/home/ann/code", `/tmp/"x"`}})
	var got []string
	for _, p := range r.pieces(&x) {
		got = append(got, string(p.Bytes))
	}
	want := []string{
		"data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"{\\\"path\\\":\\\"/tmp/\\\\\\\"x\\\\\\\"\"}}]}}]}\n\n",
		string(x.Pieces[1].Bytes),
		"ces\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"\"}}]}}]}\n\n",
		"data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"/a.go\\\"}\"}}]}}]}\n\ndata: [DONE]\n\n",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s\nwant\n%s", strings.Join(got, "|"), strings.Join(want, "|"))
	}
}

// FuzzRewrite holds that what is not a path stays to the byte, however the answer
// is cut, and that JSON stays JSON.
func FuzzRewrite(f *testing.F) {
	f.Add(`data: {"text":"/a"}`+"\n"+`data: {"text":"/b c"}`, 3)
	f.Add("{\"delta\":\"\\ud83d\"}\n{\"delta\":\"/a/b\"}", 9)
	f.Add(`/a/b "/a/b" \"/a/b\"`, 2)
	r := newRewriter([]PathPair{{"/a/b", `/x "y"`}})
	f.Fuzz(func(t *testing.T, s string, cut int) {
		if cut < 0 || cut > len(s) {
			return
		}
		x := exchange(1, "{}", s[:cut], s[cut:])
		got := AnswerBody(store.Exchange{Pieces: r.pieces(&x)})
		if !strings.Contains(strings.ReplaceAll(string(got), `\`, ""), `/x "y"`) && string(got) != s {
			t.Fatalf("%q became %q", s, got)
		}
		if _, ok := parse([]byte(s)); ok {
			if _, ok := parse(got); !ok {
				t.Fatalf("%q became %q", s, got)
			}
		}
	})
}
