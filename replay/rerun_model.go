package replay

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"agentrec/internal/dialect"
	"agentrec/internal/llm"
	"agentrec/internal/redact"
	"agentrec/internal/tape"
	"agentrec/store"
)

// Where a rerun's agent gets its model's answers from.
const (
	ModelMock = "mock" // the recording
	ModelLive = "live" // the real model
)

// standIn stands in the place of the agent's model, by the route that it was
// recorded by. A nil one is none.
type standIn struct {
	front   *llm.Front
	mock    *llm.Mock    // nil when live from the beginning
	capture *llm.Capture // nil when never live
	live    atomic.Bool  // requests go on to the real model
	running atomic.Int32 // requests
	handler [2]http.Handler
}

// startModel starts the model and returns the environment in which the agent
// finds it. The caller ends with close, before the tape ends.
func (r *rerun) startModel(ctx context.Context, t *tape.Tape, environ []string) (*standIn, []string, error) {
	live := r.o.Model == ModelLive
	var recorded []store.Exchange
	route, hosts, any := store.RouteBaseURL, []string(nil), false
	for x, err := range r.session.Exchanges(ctx) {
		if err != nil {
			return nil, nil, fmt.Errorf("reading the session's exchanges: %w", err)
		}
		route, any = x.Route, true
		if u, err := url.Parse(x.URL); err == nil && u.Hostname() != "" && !slices.Contains(hosts, u.Host) {
			hosts = append(hosts, u.Host)
		}
		if r.fork == nil || !live || x.After < r.fork.o.At {
			recorded = append(recorded, x)
		}
	}
	if !any && live {
		return nil, environ, nil // as it was recorded
	}
	m := &standIn{}
	m.live.Store(live && r.fork == nil)
	if !m.live.Load() {
		o, err := r.mockOptions()
		if err != nil {
			return nil, nil, err
		}
		m.mock = llm.NewMock(recorded, o)
		m.handler[0] = &llm.Witness{Tape: t, Route: route, Handler: m.mock}
	}
	if live {
		m.capture = llm.NewCapture(t, route)
		m.handler[1] = m.capture
	}
	dotEnv, err := os.ReadFile(filepath.Join(r.dir, ".env"))
	if err != nil {
		dotEnv = nil
	}
	m.front, err = llm.NewFront(llm.FrontOptions{Route: route, Handler: m, Hosts: hosts, Refuse: !live, DotEnv: dotEnv})
	if err != nil {
		return nil, nil, err
	}
	if !live {
		environ = stand(environ, recorded)
	}
	return m, m.front.Env(environ), nil
}

// mockOptions says how recorded answers are matched with live requests.
func (r *rerun) mockOptions() (llm.MockOptions, error) {
	o := llm.MockOptions{Started: r.session.Started, Pace: r.o.Pace}
	for _, b := range r.m.log.upTo(0, r.m.now.epoch) {
		o.Paths = append(o.Paths, llm.PathPair{Recorded: b.recorded, Live: b.live})
	}
	var err error
	if o.Ignore, err = dialect.ParsePaths(r.o.Ignore...); err != nil {
		return o, fmt.Errorf("reading --ignore: %w", err)
	}
	secrets, err := redact.New(redact.Options{Environ: os.Environ()})
	if err != nil {
		return o, err
	}
	o.Redact = secrets.Text
	return o, nil
}

// ServeHTTP answers a request of the agent.
func (m *standIn) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.running.Add(1)
	defer m.running.Add(-1)
	if m.live.Load() {
		m.handler[1].ServeHTTP(w, r)
		return
	}
	m.handler[0].ServeHTTP(w, r)
}

// thinks reports whether the real model is asked for something: then the agent
// is silent for a good reason.
func (m *standIn) thinks() bool { return m != nil && m.live.Load() && m.running.Load() > 0 }

// goLive lets later requests go on to the real model, if that was asked for.
func (m *standIn) goLive() {
	if m != nil && m.handler[1] != nil {
		m.live.Store(true)
	}
}

func (m *standIn) close() {
	if m == nil {
		return
	}
	m.front.Close()
	if m.mock != nil {
		m.mock.Close()
	}
	if m.capture != nil {
		m.capture.Close()
	}
}

// family is a kind of API: by which paths it is known, and by which variables
// its users find it.
type family struct {
	paths  []string // what follows its base URL
	bases  []string
	keys   []string // one of them is needed
	vendor string   // the host that its users ask when no variable is set
}

var families = []family{
	{[]string{"/chat/completions", "/responses", "/completions", "/embeddings"}, []string{"LLM_BASE_URL", "OPENAI_BASE_URL", "OPENAI_API_BASE"}, []string{"OPENAI_API_KEY", "LLM_API_KEY"}, "api.openai.com"},
	{[]string{"/v1/messages"}, []string{"ANTHROPIC_BASE_URL", "ANTHROPIC_API_BASE"}, []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"}, "api.anthropic.com"},
	{[]string{"/v1beta/models/"}, []string{"GOOGLE_GEMINI_BASE_URL", "GEMINI_API_BASE"}, []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"}, "generativelanguage.googleapis.com"},
	{[]string{"/api/chat", "/api/generate"}, []string{"OLLAMA_HOST"}, nil, "127.0.0.1:11434"},
}

// stand returns an environment that leads an agent to the upstreams of the
// recorded exchanges, whatever our own says, with keys that it may ask for:
// nothing goes there in a rerun, so no key need be real.
func stand(environ []string, recorded []store.Exchange) []string {
	out := slices.Clone(environ)
	for _, f := range families {
		base, found := "", false
		for i := range recorded {
			if base, found = f.base(recorded[i].URL); found {
				break
			}
		}
		if !found {
			continue
		}
		for _, name := range f.bases {
			out = slices.DeleteFunc(out, func(e string) bool { return strings.HasPrefix(e, name+"=") })
			// An agent that was recorded by its proxy was led to any other host by
			// a variable of its own.
			if u, err := url.Parse(base); recorded[0].Route == store.RouteBaseURL || err == nil && u.Host != f.vendor {
				out = append(out, name+"="+base)
			}
		}
		has := func(name string) bool {
			return slices.ContainsFunc(out, func(e string) bool { return strings.HasPrefix(e, name+"=") && len(e) > len(name)+1 })
		}
		if len(f.keys) > 0 && !slices.ContainsFunc(f.keys, has) {
			out = append(out, f.keys[0]+"=not-needed-in-a-rerun")
		}
	}
	return out
}

// base returns the base URL of an API that a request went to.
func (f family) base(address string) (string, bool) {
	u, err := url.Parse(address)
	if err != nil {
		return "", false
	}
	for _, path := range f.paths {
		if at := strings.LastIndex(u.Path, path); at >= 0 && (strings.HasSuffix(path, "/") || strings.HasSuffix(u.Path, path)) {
			return u.Scheme + "://" + u.Host + u.Path[:at], true
		}
	}
	return "", false
}
