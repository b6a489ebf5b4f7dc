package replay

import (
	"strings"
	"testing"
)

// Law 3: nothing inexact is silent. Whatever frame of whatever sample a client
// leaves out, changes or sends once more, something is said of it.
func TestLawThree(t *testing.T) {
	deeds := map[string]func(frame string) string{
		"left out": func(string) string { return "" },
		"with a key more": func(frame string) string {
			return `{"agentrec_test":1,` + strings.TrimPrefix(frame, "{")
		},
		"with a value of another type": func(frame string) string {
			if i := strings.LastIndexAny(frame, "}"); strings.HasSuffix(frame[:i], `"`) {
				at := strings.LastIndex(frame[:i-1], `"`)
				return frame[:at] + "7" + frame[i:]
			}
			return `{"agentrec_test":1,` + strings.TrimPrefix(frame, "{")
		},
		"sent twice": func(frame string) string { return frame + "\n" + frame },
	}
	for _, sample := range []string{"phi", "pi", "acp"} {
		name, lines := sampleLines(t, "../samples/"+sample+".agentrec")
		var frames []string
		for _, line := range lines {
			if frame, ok := strings.CutPrefix(line, "in "); ok {
				frames = append(frames, frame)
			}
		}
		if m := misbehave(t, name, lines, append([]string(nil), frames...)); len(m.v.diverge) > 0 {
			t.Fatalf("%s: as it was recorded: %s", sample, m.v.diverge[0].Message)
		}
		for what, deed := range deeds {
			for n := range frames {
				sent := append([]string(nil), frames...)
				sent[n] = deed(frames[n])
				if m := misbehave(t, name, lines, sent); len(m.v.diverge) == 0 {
					t.Errorf("%s, frame %d of the client %s: nothing is said\n%s", sample, n+1, what, sent[n])
				}
			}
		}
	}
}
