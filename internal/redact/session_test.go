package redact

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"agentrec/store"
)

// pemLines is a made-up key of the form that ssh-keygen writes.
func pemLines() []string {
	body := strings.Repeat("b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAABlwAAAAdzc2", 4)
	lines := []string{"-----BEGIN OPENSSH PRIVATE KEY-----"}
	for chunk := range slices.Chunk([]byte(body), 70) {
		lines = append(lines, string(chunk))
	}
	return append(lines, "AQID+w==", "-----END OPENSSH PRIVATE KEY-----")
}

// A key that is printed line by line is in no single frame.
func TestKeyLineByLine(t *testing.T) {
	for name, form := range map[string]struct {
		stream store.Stream
		line   func(i int, line string) string
	}{
		"plain":    {store.Err, func(_ int, l string) string { return l }},
		"indented": {store.Out, func(_ int, l string) string { return "    " + l }},
		"logged":   {store.Err, func(i int, l string) string { return "12:00:0" + string(rune('0'+i%10)) + " debug " + l }},
		"json": {store.Out, func(_ int, l string) string {
			b, _ := json.Marshal(map[string]any{"type": "output", "text": l + "\n", "id": "0123456789abcdef0123456789abcdef0123456789abcdef"})
			return string(b)
		}},
		"json between others": {store.Out, func(i int, l string) string {
			b, _ := json.Marshal(map[string]any{"text": l, "n": i})
			return string(b)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := testRedactor(t).Session()
			again, check := testRedactor(t).Session(), testRedactor(t).Session()
			lines := pemLines()
			for i, l := range lines {
				if strings.HasPrefix(name, "json between") && i > 0 {
					other := []byte(`{"progress":"0123456789abcdef0123456789abcdef0123456789abcdef"}`)
					if got := s.Frame(form.stream, other); !bytes.Equal(got, other) {
						t.Errorf("another frame was taken for the key: %s", got)
					}
				}
				frame := []byte(form.line(i, l))
				got := s.Frame(form.stream, frame)
				if secret := i > 0 && i < len(lines)-1; secret == bytes.Contains(got, []byte(l)) {
					t.Errorf("line %d: %s", i, got)
				}
				if twice := again.Frame(form.stream, got); !bytes.Equal(twice, got) {
					t.Errorf("a second pass changes %s to %s", got, twice)
				}
				if hits := check.Find(form.stream, frame); (len(hits) == 1 && string(frame[hits[0].Start:hits[0].End]) == l) != (i > 0 && i < len(lines)-1) {
					t.Errorf("line %d: found %v", i, hits)
				}
			}
			after := []byte(form.line(0, "Q29udGVudCBvZiBub3RoaW5nIGF0IGFsbCwgYWZ0ZXIgdGhlIGVuZCBvZiBhIGtleS4h"))
			if got := s.Frame(form.stream, after); !bytes.Equal(got, after) {
				t.Errorf("behind the end: %s", got)
			}
		})
	}
}

// The beginning of a key in prose, or without lines behind it, takes nothing
// with it, and a key without an end not more than its lines.
func TestKeyWithoutLines(t *testing.T) {
	s := testRedactor(t).Session()
	keep := func(frames ...string) {
		t.Helper()
		for _, f := range frames {
			if got := s.Frame(store.Err, []byte(f)); string(got) != f {
				t.Errorf("%s became %s", f, got)
			}
		}
	}
	keep("looking for -----BEGIN PRIVATE KEY-----", "found", "nothing", "done", strings.Repeat("abcd", 20)+" in words", "ok", strings.Repeat("abcd", 20))
	lines := pemLines()
	for _, l := range lines[:3] {
		s.Frame(store.Err, []byte(l))
	}
	keep("error: broken pipe", "done", "the end")
	if got := s.Frame(store.Out, []byte(lines[1])); string(got) != lines[1] {
		t.Errorf("the other stream: %s", got)
	}
}

// A frame can hold the beginning and some of the key.
func TestKeyInPieces(t *testing.T) {
	s := testRedactor(t).Session()
	lines := pemLines()
	for i, piece := range []string{strings.Join(lines[:3], "\n") + "\n", strings.Join(lines[3:5], "\n") + "\n", strings.Join(lines[5:], "\n")} {
		frame, _ := json.Marshal(map[string]string{"delta": piece})
		got := s.Frame(store.Out, frame)
		for _, l := range lines[1 : len(lines)-1] {
			if bytes.Contains(got, []byte(l)) {
				t.Errorf("piece %d: %s", i, got)
			}
		}
	}
}
