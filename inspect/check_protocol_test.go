package inspect

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"
)

// TestCheckProtocol: every session of testdata/protocol has the one fault that
// its file is named after, and check finds that and nothing else.
func TestCheckProtocol(t *testing.T) {
	files, err := filepath.Glob("testdata/protocol/*.agentrec")
	if err != nil || len(files) == 0 {
		t.Fatal("no sessions", err)
	}
	for _, file := range files {
		rule := "protocol/" + strings.TrimSuffix(filepath.Base(file), ".agentrec")
		var b bytes.Buffer
		err := check(context.Background(), checkOptions{Files: []string{file}, Level: LevelWarning, Format: formatJSON, Out: &b})
		var found Findings
		if !errors.As(err, &found) || found.Count != 1 {
			t.Errorf("%s: %v\n%s", file, err, b.String())
			continue
		}
		var rules []string
		for l := range strings.Lines(b.String()) {
			var f Finding
			if err := json.Unmarshal([]byte(l), &f); err != nil {
				t.Fatal(err)
			}
			if f.Level == LevelWarning || f.Level == LevelError {
				rules = append(rules, f.Rule)
			}
		}
		if len(rules) != 1 || rules[0] != rule {
			t.Errorf("%s: found %v", file, rules)
		}
	}
}
