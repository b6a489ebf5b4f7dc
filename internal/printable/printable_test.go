package printable

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestLine(t *testing.T) {
	for _, c := range []struct{ in, one, lines string }{
		{"plain text", "plain text", "plain text"},
		{"a\nb\tc\r", `a\nb\tc\r`, "a\nb    c\\r"},
		{"\x1b[31mred\x1b[0m", `\x1b[31mred\x1b[0m`, `\x1b[31mred\x1b[0m`},
		{"\x1b]52;c;aGk=\a", `\x1b]52;c;aGk=\x07`, `\x1b]52;c;aGk=\x07`},
		{"\u009b31m", `\u009b31m`, `\u009b31m`},
		{"\x9b31m", `\x9b31m`, `\x9b31m`},
		{"a\u202eb\u2066c", `a\u202eb\u2066c`, `a\u202eb\u2066c`},
		{"tag\U000e0041", `tag\U000e0041`, `tag\U000e0041`},
		{"\ufeffbom\u200b", `\ufeffbom\u200b`, `\ufeffbom\u200b`},
		{"\x7f\x00", `\x7f\x00`, `\x7f\x00`},
		{"\u2028", `\u2028`, `\u2028`},
		{"日本 é 👩‍💻 می\u200cخواهم", "日本 é 👩‍💻 می\u200cخواهم", "日本 é 👩‍💻 می\u200cخواهم"},
		{"\ufffd", "\ufffd", "\ufffd"}, // the real character, not a broken byte
		{"[red]x", "[red]x", "[red]x"},
	} {
		if got := Line(c.in); got != c.one {
			t.Errorf("Line(%q) = %q, want %q", c.in, got, c.one)
		}
		if got := Lines(c.in); got != c.lines {
			t.Errorf("Lines(%q) = %q, want %q", c.in, got, c.lines)
		}
	}
}

func TestCut(t *testing.T) {
	big := strings.Repeat("é", 1<<20)
	if got := Cut(big, 3); got != "ééé…" {
		t.Errorf("got %q", got)
	}
	if got := Cut("ab\x1b", 3); got != `ab\x1b` {
		t.Errorf("got %q", got)
	}
}

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

func FuzzLine(f *testing.F) {
	for _, s := range []string{"", "a", "\x1b]0;t\a", "\u009bm", "\xff\xfe", "\u202e", "[\"r\"]", "\U000e0001", "a\r\n\tb", "\xc2", "\xed\xa0\x80"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		one, many := Line(s), Lines(s)
		harmless(t, one, false)
		harmless(t, many, true)
		if Line(one) != one {
			t.Fatalf("not idempotent: %q", one)
		}
		if strings.Count(many, "\n") != strings.Count(s, "\n") {
			t.Fatalf("lines of %q became %q", s, many)
		}
		harmless(t, Cut(s, 5), false)
	})
}

func FuzzJSON(f *testing.F) {
	for _, s := range []string{"", "\x7f", "\u009b", "\u202e", "\U000e0041", "é", "\u2028"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		j, err := json.Marshal(map[string]string{"k": s})
		if err != nil {
			t.Fatal(err)
		}
		var want, got map[string]string
		if err := json.Unmarshal(j, &want); err != nil {
			t.Fatal(err)
		}
		safe := JSON(j)
		harmless(t, string(safe), false)
		if err := json.Unmarshal(safe, &got); err != nil || got["k"] != want["k"] {
			t.Fatalf("%q became %q (%v)", want["k"], got["k"], err)
		}
	})
}
