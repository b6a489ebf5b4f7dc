package redact

import "testing"

func TestReplaceIn(t *testing.T) {
	for _, test := range []struct {
		raw, text string
		from, to  int
		want      string
	}{
		{`{"a":"x","t":"abcdef"}`, "abcdef", 2, 4, `{"a":"x","t":"ab<>ef"}`},
		{`{"t":"\u0061\"\/b"}`, `a"/b`, 1, 3, `{"t":"\u0061<>b"}`},
		{`{"t":"abc","u":"abc"}`, "abc", 0, 3, `{"t":"<>","u":"abc"}`},
		{`{"t":"abc"}`, "abd", 0, 3, `{"t":"abc"}`},
		{`not "closed`, "closed", 0, 3, `not "closed`},
	} {
		if got := string(ReplaceIn([]byte(test.raw), test.text, test.from, test.to, "<>")); got != test.want {
			t.Errorf("%s: got %s, want %s", test.raw, got, test.want)
		}
	}
}
