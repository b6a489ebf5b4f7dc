package replay

import (
	"slices"
	"strings"
	"testing"

	"agentrec/store"
)

// An agent in a rerun is led to where its requests went when they were
// recorded, whatever our own environment says, and has the keys it asks for.
func TestStand(t *testing.T) {
	at := func(route store.Route, urls ...string) []store.Exchange {
		var list []store.Exchange
		for _, u := range urls {
			list = append(list, store.Exchange{Route: route, URL: u})
		}
		return list
	}
	for name, c := range map[string]struct {
		environ  []string
		recorded []store.Exchange
		want     []string
	}{
		"no exchanges": {[]string{"A=1"}, nil, []string{"A=1"}},
		"openai": {[]string{"OPENAI_BASE_URL=http://mine/v1", "A=1"}, at(store.RouteBaseURL, "http://127.0.0.1:9/v1/models", "http://127.0.0.1:9/v1/chat/completions"),
			[]string{"A=1", "LLM_BASE_URL=http://127.0.0.1:9/v1", "OPENAI_BASE_URL=http://127.0.0.1:9/v1", "OPENAI_API_BASE=http://127.0.0.1:9/v1", "OPENAI_API_KEY=not-needed-in-a-rerun"}},
		"a key of another name": {[]string{"LLM_API_KEY=k"}, at(store.RouteBaseURL, "https://h/api/v1/responses"),
			[]string{"LLM_API_KEY=k", "LLM_BASE_URL=https://h/api/v1", "OPENAI_BASE_URL=https://h/api/v1", "OPENAI_API_BASE=https://h/api/v1"}},
		"anthropic": {nil, at(store.RouteBaseURL, "https://api.anthropic.com/v1/messages?beta=true"),
			[]string{"ANTHROPIC_BASE_URL=https://api.anthropic.com", "ANTHROPIC_API_BASE=https://api.anthropic.com", "ANTHROPIC_API_KEY=not-needed-in-a-rerun"}},
		"gemini": {[]string{"GOOGLE_API_KEY=g"}, at(store.RouteBaseURL, "https://g/v1beta/models/m:generateContent"),
			[]string{"GOOGLE_API_KEY=g", "GOOGLE_GEMINI_BASE_URL=https://g", "GEMINI_API_BASE=https://g"}},
		"by the proxy's way nothing is set but keys": {[]string{"OPENAI_BASE_URL=http://mine/v1"}, at(store.RouteMITM, "https://api.openai.com/v1/responses"),
			[]string{"OPENAI_API_KEY=not-needed-in-a-rerun"}},
		"by the proxy's way to a host of the agent's choice": {[]string{"OPENAI_BASE_URL=http://mine/v1"}, at(store.RouteMITM, "http://127.0.0.1:9/v1/responses"),
			[]string{"LLM_BASE_URL=http://127.0.0.1:9/v1", "OPENAI_BASE_URL=http://127.0.0.1:9/v1", "OPENAI_API_BASE=http://127.0.0.1:9/v1", "OPENAI_API_KEY=not-needed-in-a-rerun"}},
		"not a base": {nil, at(store.RouteBaseURL, "https://h/v1/chat/completions/x", ":"), nil},
	} {
		if got := stand(c.environ, c.recorded); !slices.Equal(got, c.want) {
			t.Errorf("%s:\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}
