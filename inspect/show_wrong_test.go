package inspect

import (
	"bytes"
	"strings"
	"testing"

	"agentrec/internal/transcript"
)

// What is not there is said, not shown as nothing.
func TestShowSaysWhatIsNotThere(t *testing.T) {
	path := record(t, "demo", phiSteps)
	f, err := transcript.ParseFilter("label = no_such_label")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		o    showOptions
		want string
	}{
		{showOptions{Seq: seqs{From: 99}}, "session 1 has no frame 99, it has 13 frames"},
		{showOptions{Seq: seqs{From: 14}, Raw: true}, "session 1 has no frame 14"},
		{showOptions{Seq: seqs{From: 1}, Conversation: "other"}, `session 1 has no conversation "other"; it has demo`},
		{showOptions{Seq: seqs{From: 1}, Filter: f}, "the filter chooses nothing"},
	} {
		var out bytes.Buffer
		c.o.File, c.o.Out = path, &out
		if err := show(t.Context(), c.o); err != nil {
			out.WriteString(err.Error())
		}
		if !strings.Contains(out.String(), c.want) {
			t.Errorf("%+v: %s", c.o, out.String())
		}
	}
}
