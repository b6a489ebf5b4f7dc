package llm

import (
	"net/url"
	"slices"
	"testing"
)

func TestTargets(t *testing.T) {
	for path, want := range map[string]string{
		"/v1/chat/completions":                          "openai-chat /chat/completions",
		"/chat/completions":                             "openai-chat /chat/completions",
		"/api/v1/chat/completions":                      "openai-chat /chat/completions",
		"/openai/deployments/gpt/chat/completions":      "openai-chat /chat/completions gpt",
		"/v1/completions":                               "openai-chat /completions",
		"/v1/responses":                                 "openai-responses /responses",
		"/v1/responses/compact":                         "openai-responses /responses/compact",
		"/v1/responses/resp_1/cancel":                   "openai-responses /responses/resp_1/cancel",
		"/anthropic/v1/messages":                        "anthropic-messages /messages",
		"/v1/messages/count_tokens":                     "anthropic-messages /messages/count_tokens",
		"/v1beta/models/gemini-2.5-pro:generateContent": "gemini :generateContent gemini-2.5-pro",
		"/v1/projects/p/models/g:streamGenerateContent": "gemini :streamGenerateContent g",
		"/v1internal:streamGenerateContent":             "gemini :streamGenerateContent",
		"/api/chat":                                     "ollama /api/chat",
		"/api/embeddings":                               "ollama /api/embeddings",
		"/v1/embeddings":                                "embeddings /embeddings",
		"/v1/threads/thread_1/messages":                 " /v1/threads/thread_1/messages",
		"/v1/messages/batches":                          " /v1/messages/batches",
		"/":                                             " /",
		"":                                              " ",
		"/model/anthropic.claude/converse-stream":       " /model/anthropic.claude/converse-stream",
	} {
		r := targetOf("POST", &url.URL{Path: path})
		got := string(r.Wire) + " " + r.path
		if r.model != "" {
			got += " " + r.model
		}
		if got != want {
			t.Errorf("%q is %q, want %q", path, got, want)
		}
	}
	for path, want := range map[string]string{"/v1/models": "/models", "/models": "/models", "/v1/models/gpt-4o": "/models/gpt-4o"} {
		if r := targetOf("GET", &url.URL{Path: path}); r.Wire != WireModels || r.path != want || !r.Again {
			t.Errorf("%q is %q %q", path, r.Wire, r.path)
		}
	}
	for _, r := range rules().Rules {
		if !slices.Contains([]string{"openai", "anthropic", "gemini", "ollama"}, r.Error) {
			t.Errorf("%s: no error is shaped %q", r.Wire, r.Error)
		}
	}
	if _, err := readRules([]byte("rules: [{volatile: ['']}]")); err == nil {
		t.Error("an empty path was taken")
	}
}

// What a query says decides, but for secrets and marks.
func TestQuery(t *testing.T) {
	for query, want := range map[string]string{
		"alt=sse&key=secret": "alt=sse", "b=2&a=1": "a=1&b=2", "beta=true": "", "X-Amz-Date=1&api-version=2": "api-version=2", "": "",
	} {
		if got := targetOf("GET", &url.URL{Path: "/x", RawQuery: query}).query; got != want {
			t.Errorf("%q is %q, want %q", query, got, want)
		}
	}
}
