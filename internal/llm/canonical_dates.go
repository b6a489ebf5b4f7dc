package llm

import (
	"strconv"
	"strings"
	"time"
)

// near knows what "now" was when a request was made. Only dates close to it are
// those of a run; others are what the text is about. The zero value takes every
// date for one of a run.
type near struct{ spans []span }

// span is the time that a session took, or one moment.
type span struct{ from, to time.Time }

// around is how far from now a date may be: a run that goes on, in any time zone.
const around = 36 * time.Hour

func (n near) is(t time.Time) bool {
	for _, s := range n.spans {
		if t.Sub(s.from) >= -around && t.Sub(s.to) <= around {
			return true
		}
	}
	return len(n.spans) == 0
}

// day reports whether a day is near; a day is as near as its nearest hour.
func (n near) day(year, month, day int) bool {
	if month < 1 || month > 12 || day < 1 || day > 31 {
		return false
	}
	start := time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC)
	return n.is(start) || n.is(start.Add(24*time.Hour-time.Nanosecond))
}

// epoch reports whether the digits are a near moment in seconds, milliseconds,
// microseconds or nanoseconds since 1970.
func (n near) epoch(s string) bool {
	whole, _, _ := strings.Cut(s, ".")
	unit := time.Duration(0)
	switch len(whole) {
	case 10:
		unit = time.Second
	case 13:
		unit = time.Millisecond
	case 16:
		unit = time.Microsecond
	case 19:
		unit = time.Nanosecond
	default:
		return false
	}
	v, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || whole[0] != '1' && whole[0] != '2' {
		return false
	}
	return n.is(time.Unix(0, v*int64(unit)))
}

// digits looks for a near date that begins with digits at i: 2026-11-30,
// 2026/11/30, 30.11.2026, 11/30/2026, 30 Nov 2026, with a time of day perhaps. It
// returns its end, 0 when there is none.
func (n near) digits(s string, i int, times bool) int {
	end := digitsAt(s, i, 1, 4)
	if end == 0 || end+1 >= len(s) {
		return 0
	}
	a, _ := strconv.Atoi(s[i:end])
	if sep := s[end]; sep == '-' || sep == '/' || sep == '.' {
		mid := digitsAt(s, end+1, 1, 2)
		if mid == 0 || mid+1 >= len(s) || s[mid] != sep {
			return 0
		}
		last := digitsAt(s, mid+1, 1, 4)
		if last == 0 {
			return 0
		}
		b, _ := strconv.Atoi(s[end+1 : mid])
		c, _ := strconv.Atoi(s[mid+1 : last])
		switch {
		case end-i == 4 && last-mid <= 3:
			if !n.day(a, b, c) {
				return 0
			}
		case end-i <= 2 && last-mid == 5:
			if !n.day(c, b, a) && !(sep == '/' && n.day(c, a, b)) {
				return 0
			}
		default:
			return 0
		}
		return timeAfter(s, last)
	}
	if s[end] != ' ' && s[end] != '-' {
		return 0
	}
	month, to := monthAt(s, end+1)
	if month == 0 || to >= len(s) {
		return 0
	}
	year, last := yearAt(s, to)
	if last == 0 || !n.day(year, month, a) {
		return 0
	}
	return timeAfter(s, last)
}

// words looks for a near date that begins with the name of a day or month at i:
// Monday, November 30, 2026 or Mon Nov 30 23:10:56 UTC 2026; where times of day
// do not count, also Nov 30 23:10 as ls writes it.
func (n near) words(s string, i int, times bool) int {
	at := i
	if _, to := nameAt(s, at, weekdays); to > 0 {
		for to < len(s) && (s[to] == ',' || s[to] == ' ') {
			to++
		}
		if to >= len(s) {
			return 0
		}
		if isDigit(s[to]) {
			return n.digits(s, to, times)
		}
		at = to
	}
	month, to := monthAt(s, at)
	if month == 0 {
		return 0
	}
	for to < len(s) && s[to] == ' ' {
		to++
	}
	end := digitsAt(s, to, 1, 2)
	if end == 0 {
		return 0
	}
	day, _ := strconv.Atoi(s[to:end])
	for _, suffix := range []string{"st", "nd", "rd", "th"} {
		if strings.HasPrefix(s[end:], suffix) {
			end += len(suffix)
			break
		}
	}
	if year, last := yearAt(s, end); last > 0 {
		if n.day(year, month, day) {
			return timeAfter(s, last)
		}
		return 0
	}
	hour := timeAfter(s, end) // a time of day, and perhaps the zone and year behind it
	if hour == end {
		return 0
	}
	year, last := yearAt(s, hour)
	if last == 0 {
		if zone := wordEnd(s, hour+1); zone > hour+1 && s[hour] == ' ' {
			year, last = yearAt(s, zone)
		}
	}
	if last > 0 {
		if n.day(year, month, day) {
			return last
		}
		return 0
	}
	if !times {
		return 0
	}
	for _, m := range n.spans {
		if n.day(m.from.Year(), month, day) || n.day(m.to.Year(), month, day) {
			return hour
		}
	}
	return 0
}

