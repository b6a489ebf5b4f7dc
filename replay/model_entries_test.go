package replay

import (
	"strings"
	"testing"

	"agentrec/internal/llm"
)

// Misses and exchanges left over are divergences, in that order; all else that a
// mocked model noticed is a note.
func TestModelEntries(t *testing.T) {
	seen := llm.MockReport{
		Recorded: 5, Served: 4, Requests: 7, Repeated: 1, Inversions: 2, Left: []int64{3},
		Inexact: []llm.Inexact{{Request: 2, Exchange: 2, Tier: llm.Normalised}},
		Missed: []llm.Miss{
			{Request: 3, Nearest: 4, Message: "not there", Ignore: "--ignore 'a'", Differences: []llm.Difference{{Path: "a", Recorded: "1", Live: "2"}}},
			{Request: 4, Nearest: 5, Message: "not there either", Follows: 3, Served: true},
		},
		Unused: []llm.Unused{{Exchange: 5, Name: "POST /x"}},
	}
	diverged, notes := modelEntries(&seen, false)
	if len(diverged) != 3 || diverged[0].Kind != Refused || diverged[0].Follows || diverged[0].Differences[0].Path != "a" || diverged[0].Accept == "" ||
		diverged[1].Kind != Different || !diverged[1].Follows || !strings.Contains(diverged[1].Message, "told of request 3") ||
		diverged[2].Kind != Unsent || diverged[2].Exchange != 5 || !diverged[2].Follows {
		t.Errorf("%+v", diverged)
	}
	kinds := ""
	for _, n := range notes {
		kinds += n.Kind + ","
	}
	if kinds != "inexact,early,again,ended," {
		t.Errorf("%+v", notes)
	}
	diverged, notes = modelEntries(&seen, true)
	if len(diverged) != 2 || notes[0].Kind != Unsent {
		t.Errorf("%+v, %+v", diverged, notes)
	}
}
