package replay

import (
	"fmt"
	"strings"
	"testing"

	"agentrec/internal/transcript"
)

// A divergence is one workflow command on one line, whatever the recording, the
// client or the file's name holds.
func TestAnnotations(t *testing.T) {
	hostile := "a\n::set-output name=x::y\r\n100%,b:c"
	r := &Report{Verdict: "fail", File: "dir,a:b%/s\n.db", Divergences: []Entry{{
		Kind: Different, Live: 2, Message: hostile,
		Differences: []transcript.Difference{{Path: "query", Recorded: `"50%"`, Live: hostile}},
	}}}
	want := `::error file=dir%2Ca%3Ab%25/s\n.db,title=replay%3A different::agentrec: different: live frame 2: a\n::set-output name=x::y\r\n100%25,b:c` +
		`%0A  at query%0A    recorded  "50%25"%0A    live      a\n::set-output name=x::y\r\n100%25,b:c` + "\n"
	if got := annotations(r); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}

	r.Divergences = nil
	for i := range maxAnnotations + 3 {
		r.Divergences = append(r.Divergences, Entry{Kind: Unsent, Message: fmt.Sprint(i)})
	}
	if got := annotations(r); strings.Count(got, "::error ") != maxAnnotations || strings.Count(got, "\n") != maxAnnotations {
		t.Errorf("not %d annotations, a line each:\n%s", maxAnnotations, got)
	}
	r.Verdict = "pass"
	if got := annotations(r); got != "" {
		t.Errorf("annotations of a replay that passed: %q", got)
	}
}
