package llm

import (
	_ "embed"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"

	"agentrec/internal/dialect"

	"go.yaml.in/yaml/v3"
)

//go:embed canonical.yaml
var rulesFile []byte

// ruleTable is canonical.yaml, which explains itself.
type ruleTable struct {
	Rules      []rule   `yaml:"rules"`
	Prefixes   []string `yaml:"prefixes"`
	Labelled   []string `yaml:"labelled"`
	Parameters []string `yaml:"parameters"`

	ids, labels [256][]string // prefixes and labels by their first byte
}

// rule says how the requests of one wire and operation are compared.
type rule struct {
	Wire      Wire     `yaml:"wire"`
	Operation string   `yaml:"operation"`
	Volatile  []string `yaml:"volatile"`
	Messages  string   `yaml:"messages"`
	Within    string   `yaml:"within"` // key of the object that may be around all else
	IDs       []string `yaml:"ids"`
	Again     bool     `yaml:"again"`
	Error     string   `yaml:"error"`

	volatile, ids dialect.Paths
}

// noRule is that of every other wire.
var noRule = &rule{}

// rules returns the table.
var rules = sync.OnceValue(func() *ruleTable {
	t, err := readRules(rulesFile)
	if err != nil {
		panic(err) // a test reads the embedded file
	}
	return t
})

func readRules(file []byte) (*ruleTable, error) {
	t := new(ruleTable)
	if err := yaml.Unmarshal(file, t); err != nil {
		return nil, fmt.Errorf("reading canonical.yaml: %w", err)
	}
	for i := range t.Rules {
		r := &t.Rules[i]
		var err error
		if r.volatile, err = dialect.ParsePaths(r.Volatile...); err != nil {
			return nil, fmt.Errorf("reading canonical.yaml: %w", err)
		}
		if r.ids, err = dialect.ParsePaths(r.IDs...); err != nil {
			return nil, fmt.Errorf("reading canonical.yaml: %w", err)
		}
	}
	for _, p := range t.Prefixes {
		t.ids[p[0]] = append(t.ids[p[0]], p)
	}
	for _, p := range t.Labelled {
		t.labels[p[0]] = append(t.labels[p[0]], p)
	}
	return t, nil
}

// of returns the rule of a wire's operation.
func (t *ruleTable) of(wire Wire, operation string) *rule {
	for i := range t.Rules {
		if r := &t.Rules[i]; r.Wire == wire && r.Operation == operation {
			return r
		}
	}
	return noRule
}

// target is what the URL of a request asks for.
type target struct {
	*rule
	path  string // of a known wire without what belongs to the base URL
	model string // where the path names it
	query string // without secrets and marks
}

// targetOf reads a URL. Programs are told a base URL with and without /v1, so of
// a known wire that part of the path does not count, nor does a model in it.
func targetOf(method string, u *url.URL) target {
	t := target{rule: noRule, path: u.Path}
	if wire, operation, model := wireOf(method, u); wire != WireNone {
		if path, ok := resource(u.Path); ok {
			t.rule, t.path, t.model = rules().of(wire, operation), path, model
		}
	}
	if t.rule.Wire == WireGemini {
		_, verb, _ := strings.Cut(t.path, ":")
		t.path = ":" + verb
	}
	if u.RawQuery == "" {
		return t
	}
	q := u.Query()
	for name := range q {
		if slices.Contains(rules().Parameters, strings.ToLower(name)) || strings.HasPrefix(strings.ToLower(name), "x-amz-") {
			q.Del(name)
		}
	}
	t.query = q.Encode()
	return t
}

// resource returns a path from the first segment on that names what is asked
// for. Not ok are resources within others, such as threads/ID/messages.
func resource(path string) (string, bool) {
	for at := 0; ; {
		segment, _, more := strings.Cut(path[at:], "/")
		name, _, _ := strings.Cut(segment, ":")
		switch name {
		case "chat", "completions", "responses", "messages", "models", "embeddings", "v1internal":
			return "/" + path[at:], true
		case "api":
			if rest := path[at+len(segment):]; !strings.HasPrefix(rest, "/v") {
				return "/" + path[at:], true
			}
		case "threads", "files", "batches", "conversations", "assistants", "vector_stores", "fine_tuning":
			return "", false
		}
		if !more {
			return "", false
		}
		at += len(segment) + 1
	}
}
