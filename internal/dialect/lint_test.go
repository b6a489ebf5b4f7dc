package dialect

import (
	"strings"
	"testing"
)

// TestLint: what a table says in vain is told.
func TestLint(t *testing.T) {
	for family, want := range map[string]string{
		`{name: a, when: {t: a}, role: notification, idle: true}`:                        "idle, which means something of a request",
		`{name: a, stream: out, when: {t: a}, role: response, id: i, turn: true}`:        "turn, which means something of a request or a notification",
		`{name: a, stream: out, when: {t: a}, role: request, id: i, split: list}`:        "split, which means something of a notification",
		`{name: a, stream: in, when: {t: a}, role: request, id: i, first: true}`:         "first, which means something of a response",
		`{name: a, when: {t: a}, role: response}`:                                        "answers nothing",
		`{name: a, when: {t: a}, role: request}`:                                         "nothing can answer",
		`{name: all}, {name: a, when: {t: a}}`:                                           "never reached",
		`{name: a, when: {t: a}, role: request, id: i, turn: true, idle: true}`:          "",
		`{name: a, stream: out, when: {t: a}, role: notification, turn: true, split: l}`: "",
		`{name: a, stream: in, when: {t: a}, role: response, id: i, first: true}`:        "",
	} {
		d, err := Parse("my.yaml", []byte("name: my\ntag: t\nfamilies: ["+family+"]\n"))
		if err != nil {
			t.Errorf("%s: %v", family, err)
			continue
		}
		warnings, _ := d.Lint()
		got := strings.Join(warnings, "; ")
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s\n got %s\nwant %s", family, got, want)
		}
	}
	for _, name := range Names() {
		if warnings, _ := builtinDialect(t, name).Lint(); len(warnings) > 0 {
			t.Errorf("%s: %v", name, warnings)
		}
	}
}
