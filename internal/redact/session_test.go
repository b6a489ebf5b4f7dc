package redact

import (
	"bytes"
	"encoding/json"
	"fmt"
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

// A text that comes in pieces holds a key of which no piece has much.
func TestKeyInDeltas(t *testing.T) {
	var lines []string
	for name, pieces := range map[string][]string{
		"with the header":   {"see -----BEGIN PRIVATE KEY-----\nMC4CAQ", "AwBQYDK2VwBCIEI", "\n", "/abcd", "Q", "\nx9+", "=\n-----END PRIVATE KEY-----\n"},
		"behind the header": {"-----BEGIN EC PRIVATE KEY-----\n", "MHcCAQEEI", "\n", "AbCdEfGh\n", "01", "\n-----END EC PRIVATE KEY-----"},
		"openssh":           {"-----BEGIN OPENSSH PRIVATE KEY-----", "\n", "b3BlbnNz", "aC1rZXktdjEA\n", "AAAA\n-----END"},
	} {
		s := testRedactor(t).Session()
		again, check := testRedactor(t).Session(), testRedactor(t).Session()
		lines = lines[:0]
		for _, p := range pieces {
			frame, _ := json.Marshal(map[string]string{"delta": p})
			other := []byte(`{"tick":"abcd"}`)
			if got := s.Frame(store.Out, other); !bytes.Equal(got, other) {
				t.Errorf("%s: another frame was taken for the key: %s", name, got)
			}
			got := s.Frame(store.Out, frame)
			lines = append(lines, string(got))
			if twice := again.Frame(store.Out, got); !bytes.Equal(twice, got) {
				t.Errorf("%s: a second pass changes %s to %s", name, got, twice)
			}
			// What Find tells is what Frame takes out.
			if found := len(check.Find(store.Out, frame)) > 0; found == bytes.Equal(got, frame) {
				t.Errorf("%s: found in %s: %v", name, frame, found)
			}
		}
		for _, secret := range []string{"MC4CAQ", "AwBQ", "abcd", "Q\"", "x9+", "MHcC", "AbCd", "\"01", "b3Bl", "aC1r", "AAAA"} {
			if all := strings.Join(lines, "\n"); strings.Contains(all, secret) {
				t.Errorf("%s: %s is left in\n%s", name, secret, all)
			}
		}
	}
	// Words behind such a line are words, and one line of them is the most that goes.
	for _, pieces := range [][]string{
		{"-----BEGIN PRIVATE KEY-----\nis the first line", " of", " it", "."},
		{"-----BEGIN PRIVATE KEY-----\n", "then", " comes", " the", " rest"},
		{"it begins with -----BEGIN PRIVATE KEY-----", " as", " you", " know"},
	} {
		s := testRedactor(t).Session()
		for _, p := range pieces {
			frame, _ := json.Marshal(map[string]string{"delta": p})
			if got := s.Frame(store.Out, frame); !bytes.Equal(got, frame) {
				t.Errorf("%s became %s", frame, got)
			}
		}
	}
}

// A session goes on where another one ended: in the middle of a key, and with what
// that one had learned.
func TestStateIsRestored(t *testing.T) {
	lines := pemLines()
	for at := range lines {
		s := testRedactor(t).Session()
		if at == 0 && s.State() != nil {
			t.Errorf("a new session knows %s", s.State())
		}
		whole := testRedactor(t).Session()
		want := make([]string, len(lines))
		for i, l := range lines {
			want[i] = string(whole.Frame(store.Err, []byte(l)))
		}
		for i, l := range lines[:at] {
			if got := string(s.Frame(store.Err, []byte(l))); got != want[i] {
				t.Fatalf("line %d: %s", i, got)
			}
		}
		next := testRedactor(t).Session()
		if state := s.State(); state != nil {
			if err := next.Restore(state); err != nil {
				t.Fatal(err)
			}
		}
		for i, l := range lines[at:] {
			if got := string(next.Frame(store.Err, []byte(l))); got != want[at+i] {
				t.Errorf("restored before line %d, line %d: %s, want %s", at, at+i, got, want[at+i])
			}
		}
	}

	s := testRedactor(t).Session()
	s.Frame(store.In, []byte(`{"api_key":"local/k3y-0001","token":"page7-cursor-0123456789"}`))
	next := testRedactor(t).Session()
	if err := next.Restore(s.State()); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{`{"e":"local/k3y-0001"}`, `{"e":"page7-cursor-0123456789"}`} {
		if a, b := s.Find(store.Out, []byte(text)), next.Find(store.Out, []byte(text)); len(a) != 1 || !slices.Equal(a, b) {
			t.Errorf("%s: %v, restored %v", text, a, b)
		}
	}
	if err := next.Restore([]byte("{")); err == nil {
		t.Error("restored from nothing")
	}
	for i := range mostLearned {
		s.Frame(store.In, fmt.Appendf(nil, `{"api_key":"%d%s"}`, i, strings.Repeat("k3y", longestLearned/4)))
	}
	if n := len(s.State()); n < mostTold || n > 2*mostTold {
		t.Errorf("%d bytes of state", n)
	}
}
