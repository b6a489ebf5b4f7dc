package dialect

import (
	"encoding/json"
	"testing"
	"unicode/utf8"
)

func TestUnescape(t *testing.T) {
	for in, want := range map[string]string{
		`plain`: "plain", `a\nb\t\"\\\/`: "a\nb\t\"\\/", `\u00e9\u20ac`: "é€", `\ud83d\ude00`: "😀", `\ud83d`: "\xed\xa0\xbd", `\ude00\ud83d`: "\xed\xb8\x80\xed\xa0\xbd",
		`\ud83d\u0041`: "\xed\xa0\xbdA", `\u12`: `\u12`, `\`: `\`, `\x`: "x", "\xff\\n": "\xff\n", ``: "", `\b\f\r`: "\b\f\r",
	} {
		if got := string(Unescape([]byte(in))); got != want {
			t.Errorf("%s is %q, want %q", in, got, want)
		}
	}
}

// What a usual decoder reads without loss, Unescape reads alike.
func FuzzUnescape(f *testing.F) {
	for _, s := range []string{``, `a`, `\u0041`, `\ud83d\ude00`, `\\\"`, `\n\u0000`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		got := Unescape([]byte(in))
		var want string
		if literal := []byte(`"` + in + `"`); Valid(literal) && utf8.Valid(got) && json.Unmarshal(literal, &want) == nil && want != string(got) {
			t.Errorf("%q is %q, want %q", in, got, want)
		}
	})
}
