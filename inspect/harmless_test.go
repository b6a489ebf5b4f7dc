package inspect

import (
	"testing"
	"unicode"
	"unicode/utf8"
)

// harmless reports what in s a terminal must not get.
func harmless(t *testing.T, s string, lines bool) {
	t.Helper()
	if !utf8.ValidString(s) {
		t.Fatalf("invalid UTF-8 in %q", s)
	}
	for _, r := range s {
		if lines && r == '\n' {
			continue
		}
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == 0x2028 || r == 0x2029 {
			t.Fatalf("%U reaches the terminal in %q", r, s)
		}
	}
}
