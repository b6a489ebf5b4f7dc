//go:build unix

package record_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"agentrec/store"
)

// asking returns a command that runs the fake agent behind the proxy with its
// model at url.
func asking(t *testing.T, db, mode, url string, flags ...string) *exec.Cmd {
	t.Helper()
	cmd := proxied(t, db, mode, url)
	cmd.Args = slices.Insert(cmd.Args, 2, append([]string{"--llm", "base-url"}, flags...)...)
	cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+url+"/v1")
	return cmd
}

func exchanges(t *testing.T, db string) (*store.Session, []store.Exchange) {
	t.Helper()
	s := only(t, db)
	var list []store.Exchange
	for x, err := range s.Exchanges(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, x)
	}
	return s, list
}

func joined(x store.Exchange) string {
	var b []byte
	for _, p := range x.Pieces {
		b = append(b, p.Bytes...)
	}
	return string(b)
}

// endless is a model that sends a piece each time something comes on next, and
// tells on gone that its client has left.
func endless(t *testing.T) (url string, next chan string, gone chan bool) {
	next, gone = make(chan string), make(chan bool, 10)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		for {
			select {
			case piece := <-next:
				if piece == "" {
					return
				}
				io.WriteString(w, piece+"\n")
				w.(http.Flusher).Flush()
			case <-r.Context().Done():
				gone <- true
				return
			}
		}
	}))
	t.Cleanup(s.Close)
	return s.URL, next, gone
}

// TestModelKill kills the recorder in the middle of an answer: what the agent
// has read is there, and the model is told at once.
func TestModelKill(t *testing.T) {
	url, next, gone := endless(t)
	db := filepath.Join(t.TempDir(), "session.db")
	cmd := asking(t, db, "ask", url)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	want := ""
	for i := range 10 {
		piece := fmt.Sprintf("piece %d", i)
		next <- piece
		if line, err := lines.ReadString('\n'); line != piece+"\n" {
			t.Fatalf("the agent read %q, %v", line, err)
		}
		want += piece + "\n"
	}
	cmd.Process.Kill()
	<-gone
	cmd.Wait()
	s, list := exchanges(t, db)
	if len(list) != 1 || list[0].End != store.CutShort || joined(list[0]) != want || len(list[0].Pieces) != 10 || string(list[0].Body) != "question" {
		t.Errorf("stored: %+v", list)
	}
	if s.State != store.Cut {
		t.Errorf("the session is %s", s.State)
	}
	leftOvers(t, db)
}

// TestModelEnds looks at how the last exchange of a session ends, and that the
// recorder leaves as the agent does.
func TestModelEnds(t *testing.T) {
	for _, c := range []struct {
		name, mode string
		status     int
		end        store.ExchangeEnd
		pieces     int
	}{
		{"whole", "ask", 0, store.Done, 1},
		{"the agent leaves", "ask-leave", 7, store.Cancelled, 1},
		{"a child of the agent goes on", "ask-child", 0, store.CutShort, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			url, next, gone := endless(t)
			db := filepath.Join(t.TempDir(), "session.db")
			cmd := asking(t, db, c.mode, url)
			var out, told bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &told
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			next <- "first"
			if c.end == store.Done {
				next <- ""
			}
			cmd.Wait()
			if c.end != store.Done {
				<-gone
			}
			if cmd.ProcessState.ExitCode() != c.status || !strings.HasPrefix(out.String(), "first\n") || told.Len() > 0 {
				t.Errorf("status %d, stdout %q, stderr %q", cmd.ProcessState.ExitCode(), &out, &told)
			}
			_, list := exchanges(t, db)
			if len(list) != 1 || list[0].End != c.end || len(list[0].Pieces) != c.pieces || list[0].Route != store.RouteBaseURL {
				t.Errorf("stored: %+v", list)
			}
		})
	}
}

// TestModelHint is about an agent that does not come by.
func TestModelHint(t *testing.T) {
	for route, hint := range map[string]string{"base-url": "--llm mitm", "mitm": "--llm-host"} {
		cmd := proxied(t, filepath.Join(t.TempDir(), "session.db"), "exit", "3")
		cmd.Args = slices.Insert(cmd.Args, 2, "--llm", route)
		b, _ := cmd.CombinedOutput()
		if text := string(b); cmd.ProcessState.ExitCode() != 3 || strings.Count(text, "\n") != 1 || !strings.Contains(text, hint) {
			t.Errorf("%s: status %d, %s", route, cmd.ProcessState.ExitCode(), text)
		}
	}
}

// TestModelMITM records an agent that only knows a proxy, and one whose model is
// nowhere.
func TestModelMITM(t *testing.T) {
	url, next, _ := endless(t)
	go func() { next <- "hello"; next <- "" }()
	db := filepath.Join(t.TempDir(), "session.db")
	cmd := proxied(t, db, "ask-proxy", url)
	cmd.Args = slices.Insert(cmd.Args, 2, "--llm", "mitm", "--llm-host", strings.TrimPrefix(url, "http://"))
	if out, err := cmd.Output(); err != nil || string(out) != "hello\n" {
		t.Fatalf("%q, %v", out, err)
	}
	if _, list := exchanges(t, db); len(list) != 1 || list[0].Route != store.RouteMITM || list[0].URL != url+"/v1/chat/completions" || list[0].End != store.Done {
		t.Errorf("stored: %+v", list)
	}
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "agentrec-ca-*")); len(left) > 0 && os.Getenv("TMPDIR") != "" {
		t.Errorf("left over: %v", left)
	}
}

// TestRecordLLM records without an agent, until it is interrupted.
func TestRecordLLM(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		url, next, gone := endless(t)
		db := filepath.Join(t.TempDir(), "session.db")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, agentrec(t), "llm", "record", "--db", db, "--upstream", url+"/v1", "--name", "alone")
		errs, err := cmd.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewReader(errs)
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		_, base, _ := strings.Cut(line, "the base URL is ")
		base = strings.TrimSpace(base)
		if !strings.HasPrefix(base, "http://127.0.0.1:") || !strings.HasSuffix(base, "/v1") || len(base) < 60 {
			t.Fatalf("stderr: %s", line)
		}
		go func() { next <- "hello"; next <- "" }()
		if got, err := ask(base); got != "hello\n" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
		second := make(chan string, 1)
		go func() {
			got, err := ask(base)
			second <- fmt.Sprint(got, err != nil)
		}()
		next <- "still"
		if err := cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		<-gone
		if got := <-second; got != "still\ntrue" {
			t.Errorf("the request that ran at the end got %s", got)
		}
		if rest, _ := io.ReadAll(lines); len(rest) > 0 {
			t.Errorf("stderr: %s", rest)
		}
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
		s, list := exchanges(t, db)
		if s.Name != "alone" || s.State != store.Closed || len(list) != 2 || list[0].Route != store.RouteDirect || list[0].End != store.Done || list[1].End != store.CutShort {
			t.Errorf("stored: %s %+v", s.State, list)
		}
	}
}
