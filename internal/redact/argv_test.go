package redact

import (
	"slices"
	"strings"
	"testing"
)

func TestArgv(t *testing.T) {
	r := testRedactor(t)
	in := strings.Split("env|OPENAI_API_KEY=abc|GH_TOKEN=abcdef12345|MODE=fast|phi|serve|--api-key|hunter2|--api-key=hunter2|--token|abcdef12345"+
		"|--max-tokens|100|--password-stdin|--tokenizer=cl100k1234567|-H|Authorization: Bearer abcdef|-H|X-Api-Key:abc|-H|Accept: text/plain"+
		"|--url=https://u:pw1@h/|--config|{\"api_key\":\"abc\"}|--password|--verbose|--key|./key.pem|C:\\x|dotenv-8fj29dk2|--secret=", "|")
	want := strings.Split("env|OPENAI_API_KEY=«api_key»|GH_TOKEN=«token»|MODE=fast|phi|serve|--api-key|«api_key»|--api-key=«api_key»|--token|«token»"+
		"|--max-tokens|100|--password-stdin|--tokenizer=cl100k1234567|-H|Authorization: Bearer «authorization»|-H|X-Api-Key:«api_key»|-H|Accept: text/plain"+
		"|--url=https://u:«password»@h/|--config|{\"api_key\":\"«api_key»\"}|--password|--verbose|--key|./key.pem|C:\\x|«token»|--secret=", "|")
	before := slices.Clone(in)
	got := r.Argv(in)
	if !slices.Equal(in, before) {
		t.Error("argv was changed")
	}
	for i := range want {
		if s := show([]byte(got[i])); s != want[i] {
			t.Errorf("%s became %s, want %s", in[i], s, want[i])
		}
	}
	if again := r.Argv(got); !slices.Equal(again, got) {
		t.Errorf("a second pass changes it: %v", again)
	}
}

func TestHeaderAndQuery(t *testing.T) {
	r := testRedactor(t)
	for _, test := range [][3]string{
		{"Authorization", "Bearer abc", "Bearer «authorization»"}, {"x-api-key", "abc", "«api_key»"}, {"Cookie", "a=b; c=d", "«cookie»"},
		{"OpenAI-Organization", "org-1", "«account»"}, {"Content-Type", "text/plain", "text/plain"},
		{"X-Debug", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc", "«jwt»"}, {"anthropic-ratelimit-tokens-remaining", "1000", "1000"},
	} {
		if got := show([]byte(r.Header(test[0], test[1]))); got != test[2] {
			t.Errorf("%s: %s became %s", test[0], test[1], got)
		}
	}
	if got := show([]byte(r.Query("alt=sse&key=AIzaSyA1234567890abcdef&sig=1"))); got != "alt=sse&key=«token»&sig=1" {
		t.Error(got)
	}
}
