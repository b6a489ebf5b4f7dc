package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// samplePrograms runs the sample programs in a directory of their own.
type samplePrograms struct {
	t        *testing.T
	bin, dir string
}

func newSamplePrograms(t *testing.T) samplePrograms {
	s := samplePrograms{t, t.TempDir(), t.TempDir()}
	buildSamples(t, s.bin)
	return s
}

func (s samplePrograms) agent() string { return filepath.Join(s.bin, "sample-agent") }

// client lets the sample client hold its conversation with agent, and returns
// the bytes that it got.
func (s samplePrograms) client(flags []string, agent ...string) []byte {
	s.t.Helper()
	copied := filepath.Join(s.dir, "bytes")
	args := append(append([]string{"--copy", copied}, flags...), "--")
	s.run(filepath.Join(s.bin, "sample-client"), append(args, agent...)...)
	got, err := os.ReadFile(copied)
	if err != nil {
		s.t.Fatal(err)
	}
	return got
}

func (s samplePrograms) run(name string, args ...string) string {
	s.t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "AGENTREC_DB=", "AGENTREC_RECORD=")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		s.t.Fatalf("%s %q: %v\n%s%s", name, args, err, out, &stderr)
	}
	return string(out)
}

// TestSameBytesAgain records the sample conversation once and replays it 100
// times: the client gets the agent's bytes each time.
func TestSameBytesAgain(t *testing.T) {
	s := newSamplePrograms(t)
	want := s.client(nil, "agentrec", "proxy", "--db", "session.db", "--", s.agent())
	if direct := s.client(nil, s.agent()); !bytes.Equal(direct, want) {
		t.Errorf("through the proxy came\n%s\ndirectly\n%s", want, direct)
	}
	for i := range 100 {
		if got := s.client(nil, "agentrec", "replay", "session.db"); !bytes.Equal(got, want) {
			t.Fatalf("replay %d gave\n%s\nthe recording\n%s", i, got, want)
		}
	}
}

// TestRecordOnto holds that recording again changes only the lines whose
// content changed: the header, and nothing else for the same conversation.
func TestRecordOnto(t *testing.T) {
	s := newSamplePrograms(t)
	record := func(db string, flags ...string) {
		s.client(flags, "agentrec", "proxy", "--db", db, "--", s.agent())
	}
	record("old.db")
	old := s.run("agentrec", "export", "old.db", "-o", "old.agentrec")
	if old != "" {
		t.Errorf("export -o printed %q", old)
	}
	b, err := os.ReadFile(filepath.Join(s.dir, "old.agentrec"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(b), "\n")

	record("same.db")
	same := strings.Split(s.run("agentrec", "export", "same.db", "--onto", "old.agentrec"), "\n")
	if len(same) != len(lines) {
		t.Fatalf("%d lines, before %d", len(same), len(lines))
	}
	kept := map[string]bool{}
	for _, line := range lines {
		kept[line] = true
	}
	for _, line := range same[1:] {
		if !kept[line] {
			t.Errorf("a new line for the same conversation: %s", line)
		}
	}

	record("changed.db", "--result", "snow")
	changed := strings.Split(s.run("agentrec", "export", "changed.db", "--onto", "old.agentrec"), "\n")
	fresh := 0
	for _, line := range changed[1:] {
		if kept[line] {
			continue
		}
		fresh++
		about := func(word string) bool { return strings.Contains(line, word) }
		if !about("snow") && !about("textDelta") && !about(`["proof"`) {
			t.Errorf("a new line that has nothing to do with the change: %s", line)
		}
	}
	if fresh < 3 {
		t.Errorf("%d new lines for a changed result", fresh)
	}
}
