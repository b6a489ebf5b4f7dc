package replay

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"agentrec/internal/child"
	"agentrec/store"
)

// recordModel stores a session with chat requests and their answers, in turn.
func recordModel(t testing.TB, said ...string) string {
	return recordModelBy(t, store.RouteBaseURL, said...)
}

func recordModelBy(t testing.TB, route store.Route, said ...string) string {
	t.Helper()
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "session.db")
	db, err := store.Open(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	w, err := db.Begin(ctx, store.Start{Started: time.Unix(1700000000, 0), Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	at := time.Duration(0)
	for i := 0; i+1 < len(said); i += 2 {
		at += time.Second
		w.Exchange(store.Exchange{
			Number: int64(i/2 + 1), Time: at, Route: route, Proto: "HTTP/1.1", Method: "POST", URL: "http://127.0.0.1:9/v1/chat/completions",
			Body: []byte(said[i]), Status: 200, Answered: at, Answer: []store.Field{{Name: "Content-Type", Value: "application/json"}},
			Pieces: []store.Piece{{Time: at, Bytes: []byte(said[i+1])}}, End: store.Done, Ended: at,
		})
	}
	if err := w.Commit(ctx, nil); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(ctx, store.End{State: store.Closed, Ended: at, Wire: [store.Streams]int64{-1, -1, -1}}); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestModelClient is no test: as a command of its own it asks the model of its
// environment what its arguments say and leaves with the number of errors.
func TestModelClient(t *testing.T) {
	if os.Getenv("MODEL_CLIENT") == "" {
		return // this run is for the other tests
	}
	failed := 0
	for body := range strings.SplitSeq(os.Getenv("MODEL_CLIENT"), "\n") {
		resp, err := http.Post(os.Getenv("OPENAI_BASE_URL")+"/chat/completions", "application/json", strings.NewReader(body))
		if err != nil {
			os.Exit(100)
		}
		b, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != 200 {
			failed++
		}
		os.Stdout.Write(append(b, '\n'))
	}
	os.Exit(failed)
}

// TestElsewhereClient is no test: as a command of its own it asks a host that is no
// model's, and leaves with 0 when it is refused.
func TestElsewhereClient(t *testing.T) {
	if os.Getenv("ELSEWHERE_CLIENT") == "" {
		return // this run is for the other tests
	}
	for range 2 {
		if resp, err := http.Get("http://elsewhere.invalid/version"); err != nil || resp.StatusCode != http.StatusForbidden {
			os.Exit(1)
		}
	}
	os.Exit(0)
}

// A host that is refused is named: what the agent does without it may be otherwise.
func TestServeModelNamesRefusedHosts(t *testing.T) {
	t.Setenv("ELSEWHERE_CLIENT", "1")
	var human lockedBuffer
	report := filepath.Join(t.TempDir(), "report.json")
	o := ModelOptions{File: recordModelBy(t, store.RouteMITM, "{}", "one"), AllowUnsent: true, Report: report, Stderr: &human, Command: []string{os.Args[0], "-test.run=^TestElsewhereClient$"}}
	if err := ServeModel(context.Background(), o); err != nil {
		t.Errorf("%v\n%s", err, human.String())
	}
	const want = "elsewhere.invalid is no host of the recorded model and got 403, 2 times"
	if !strings.Contains(human.String(), "agentrec: refused: "+want) {
		t.Errorf("%s", human.String())
	}
	if b, err := os.ReadFile(report); err != nil || !strings.Contains(string(b), want) {
		t.Errorf("%s, %v", b, err)
	}
}

// A report is written also when nothing could be served.
func TestServeModelReportsThatItDidNot(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	report := filepath.Join(t.TempDir(), "report.json")
	o := ModelOptions{File: recordModel(t, "{}", "one"), Listen: taken.Addr().String(), Report: report, Stderr: io.Discard}
	if err := ServeModel(context.Background(), o); err == nil {
		t.Error("it served at an address that is taken")
	}
	if b, err := os.ReadFile(report); err != nil || !strings.Contains(string(b), `"verdict": "fail"`) {
		t.Errorf("%s, %v", b, err)
	}
}

// serveTo serves a recorded model to a client that sends the bodies.
func serveTo(t *testing.T, o ModelOptions, bodies ...string) (stdout, stderr string, err error) {
	t.Helper()
	t.Setenv("MODEL_CLIENT", strings.Join(bodies, "\n"))
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	var human lockedBuffer
	o.Command = []string{os.Args[0], "-test.run=^TestModelClient$"}
	o.Stdout, o.Stderr = out, &human
	err = ServeModel(context.Background(), o)
	b, readErr := os.ReadFile(out.Name())
	if readErr != nil {
		t.Fatal(readErr)
	}
	return string(b), human.String(), err
}

func TestServeModel(t *testing.T) {
	file := recordModel(t, `{"a":1}`, "one", `{"a":2}`, "two")
	out, human, err := serveTo(t, ModelOptions{File: file}, `{"a":2}`, `{ "a": 1 }`)
	if err != nil || out != "two\none\n" {
		t.Errorf("%q, %v\n%s", out, err, human)
	}
	if want := "agentrec: the model of session 1 passed: 2 of 2 exchanges served\n"; human != want {
		t.Errorf("%q, want %q", human, want)
	}
}

// A miss and an exchange left over fail, whatever the command's status; the
// report says both.
func TestServeModelFails(t *testing.T) {
	file := recordModel(t, `{"messages":[{"role":"user","content":"one"}]}`, "one", `{"messages":[{"role":"user","content":"two"}]}`, "two")
	report := filepath.Join(t.TempDir(), "report.json")
	_, human, err := serveTo(t, ModelOptions{File: file, Report: report}, `{"messages":[{"role":"user","content":"one"}]}`, `{"messages":[{"role":"user","content":"three"}]}`)
	var d Divergence
	if !errors.As(err, &d) || d.Count != 2 || errors.As(err, new(store.Exit)) {
		t.Fatalf("%v\n%s", err, human)
	}
	for _, want := range []string{"differs at message 1 (user)", "at messages.0.content", `recorded  "two"`, `live      "three"`, "nothing asked for exchange 2", "1 of 2 exchanges served"} {
		if !strings.Contains(human, want) {
			t.Errorf("no %q in\n%s", want, human)
		}
	}
	b, err := os.ReadFile(report)
	if err != nil {
		t.Fatal(err)
	}
	var r Report
	if err := json.Unmarshal(b, &r); err != nil {
		t.Fatal(err)
	}
	if r.Verdict != "fail" || r.State != "done" || len(r.Divergences) != 2 || r.Divergences[0].Kind != Refused || r.Divergences[0].Request != 2 ||
		r.Divergences[0].Exchange != 2 || r.Divergences[1].Kind != Unsent || r.Divergences[1].Exchange != 2 || !r.Divergences[1].Follows || r.In.Played != 1 {
		t.Errorf("%s", b)
	}
}

func TestServeModelAllows(t *testing.T) {
	file := recordModel(t, `{"a":1,"max_tokens":1}`, "one", `{"a":2}`, "two")
	ignore := ModelOptions{File: file, AllowUnsent: true, Ignore: []string{"max_tokens"}}
	if out, human, err := serveTo(t, ignore, `{"a":1,"max_tokens":2}`); err != nil || out != "one\n" {
		t.Errorf("%q, %v\n%s", out, err, human)
	}
	nearest := ModelOptions{File: file, AllowUnsent: true, OnMiss: "nearest"}
	out, human, err := serveTo(t, nearest, `{"a":3}`)
	if !errors.As(err, new(Divergence)) || out == "" || !strings.Contains(human, "it got that answer") {
		t.Errorf("%q, %v\n%s", out, err, human)
	}
}

// The command's own status is passed on when the model has nothing to say.
func TestServeModelStatus(t *testing.T) {
	file := recordModel(t, `{"a":1}`, "one")
	var human lockedBuffer
	run := func(argv ...string) error {
		return ServeModel(context.Background(), ModelOptions{File: file, AllowUnsent: true, Command: argv, Stderr: &human})
	}
	if runtime.GOOS != "windows" {
		var exit store.Exit
		if err := run("sh", "-c", "exit 7"); !errors.As(err, &exit) || exit.Code != 7 {
			t.Errorf("exit 7: %v", err)
		}
		if err := run("sh", "-c", "kill -KILL $$"); !errors.As(err, &exit) || exit.Signal != "KILL" {
			t.Errorf("KILL: %v", err)
		}
	}
	var failure child.Failure
	bad := ModelOptions{File: file, Report: filepath.Join(t.TempDir(), "r.json"), Command: []string{"no-such-program-here"}, Stderr: &human}
	if err := ServeModel(context.Background(), bad); !errors.As(err, &failure) || failure.Status != child.StatusNotFound {
		t.Errorf("not found, with a report: %v", err)
	}
	if err := run("no-such-program-here"); !errors.As(err, &failure) || failure.Status != child.StatusNotFound {
		t.Errorf("not found: %v", err)
	}
	empty := recordModel(t)
	err := ServeModel(context.Background(), ModelOptions{File: empty, Command: []string{"true"}, Stderr: &human})
	if !errors.Is(err, store.ErrUnusable) || !strings.Contains(err.Error(), "--llm") {
		t.Errorf("no exchanges: %v", err)
	}
}

// The report is kept up to date, for a process that is killed.
func TestServeModelReportsMeanwhile(t *testing.T) {
	file := recordModel(t, `{"a":1}`, "one", `{"a":2}`, "two")
	report := filepath.Join(t.TempDir(), "report.json")
	signals := make(chan os.Signal, 1)
	r, w := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- ServeModel(context.Background(), ModelOptions{File: file, Report: report, Stderr: w, Signals: signals})
		w.Close()
	}()
	line := make([]byte, 500)
	n, err := r.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	go io.Copy(io.Discard, r)
	_, rest, _ := strings.Cut(string(line[:n]), "the base URL is ")
	base, _, _ := strings.Cut(rest, " ")
	resp, err := http.Post(base+"/chat/completions", "application/json", strings.NewReader(`{"a":1}`))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	for {
		b, err := os.ReadFile(report)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(b), `"state": "running"`) && strings.Contains(string(b), `"played": 1`) {
			break // the test's own time limit is the judge
		}
		time.Sleep(10 * time.Millisecond)
	}
	signals <- syscall.SIGTERM
	if err := <-ended; !errors.As(err, new(Divergence)) {
		t.Error(err)
	}
}

// Alone it says where it listens, and a signal ends it with the verdict.
func TestServeModelAlone(t *testing.T) {
	file := recordModel(t, `{"a":1}`, "one")
	signals := make(chan os.Signal, 1)
	r, w := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := ServeModel(context.Background(), ModelOptions{File: file, Stderr: w, Signals: signals})
		w.Close()
		ended <- err
	}()
	line := make([]byte, 500)
	n, err := r.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	base, _, ok := strings.Cut(strings.TrimPrefix(string(line[:n]), "agentrec: the base URL is "), " for http://127.0.0.1:9/v1; it has 1 exchange of session 1; Ctrl-C ends it\n")
	if !ok || !strings.HasPrefix(base, "http://127.0.0.1:") || !strings.HasSuffix(base, "/v1") {
		t.Fatalf("%q", line[:n])
	}
	resp, err := http.Post(base+"/chat/completions", "application/json", strings.NewReader(`{"a":1}`))
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	if string(b) != "one" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
	signals <- syscall.SIGTERM
	rest, err := io.ReadAll(r)
	if err != nil || !strings.Contains(string(rest), "passed: 1 of 1") {
		t.Errorf("%q, %v", rest, err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
