package redact

import (
	"slices"
	"strings"
	"testing"

	"agentrec/store"
)

func TestDotEnv(t *testing.T) {
	for in, want := range map[string][]string{
		"A=b\nexport C = d # e\n# F=g\n\nH": {"A=b", "C=d"},
		`A="b c" # d` + "\nE='f'\nG=`h`":    {"A=b c", "E=f", "G=h"},
		"A=\"b\r\nc\"\r\nD=e\r\n":           {"A=b\nc", "D=e"},
		`A="b \"c\" \n\$d"`:                 {`A=b "c" ` + "\n$d", `A=b \"c\" ` + "\n" + `\$d`, `A=b \"c\" \n\$d`},
		`A='it\'s \n'` + "\nB=c":            {`A=it's \n`, `A=it\'s \n`, "B=c"},
		"A=\"open\nB=c":                     {"A=\"open", "B=c"},
		"A=":                                {"A="},
	} {
		got := dotEnv([]byte(in))
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	for _, long := range []string{"A=\"" + strings.Repeat(`\`, 1<<20), strings.Repeat("A=\"\n", 1<<12)} {
		dotEnv([]byte(long)) // ends
	}
}

// What a program makes of a value with escapes or several lines is a secret in
// each form, whole or line by line.
func TestSecretsOfSeveralLines(t *testing.T) {
	r, err := New(Options{
		Environ: []string{"MULTI_SECRET=line-1-aaaa\nline-2-bbbb\nshort"},
		DotEnv:  []byte(`C_TOKEN="dq \"esc\" value 9"` + "\n" + `N_TOKEN="a1\nb-newline-esc7"` + "\nG_TOKEN=\"multi1\nline-secret-zz9\"\n"),
	})
	if err != nil {
		t.Fatal(err)
	}
	for in, want := range map[string]string{
		`dq "esc" value 9`:                 "«token»",
		`{"t":"dq \"esc\" value 9"}`:       `{"t":"«token»"}`,
		`{"t":"a1\nb-newline-esc7"}`:       `{"t":"«token»"}`,
		`{"t":"multi1\nline-secret-zz9"}`:  `{"t":"«token»"}`,
		"line-secret-zz9":                  "«token»",
		`{"t":"line-1-aaaa\nline-2-bbbb"}`: "{\"t\":\"«secret»\\n«secret»\"}",
		"line-2-bbbb":                      "«secret»",
		"short":                            "short",
	} {
		if got := show(r.Frame(store.Out, []byte(in))); got != want {
			t.Errorf("%s became %s, want %s", in, got, want)
		}
	}
}
