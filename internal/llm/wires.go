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

//go:embed wires.yaml
var wiresFile []byte

// wireTable is wires.yaml, which explains itself.
type wireTable struct {
	Wires      []wireRow `yaml:"wires"`
	Prefixes   []string  `yaml:"prefixes"`
	Labelled   []string  `yaml:"labelled"`
	Parameters []string  `yaml:"parameters"`

	ids, labels [256][]string // prefixes and labels by their first byte
}

type wireRow struct {
	Wire     string   `yaml:"wire"`
	Paths    []string `yaml:"paths"`
	Volatile []string `yaml:"volatile"`
	Messages string   `yaml:"messages"`
	System   []string `yaml:"system"`
	IDs      []string `yaml:"ids"`
	Again    bool     `yaml:"again"`
	Error    string   `yaml:"error"`

	volatile, ids dialect.Paths
}

// otherWire is what is not in the table.
var otherWire = &wireRow{}

// wires returns the table.
var wires = sync.OnceValue(func() *wireTable {
	t, err := readWires(wiresFile)
	if err != nil {
		panic(err) // a test reads the embedded file
	}
	return t
})

func readWires(file []byte) (*wireTable, error) {
	t := new(wireTable)
	if err := yaml.Unmarshal(file, t); err != nil {
		return nil, fmt.Errorf("reading wires.yaml: %w", err)
	}
	for i := range t.Wires {
		w := &t.Wires[i]
		var err error
		if w.volatile, err = dialect.ParsePaths(w.Volatile...); err != nil {
			return nil, fmt.Errorf("reading wires.yaml: %w", err)
		}
		if w.ids, err = dialect.ParsePaths(w.IDs...); err != nil {
			return nil, fmt.Errorf("reading wires.yaml: %w", err)
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

// target is what the URL of a request says.
type target struct {
	row   *wireRow
	path  string // of a known wire the end that names it, else the path
	model string // where the path names it
	query string
}

// targetOf reads a URL. The part of the path before the end that names the wire
// is dropped: programs are told a base URL with and without /v1.
func targetOf(u *url.URL) target {
	t := target{row: otherWire, path: u.Path}
search:
	for i := range wires().Wires {
		row := &wires().Wires[i]
		for _, pattern := range row.Paths {
			head, tail, named := strings.Cut(pattern, "{model}")
			if !named {
				if rest, ok := strings.CutSuffix(u.Path, pattern); ok && prefixed(rest) {
					t.row, t.path = row, pattern
					break search
				}
				continue
			}
			rest, ok := strings.CutSuffix(u.Path, tail)
			at := strings.LastIndex(rest, head)
			if !ok || at < 0 {
				continue
			}
			model := rest[at+len(head):]
			if model != "" && !strings.ContainsAny(model, "/:") && prefixed(rest[:at]) {
				t.row, t.path, t.model = row, pattern, model
				break search
			}
		}
	}
	if u.RawQuery == "" {
		return t
	}
	q := u.Query()
	for name := range q {
		if slices.Contains(wires().Parameters, strings.ToLower(name)) || strings.HasPrefix(strings.ToLower(name), "x-amz-") {
			q.Del(name)
		}
	}
	t.query = q.Encode()
	return t
}

// prefixed reports whether what stands before the end of a known path is that
// of a base URL; resources within resources, such as threads/ID/messages, are
// others.
func prefixed(rest string) bool {
	for segment := range strings.SplitSeq(rest, "/") {
		switch segment {
		case "threads", "files", "batches", "conversations", "assistants", "vector_stores", "fine_tuning":
			return false
		}
	}
	return true
}
