package inspect

import (
	"testing"
	"time"
)

func TestSize(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 B", 999: "999 B", 1000: "1.0 kB", 1550: "1.6 kB", 9949: "9.9 kB", 9950: "10 kB", 999_499: "999 kB",
		999_500: "1.0 MB", 12_345_678: "12 MB", 1 << 40: "1.1 TB", 1<<63 - 1: "9223 PB",
	} {
		if got := size(n); got != want {
			t.Errorf("size(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestLasting(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0", 1: "<1µs", 850 * time.Microsecond: "850µs", 1500 * time.Microsecond: "1.5ms", 12 * time.Millisecond: "12ms",
		999 * time.Millisecond: "999ms", 1500 * time.Millisecond: "1.5s", 9960 * time.Millisecond: "9s", 59999 * time.Millisecond: "59s",
		125 * time.Second: "2m05s", 3*time.Hour + 7*time.Minute: "3h07m", 98 * time.Hour: "4d02h", -time.Second: "-1.0s",
	} {
		if got := lasting(d); got != want {
			t.Errorf("lasting(%v) = %q, want %q", d, got, want)
		}
	}
}

func TestClock(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0.000", 12345 * time.Millisecond: "12.345", 62003 * time.Millisecond: "1:02.003", time.Hour: "1:00:00.000", -1500 * time.Millisecond: "-1.500",
	} {
		if got := clock(d); got != want {
			t.Errorf("clock(%v) = %q, want %q", d, got, want)
		}
	}
}

func TestFit(t *testing.T) {
	for _, c := range []struct {
		s    string
		n    int
		want string
	}{
		{"abc", 5, "abc  "}, {"abcdef", 4, "abc…"}, {"日本語", 4, "日… "}, {"日本語", 6, "日本語"}, {"e\u0301e\u0301e\u0301", 2, "e\u0301…"}, {"ab", 0, ""}, {"", 2, "  "},
	} {
		if got := fit(c.s, c.n, true); got != c.want {
			t.Errorf("fit(%q, %d) = %q, want %q", c.s, c.n, got, c.want)
		}
		if w := width(fit(c.s, c.n, true)); w != c.n {
			t.Errorf("fit(%q, %d) is %d wide", c.s, c.n, w)
		}
	}
}

func TestFitMiddle(t *testing.T) {
	for _, c := range []struct {
		s    string
		n    int
		want string
	}{{"abcdefghij", 10, "abcdefghij"}, {"abcdefghij", 6, "ab…hij"}, {"日本語日本語", 7, "日本…語"}, {"abc", 1, "…"}} {
		if got := fitMiddle(c.s, c.n); got != c.want || width(got) > c.n {
			t.Errorf("fitMiddle(%q, %d) = %q, %d wide; want %q", c.s, c.n, got, width(got), c.want)
		}
	}
}

func TestTerminalOf(t *testing.T) {
	env := func(kv map[string]string) func(string) string { return func(k string) string { return kv[k] } }
	for _, c := range []struct {
		mode string
		env  map[string]string
		want bool
	}{
		{"", nil, false}, {ColorAuto, nil, false}, {ColorAlways, nil, true}, {ColorNever, nil, false},
		{ColorAlways, map[string]string{"NO_COLOR": "1", "TERM": "dumb"}, true},
	} {
		var sink nothing
		if got := terminalOf(sink, c.mode, env(c.env)); got.Color != c.want || got.TTY {
			t.Errorf("terminalOf(%q, %v) = %+v, want colour %v", c.mode, c.env, got, c.want)
		}
	}
}

type nothing struct{}

func (nothing) Write(b []byte) (int, error) { return len(b), nil }
