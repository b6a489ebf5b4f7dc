package inspect

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/rivo/uniseg"
)

// size formats a number of bytes for people in at most six characters: "0 B",
// "999 B", "1.5 kB", "12 MB". Units are powers of 1000.
func size(n int64) string {
	if n < 1000 {
		return strconv.FormatInt(n, 10) + " B"
	}
	v, unit := float64(n), 0
	for v >= 999.5 && unit < 5 {
		v /= 1000
		unit++
	}
	name := []string{"B", "kB", "MB", "GB", "TB", "PB"}[unit]
	if v < 9.95 {
		return fmt.Sprintf("%.1f %s", v, name)
	}
	return fmt.Sprintf("%.0f %s", v, name)
}

// lasting formats a duration for people in at most six characters: "0", "850µs",
// "12ms", "1.5s", "2m05s", "3h07m", "4d02h".
func lasting(d time.Duration) string {
	switch {
	case d < 0:
		return "-" + lasting(-d)
	case d == 0:
		return "0"
	case d < time.Microsecond:
		return "<1µs"
	case d < time.Millisecond:
		return strconv.FormatInt(d.Microseconds(), 10) + "µs"
	case d < time.Second:
		if d < 10*time.Millisecond {
			return fmt.Sprintf("%.1fms", d.Seconds()*1000)
		}
		return strconv.FormatInt(d.Milliseconds(), 10) + "ms"
	case d < time.Minute:
		if d < 9950*time.Millisecond {
			return fmt.Sprintf("%.1fs", d.Seconds())
		}
		return fmt.Sprintf("%.0fs", d.Truncate(time.Second).Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dd%02dh", int(d.Hours())/24, int(d.Hours())%24)
}

// clock formats a time since a session's start to the millisecond, of equal
// width for the whole of an ordinary session: "0.000", "12.345", "1:02.003",
// "1:00:00.000".
func clock(d time.Duration) string {
	sign := ""
	if d < 0 {
		sign, d = "-", -d
	}
	ms := d.Milliseconds()
	s, ms := ms/1000, ms%1000
	switch {
	case s < 60:
		return fmt.Sprintf("%s%d.%03d", sign, s, ms)
	case s < 3600:
		return fmt.Sprintf("%s%d:%02d.%03d", sign, s/60, s%60, ms)
	}
	return fmt.Sprintf("%s%d:%02d:%02d.%03d", sign, s/3600, s/60%60, s%60, ms)
}

// when formats the start of a session in the zone of now: the time of day for
// today, the date and time else.
func when(t, now time.Time) string {
	if t.IsZero() {
		return "-"
	}
	t = t.In(now.Location())
	if t.Year() == now.Year() && t.YearDay() == now.YearDay() {
		return t.Format("15:04:05")
	}
	return t.Format("2006-01-02 15:04")
}

// width is how many columns s takes on a terminal.
func width(s string) int { return uniseg.StringWidth(s) }

// fit cuts s to n columns, with an ellipsis when it was longer, and fills it
// with blanks to exactly n when pad is set.
func fit(s string, n int, pad bool) string {
	w := width(s)
	if w <= n {
		if pad {
			return s + strings.Repeat(" ", n-w)
		}
		return s
	}
	if n <= 0 {
		return ""
	}
	var b strings.Builder
	used, state, rest := 0, -1, s
	for rest != "" {
		var cluster string
		var cw int
		cluster, rest, cw, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if used+cw > n-1 {
			break
		}
		b.WriteString(cluster)
		used += cw
	}
	b.WriteString("…")
	if pad {
		b.WriteString(strings.Repeat(" ", n-1-used))
	}
	return b.String()
}

// fitMiddle cuts s to n columns in its middle: what an error is about stands at
// its beginning, why at its end.
func fitMiddle(s string, n int) string {
	if width(s) <= n {
		return s
	}
	tail := []rune(s)
	for width(string(tail)) > n/2 {
		tail = tail[1:]
	}
	return fit(s, n-width(string(tail)), false) + string(tail)
}

// count writes a number with its noun: "1 frame", "2 frames".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
