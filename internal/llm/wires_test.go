package llm

import (
	"net/url"
	"slices"
	"testing"
)

func TestWires(t *testing.T) {
	for path, want := range map[string]string{
		"/v1/chat/completions":                          "openai-chat /chat/completions",
		"/chat/completions":                             "openai-chat /chat/completions",
		"/openai/deployments/gpt/chat/completions":      "openai-chat /chat/completions",
		"/v1/completions":                               "openai-chat /completions",
		"/v1/responses":                                 "openai-responses /responses",
		"/v1/responses/compact":                         "openai-responses /responses/compact",
		"/anthropic/v1/messages":                        "anthropic /messages",
		"/v1/messages/count_tokens":                     "anthropic /messages/count_tokens",
		"/v1beta/models/gemini-2.5-pro:generateContent": "gemini /models/{model}:generateContent gemini-2.5-pro",
		"/v1/projects/p/models/g:streamGenerateContent": "gemini /models/{model}:streamGenerateContent g",
		"/v1internal:streamGenerateContent":             "gemini /v1internal:streamGenerateContent",
		"/api/chat":                                     "ollama /api/chat",
		"/api/embeddings":                               "ollama /api/embeddings",
		"/v1/embeddings":                                "embeddings /embeddings",
		"/v1/models":                                    "models /models",
		"/v1/models/gpt-4o":                             "models /models/{model} gpt-4o",
		"/v1/threads/thread_1/messages":                 " /v1/threads/thread_1/messages",
		"/v1/messages/batches":                          " /v1/messages/batches",
		"/":                                             " /",
		"":                                              " ",
		"/model/anthropic.claude/converse-stream":       " /model/anthropic.claude/converse-stream",
	} {
		r := targetOf(&url.URL{Path: path})
		got := r.row.Wire + " " + r.path
		if r.model != "" {
			got += " " + r.model
		}
		if got != want {
			t.Errorf("%q is %q, want %q", path, got, want)
		}
	}
	for i := range wires().Wires {
		w := &wires().Wires[i]
		if !slices.Contains([]string{"openai", "anthropic", "gemini", "ollama"}, w.Error) {
			t.Errorf("%s: no error is shaped %q", w.Wire, w.Error)
		}
	}
	if _, err := readWires([]byte("wires: [{volatile: ['']}]")); err == nil {
		t.Error("an empty path was taken")
	}
}

// What a query says decides, but for secrets and marks.
func TestQuery(t *testing.T) {
	for query, want := range map[string]string{
		"alt=sse&key=secret": "alt=sse", "b=2&a=1": "a=1&b=2", "beta=true": "", "X-Amz-Date=1&api-version=2": "api-version=2", "": "",
	} {
		if got := targetOf(&url.URL{Path: "/x", RawQuery: query}).query; got != want {
			t.Errorf("%q is %q, want %q", query, got, want)
		}
	}
}
