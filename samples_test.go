package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestSameBytesAgain records the sample conversation once and replays it 100
// times: the client gets the agent's bytes each time.
func TestSameBytesAgain(t *testing.T) {
	bin, dir := t.TempDir(), t.TempDir()
	buildSamples(t, bin)
	hold := func(agent ...string) []byte {
		t.Helper()
		args := append([]string{"--copy", filepath.Join(dir, "bytes"), "--"}, agent...)
		cmd := exec.Command(filepath.Join(bin, "sample-client"), args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "AGENTREC_DB=", "AGENTREC_RECORD=")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		got, err := os.ReadFile(filepath.Join(dir, "bytes"))
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	want := hold("agentrec", "proxy", "--db", "session.db", "--", filepath.Join(bin, "sample-agent"))
	direct := hold(filepath.Join(bin, "sample-agent"))
	if !bytes.Equal(direct, want) {
		t.Errorf("through the proxy came\n%s\ndirectly\n%s", want, direct)
	}
	for i := range 100 {
		if got := hold("agentrec", "replay", "session.db"); !bytes.Equal(got, want) {
			t.Fatalf("replay %d gave\n%s\nthe recording\n%s", i, got, want)
		}
	}
}
