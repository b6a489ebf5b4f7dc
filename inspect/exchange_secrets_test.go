package inspect

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agentrec/internal/tape"
	"agentrec/store"
)

// answered is an exchange of a chat whose answer comes in these pieces.
func answered(body string, pieces ...string) store.Exchange {
	x := store.Exchange{
		Route: store.RouteBaseURL, Proto: "HTTP/1.1", Method: "POST", URL: "https://api.example/v1/chat/completions",
		Header: []store.Field{{Name: "Content-Length", Value: fmt.Sprint(len(body))}, {Name: "Content-Type", Value: "application/json"}},
		Body:   []byte(body), Status: 200, End: store.Done,
		Answer: []store.Field{{Name: "Date", Value: time.Now().Format(time.RFC3339Nano)}},
	}
	for i, p := range pieces {
		x.Pieces = append(x.Pieces, store.Piece{Time: time.Duration(i) * time.Millisecond, Bytes: []byte(p)})
	}
	return x
}

// exchanged makes a database with one closed session of one frame and these
// exchanges.
func exchanged(t *testing.T, list ...store.Exchange) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "session.db")
	db, err := store.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	w, err := db.Begin(t.Context(), store.Start{Name: "exchanged", Argv: []string{"agent"}})
	if err != nil {
		t.Fatal(err)
	}
	w.Frame(store.In, 0, []byte(`{"type":"hello"}`), store.LF)
	for _, x := range list {
		x.After, x.Time = w.Last(), time.Second
		w.Exchange(x)
	}
	if err := w.Close(t.Context(), store.End{State: store.Closed, Ended: time.Minute, Wire: [store.Streams]int64{-1, -1, -1}}); err != nil {
		t.Fatal(err)
	}
	return path
}

// exchangesOf reads the exchanges of the only session of a file, which must be
// whole.
func exchangesOf(t *testing.T, path string) []store.Exchange {
	t.Helper()
	db, err := tape.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	s, err := db.Find(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := store.Verify(t.Context(), s); err != nil || got.Verdict == store.Damaged {
		t.Fatalf("%v, %v", got, err)
	}
	var list []store.Exchange
	for x, err := range s.Exchanges(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, x)
	}
	return list
}

const saidKey = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD"

// leaky is a session with a secret in each place of its exchanges that can hold
// one.
func leaky(t *testing.T) string {
	x := answered(`{"messages":["my key is `+saidKey+`"]}`, "data: "+saidKey[:20], saidKey[20:]+"\n\n", "data: done\n\n")
	x.URL += "?api_key=plainvalue1234"
	x.Header = append(x.Header, store.Field{Name: "X-Api-Key", Value: "plainvalue5678"})
	x.Trailer = []store.Field{{Name: "Set-Cookie", Value: "a=plainvalue9012"}}
	x.Error = "see https://me:hunter2hunter2@h"
	return exchanged(t, answered(`{"messages":["nothing"]}`, "data: nothing\n\n"), x)
}

var leaks = []string{saidKey, saidKey[:20], saidKey[20:], "plainvalue", "hunter2"}

func TestCheckFindsSecretsInExchanges(t *testing.T) {
	var out bytes.Buffer
	err := check(t.Context(), checkOptions{Files: []string{leaky(t)}, Only: []string{"secrets"}, Level: LevelError, Out: &out})
	if err == nil {
		t.Error("it finds nothing")
	}
	for _, where := range []string{"URL", "request header X-Api-Key", "request", "answer", "trailer Set-Cookie", "error"} {
		if !strings.Contains(out.String(), "exchange 2: ") || !strings.Contains(out.String(), "in its "+where+",") {
			t.Errorf("nothing is said of the %s:\n%s", where, out.String())
		}
	}
	if strings.Contains(out.String(), "exchange 1") {
		t.Errorf("something is found where nothing is:\n%s", out.String())
	}
	for _, leak := range leaks {
		if strings.Contains(out.String(), leak) {
			t.Errorf("the finding shows %q:\n%s", leak, out.String())
		}
	}
}

func TestRedactTakesSecretsOutOfExchanges(t *testing.T) {
	path := leaky(t)
	text := filepath.Join(t.TempDir(), "run.agentrec")
	var out bytes.Buffer
	if err := export(t.Context(), exportOptions{File: path, NoRedact: true, Output: text, Out: &out, Err: &out}); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{path, text} {
		out.Reset()
		if err := redactFiles(t.Context(), redactOptions{Files: []string{file}, Out: &out}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), "secrets taken out of 1 exchange") {
			t.Errorf("it says %s", out.String())
		}
		all, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if wal, err := os.ReadFile(file + "-wal"); err == nil {
			all = append(all, wal...)
		}
		for _, leak := range leaks {
			if bytes.Contains(all, []byte(leak)) {
				t.Errorf("%s still holds %q", file, leak)
			}
		}
		list := exchangesOf(t, file)
		if x := list[1]; len(x.Pieces) != 3 || store.FieldOf(x.Header, "content-length") != fmt.Sprint(len(x.Body)) || string(x.Pieces[2].Bytes) != "data: done\n\n" {
			t.Errorf("the exchange has become %+v", x)
		}
		if string(list[0].Body) != `{"messages":["nothing"]}` {
			t.Errorf("the other exchange has become %+v", list[0])
		}
	}
}

