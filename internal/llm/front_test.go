package llm

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"agentrec/store"
)

// seen writes what a Handler was asked.
func seen(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(err)
	}
	fmt.Fprintf(w, "%s %s host=%s body=%s key=%s %s", r.Method, r.URL, r.Host, body, r.Header.Get("X-Api-Key"), r.Header.Get("Proxy-Authorization"))
}

func newFront(t testing.TB, o FrontOptions) *Front {
	t.Helper()
	if o.Handler == nil {
		o.Handler = http.HandlerFunc(seen)
	}
	f, err := NewFront(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f
}

// client is one of its own, that leaves nothing open.
func client(t testing.TB, transport *http.Transport) *http.Client {
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// say sends a request and returns the status and body of its answer.
func say(t *testing.T, c *http.Client, r *http.Request) (int, string) {
	t.Helper()
	answer, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(b)
}

func post(t *testing.T, url, body string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "POST", url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Api-Key", "k")
	return r
}

// TestFrontFindsUpstream follows requests by the base URLs that programs are
// given, in both ways in which programs read them.
func TestFrontFindsUpstream(t *testing.T) {
	f := newFront(t, FrontOptions{Route: store.RouteBaseURL})
	c := client(t, &http.Transport{})
	env := f.Env([]string{"OPENAI_API_BASE=http://localhost:8080/a%2Fb/v1", "OLLAMA_HOST=[::1]", "GEMINI_API_BASE=http://gateway.internal/x"})
	for _, c2 := range []struct{ variable, ask, want string }{
		{"ANTHROPIC_BASE_URL", "/v1/messages?beta=true", "https://api.anthropic.com/v1/messages?beta=true"},
		{"ANTHROPIC_BASE_URL", "/messages", "https://api.anthropic.com/v1/messages"},
		{"ANTHROPIC_BASE_URL", "/api/hello", "https://api.anthropic.com/api/hello"},
		{"ANTHROPIC_HOST", "v1/messages", "https://api.anthropic.com/v1/messages"},
		{"LLM_BASE_URL", "/chat/completions", "http://localhost:8080/a%2Fb/v1/chat/completions"},
		{"OPENAI_BASE_URL", "/responses", "http://localhost:8080/a%2Fb/v1/responses"},
		{"OPENAI_HOST", "v1/chat/completions", "https://api.openai.com/v1/chat/completions"},
		{"OPENAI_HOST", "chat/completions", "https://api.openai.com/v1/chat/completions"},
		{"OPENROUTER_API_BASE", "/chat/completions", "https://openrouter.ai/api/v1/chat/completions"},
		{"OPENROUTER_API_BASE", "/v1/models", "https://openrouter.ai/api/v1/models"},
		{"GOOGLE_GEMINI_BASE_URL", "/v1beta/models/m:streamGenerateContent?alt=sse", "https://generativelanguage.googleapis.com/v1beta/models/m:streamGenerateContent?alt=sse"},
		{"GEMINI_API_BASE", "/models/m:generateContent", "http://gateway.internal/x/models/m:generateContent"},
		{"OLLAMA_HOST", "/api/chat", "http://[::1]:11434/api/chat"},
		{"OLLAMA_HOST", "//v1/%2e%2e/a%20b?", "http://[::1]:11434//v1/%2e%2e/a%20b?"},
	} {
		base := lookup(env, c2.variable)
		status, got := say(t, c, post(t, base+c2.ask, "hi"))
		u, err := url.Parse(c2.want)
		if err != nil {
			t.Fatal(err)
		}
		if want := "POST " + c2.want + " host=" + u.Host + " body=hi key=k "; status != 200 || got != want {
			t.Errorf("%s=%s and %s:\n got %d %s\nwant %s", c2.variable, base, c2.ask, status, got, want)
		}
	}
	if n := f.Requests(); n != 14 {
		t.Errorf("%d requests counted", n)
	}
}

func TestFrontRefuses(t *testing.T) {
	f := newFront(t, FrontOptions{Route: store.RouteBaseURL})
	c := client(t, &http.Transport{})
	base := "http://" + f.Addr()
	for _, c2 := range []struct {
		name, url, host, upgrade string
		status                   int
	}{
		{"no run", base + "/v1/messages", "", "", 404},
		{"another run", base + "/r/" + strings.Repeat("0", 32) + "/api.openai.com/v1", "", "", 404},
		{"part of the run", base + f.prefix[:20] + "/api.openai.com/v1", "", "", 404},
		{"no upstream", base + f.prefix + "/", "", "", 404},
		{"no host in the upstream", base + f.prefix + "/http//x", "", "", 404},
		{"a user in the upstream", base + f.prefix + "/a@b/x", "", "", 404},
		{"a name that resolves to us", base + f.prefix + "/api.openai.com/v1", "evil.example", "", 403},
		{"localhost", base + f.prefix + "/api.openai.com/v1", "localhost:80", "", 200},
		{"websocket", base + f.prefix + "/api.openai.com/v1/responses", "", "websocket", 426},
		{"h2c", base + f.prefix + "/api.openai.com/v1/responses", "", "h2c", 200},
	} {
		t.Run(c2.name, func(t *testing.T) {
			r := post(t, c2.url, "")
			r.Host = c2.host
			if c2.upgrade != "" {
				r.Header.Set("Upgrade", c2.upgrade)
				r.Header.Set("Connection", "keep-alive, Upgrade")
			}
			if status, got := say(t, c, r); status != c2.status {
				t.Errorf("status %d: %s", status, got)
			}
		})
	}
}

func TestFrontDirect(t *testing.T) {
	upstream, err := url.Parse("https://gateway.internal/llm/v1/")
	if err != nil {
		t.Fatal(err)
	}
	c := client(t, &http.Transport{})
	guessed := newFront(t, FrontOptions{Route: store.RouteDirect, Upstream: upstream})
	named := newFront(t, FrontOptions{Route: store.RouteDirect, Upstream: upstream, Listen: "127.0.0.1:0"})
	if base := named.BaseURL(upstream); base != "http://"+named.Addr()+"/llm/v1" {
		t.Errorf("the base URL at a chosen address is %s", base)
	}
	for _, f := range []*Front{guessed, named} {
		if _, got := say(t, c, post(t, f.BaseURL(upstream)+"/models", "x")); got != "POST https://gateway.internal/llm/v1/models host=gateway.internal body=x key=k " {
			t.Error(got)
		}
	}
	if status, _ := say(t, c, post(t, "http://"+guessed.Addr()+"/llm/v1/models", "x")); status != 404 {
		t.Errorf("without the path that cannot be guessed: status %d", status)
	}
}

func TestEnvBaseURL(t *testing.T) {
	f := newFront(t, FrontOptions{Route: store.RouteBaseURL, DotEnv: []byte("# mine\nexport LLM_BASE_URL = 'http://127.0.0.1:9/v1' # local\nOPENROUTER_API_BASE=https://or.example/v1 # x\nHALF\n")})
	here := "http://" + f.Addr() + f.prefix
	env := f.Env([]string{"PATH=/bin", "LLM_BASE_URL=", "OPENAI_BASE_URL=https://u:p@gw.example/v1", "OPENAI_BASE_URL=https://u:p@gw.example/v2"})
	for name, want := range map[string]string{
		"PATH":                   "/bin",
		"LLM_BASE_URL":           here + "/127.0.0.1:9/v1",
		"OPENAI_BASE_URL":        strings.Replace(here, "//", "//u:p@", 1) + "/gw.example/v2",
		"OPENAI_API_BASE":        strings.Replace(here, "//", "//u:p@", 1) + "/gw.example/v2",
		"OPENROUTER_API_BASE":    here + "/or.example/v1",
		"ANTHROPIC_BASE_URL":     here + "/api.anthropic.com",
		"ANTHROPIC_HOST":         here + "/api.anthropic.com/",
		"GOOGLE_GEMINI_BASE_URL": here + "/generativelanguage.googleapis.com",
		"OLLAMA_HOST":            here + "/127.0.0.1:11434",
	} {
		if got := lookup(env, name); got != want {
			t.Errorf("%s=%s, want %s", name, got, want)
		}
	}
	if n := len(slices.DeleteFunc(slices.Clone(env), func(e string) bool { return !strings.HasPrefix(e, "OPENAI_BASE_URL=") })); n != 1 {
		t.Errorf("OPENAI_BASE_URL is set %d times", n)
	}
	for environ, want := range map[string]string{
		"": "", "HTTPS_PROXY=http://p": "", "HTTP_PROXY=http://p": "127.0.0.1", "all_proxy=http://p no_proxy=a.example,.b": "a.example,.b,127.0.0.1",
		"http_proxy=http://p NO_PROXY=*": "*",
	} {
		if got := lookup(f.Env(strings.Fields(environ)), "NO_PROXY"); got != want {
			t.Errorf("%s: NO_PROXY=%s, want %s", environ, got, want)
		}
	}
	env = f.Env([]string{"AZURE_OPENAI_ENDPOINT=https://x.openai.azure.com"})
	if slices.ContainsFunc(env, func(e string) bool { return strings.HasPrefix(e, "OPENAI_BASE_URL=") }) {
		t.Error("OPENAI_BASE_URL is set beside an endpoint of Azure")
	}
	if lookup(env, "ANTHROPIC_BASE_URL") == "" {
		t.Error("Azure's endpoint keeps the other variables from being set")
	}
}

func TestOllamaURL(t *testing.T) {
	for value, want := range map[string]string{
		"example.com": "http://example.com:11434", "0.0.0.0": "http://127.0.0.1:11434", ":8080": "http://127.0.0.1:8080",
		"[::1]": "http://[::1]:11434", "h:1/p": "http://h:1/p", "https://h": "https://h",
	} {
		if got := ollamaURL(value); got != want {
			t.Errorf("%s: %s, want %s", value, got, want)
		}
	}
}

// TestShutdownWaits ends a Front while a request runs.
func TestShutdownWaits(t *testing.T) {
	inside, goOn := make(chan bool), make(chan bool)
	f := newFront(t, FrontOptions{Route: store.RouteBaseURL, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		inside <- true
		select {
		case <-goOn:
			io.WriteString(w, "finished")
		case <-r.Context().Done():
			inside <- false
			panic(http.ErrAbortHandler)
		}
	})})
	upstream, _ := url.Parse("http://127.0.0.1:1")
	ask := func(got chan string) {
		c := client(t, &http.Transport{})
		answer, err := c.Get(f.BaseURL(upstream))
		if err != nil {
			got <- "cut"
			return
		}
		b, _ := io.ReadAll(answer.Body)
		answer.Body.Close()
		got <- string(b)
	}
	first, second := make(chan string, 1), make(chan string, 1)
	go ask(first)
	<-inside
	go ask(second)
	<-inside
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan bool)
	go func() { f.Shutdown(ctx); close(ended) }()
	goOn <- true
	if got := <-first; got != "finished" {
		t.Errorf("the request that ended in time got %q", got)
	}
	cancel()
	if <-inside {
		t.Error("another request was let in")
	}
	if got := <-second; got != "cut" {
		t.Errorf("the request that did not end in time got %q", got)
	}
	<-ended
}