// timeAfter returns the end of the time of day behind a date, end itself when
// there is none.
func timeAfter(s string, end int) int {
	at := end
	for _, join := range []string{"T", "t", " at ", ", ", " "} {
		if strings.HasPrefix(s[end:], join) {
			at = end + len(join)
			break
		}
	}
	to := digitsAt(s, at, 1, 2)
	if at == end || to == 0 || to >= len(s) || s[to] != ':' && s[to] != '-' {
		return end
	}
	sep := s[to]
	if to = digitsAt(s, to+1, 2, 2); to == 0 {
		return end
	}
	if to < len(s) && s[to] == sep {
		if seconds := digitsAt(s, to+1, 2, 2); seconds > 0 {
			to = seconds
			if to+1 < len(s) && (s[to] == '.' || s[to] == ',' || s[to] == '-') && isDigit(s[to+1]) {
				for to++; to < len(s) && isDigit(s[to]); to++ {
				}
			}
		}
	}
	for _, half := range []string{" AM", " PM", " am", " pm", "AM", "PM", "am", "pm"} {
		if strings.HasPrefix(s[to:], half) {
			to += len(half)
			break
		}
	}
	return zoneAfter(s, to)
}

func zoneAfter(s string, to int) int {
	switch {
	case to < len(s) && s[to] == 'Z' && (to+1 == len(s) || !isWord(s[to+1])):
		return to + 1
	case to < len(s) && (s[to] == '+' || s[to] == '-'):
		if h := digitsAt(s, to+1, 2, 2); h > 0 {
			if h < len(s) && s[h] == ':' {
				if m := digitsAt(s, h+1, 2, 2); m > 0 {
					return m
				}
			}
			return h
		}
		if h := digitsAt(s, to+1, 4, 4); h > 0 {
			return h
		}
	}
	for _, zone := range []string{" GMT", " UTC"} {
		if strings.HasPrefix(s[to:], zone) {
			return to + len(zone)
		}
	}
	return to
}

// yearAt reads a year behind at most a comma and a space.
func yearAt(s string, i int) (int, int) {
	for _, join := range []string{", ", " ", "-", ","} {
		if strings.HasPrefix(s[i:], join) {
			i += len(join)
			break
		}
	}
	end := digitsAt(s, i, 4, 4)
	if end == 0 || end < len(s) && s[end] == ':' {
		return 0, 0
	}
	year, _ := strconv.Atoi(s[i:end])
	return year, end
}

var (
	weekdays = []string{"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"}
	months   = []string{"january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december"}
)

// dateWords tells by the first three letters what may be one of the names.
var dateWords = func() (t [1 << 15]bool) {
	for _, name := range append(weekdays[:len(weekdays):len(weekdays)], months...) {
		t[firstThree(name)] = true
	}
	return t
}()

func firstThree(s string) int {
	return int(s[0]&31)<<10 | int(s[1]&31)<<5 | int(s[2]&31)
}

func monthAt(s string, i int) (int, int) { return nameAt(s, i, months) }

// nameAt returns which of the names, from 1, stands at i, whole or by its first
// three letters, and its end; 0 when none does.
func nameAt(s string, i int, names []string) (int, int) {
	end := wordEnd(s, i)
	if end-i < 3 || end-i > 9 {
		return 0, 0
	}
	for m, name := range names {
		if s[i]|0x20 != name[0] || s[i+1]|0x20 != name[1] || s[i+2]|0x20 != name[2] {
			continue
		}
		if n := end - i; (n == 3 || n == len(name)) && strings.EqualFold(s[i:end], name[:n]) {
			return m + 1, end
		}
	}
	return 0, 0
}

func wordEnd(s string, i int) int {
	for i < len(s) && isLetter(s[i]) {
		i++
	}
	return i
}
