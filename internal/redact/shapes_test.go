package redact

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"agentrec/store"
)

// TestEveryShape makes a key of each shape, as short as may be: it is found in
// the middle of a sentence, and one byte shorter it is not.
func TestEveryShape(t *testing.T) {
	r, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	rnd := rand.New(rand.NewPCG(1, 1))
	for _, s := range shapes {
		var letters []byte
		for c := range 256 {
			if s.class[c] && alnum[byte(c)] {
				letters = append(letters, byte(c))
			}
		}
		body := func(n int) string {
			b := make([]byte, n)
			for i := range b {
				b[i] = letters[rnd.IntN(len(letters))]
			}
			b[0] = '7' // some want a digit
			return string(b)
		}
		key := s.prefix + body(s.min)
		short := s.prefix + body(s.min-1)
		switch s.kind {
		case "sendgrid":
			key += "." + body(16)
			short += "." + body(16)
		case "jwt":
			key += ".eyJ" + body(8)
			short += ".eyJ" + body(8)
		}
		frame := fmt.Sprintf(`{"t":"use %s, or"}`, key)
		got := string(r.Frame(store.Out, []byte(frame)))
		if !strings.HasPrefix(got, `{"t":"use <redacted:`) || !strings.HasSuffix(got, `>, or"}`) {
			t.Errorf("%s: %s became %s", s.kind, frame, got)
		}
		frame = fmt.Sprintf(`{"t":"use %s, or"}`, short)
		if got := string(r.Frame(store.Out, []byte(frame))); got != frame {
			t.Errorf("%s: %s, too short, became %s", s.kind, frame, got)
		}
	}
}