// An export holds no secret, and its tokens are numbered: equal secrets have
// equal numbers in frames and exchanges.
func TestExportNumbersTokensInExchanges(t *testing.T) {
	var out, said bytes.Buffer
	if err := export(t.Context(), exportOptions{File: leaky(t), Out: &out, Err: &said}); err != nil {
		t.Fatal(err)
	}
	for _, leak := range leaks {
		if strings.Contains(out.String(), leak) {
			t.Errorf("the export holds %q", leak)
		}
	}
	if !strings.Contains(said.String(), "secrets were taken out of 1 exchange") {
		t.Errorf("it says %s", said.String())
	}
	if n := strings.Count(out.String(), "<redacted:openai:5>"); n != 2 {
		t.Errorf("the key has the same number in %d places, want 2:\n%s", n, out.String())
	}
	list := exchangesOf(t, save(t, out.String()))
	if x := list[1]; store.FieldOf(x.Header, "content-length") != fmt.Sprint(len(x.Body)) {
		t.Errorf("the content-length is %v, the body has %d bytes", x.Header, len(x.Body))
	}
	if again := exported(t, save(t, out.String()), ""); again != out.String() {
		t.Errorf("the export of the export differs:\n%s", strings.Join(differing(out.String(), again), "\n"))
	}
}

// Exchanges that say the same keep their lines; what says something else is new.
func TestOntoKeepsExchanges(t *testing.T) {
	a, b := answered(`{"q":1}`, "data: 1\n\n", "data: 2\n\n"), answered(`{"q":2}`, "data: 3\n\n")
	old := exported(t, exchanged(t, a, b), "")
	time.Sleep(time.Millisecond)
	same := answered(`{"q":1}`, "data: ", "1\n\ndata: 2\n\n") // other times, other pieces, another date
	other := answered(`{"q":2}`, "data: 4\n\n")
	laid := exported(t, exchanged(t, same, b, other), save(t, old))
	d := differing(old, laid)
	if len(d) != 2 || !strings.Contains(d[0], "data: 4") || !strings.Contains(d[1], `"proof"`) {
		t.Errorf("want the new exchange and the proof, got:\n%s", strings.Join(d, "\n"))
	}
	if got := exchangesOf(t, save(t, laid)); len(got) != 3 || len(got[0].Pieces) != 2 {
		t.Errorf("it holds %+v", got)
	}
}

// Binary data of a request goes, with the request's length.
func TestExportStripsBinaryOfExchanges(t *testing.T) {
	image := strings.Repeat("iVBORw0KGgoAAAANSUhEUgAAAAEAAAAB", 40)
	path := exchanged(t, answered(`{"messages":[{"content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,`+image+`"}}]}]}`, "ok"))
	var out bytes.Buffer
	if err := export(t.Context(), exportOptions{File: path, Strip: true, Out: &out, Err: &out}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), image) || !strings.Contains(out.String(), "image/png") {
		t.Errorf("the export is %.500s", out.String())
	}
	if x := exchangesOf(t, save(t, out.String()))[0]; store.FieldOf(x.Header, "content-length") != fmt.Sprint(len(x.Body)) {
		t.Errorf("the content-length is %v, the body has %d bytes", x.Header, len(x.Body))
	}
}

// Lists count exchanges and their bytes.
func TestListsCountExchanges(t *testing.T) {
	path := exchanged(t, answered(`{"q":1}`, "data: 1\n\n"), answered(`{"q":2}`, "data: 3\n\n"))
	var out bytes.Buffer
	if err := ls(t.Context(), lsOptions{File: path, JSON: true, Out: &out, Now: time.Now()}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), `"exchanges":2,"exchanged_bytes":32`) {
		t.Errorf("ls prints %s", out.String())
	}
	out.Reset()
	if err := ls(t.Context(), lsOptions{File: path, Out: &out, Now: time.Now()}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "llm") {
		t.Errorf("ls prints %s", out.String())
	}
	out.Reset()
	if err := prune(t.Context(), manageOptions{DB: path, Now: time.Now().Add(time.Hour), Out: &out, Err: &out}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "1 frame, 2 exchanges, 49 B") {
		t.Errorf("prune prints %s", out.String())
	}
	b, err := os.ReadFile(path)
	if err != nil || bytes.Contains(b, []byte("api.example")) {
		t.Error("bytes of a deleted exchange are left", err)
	}
}
