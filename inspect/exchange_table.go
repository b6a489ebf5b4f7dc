package inspect

import (
	"strconv"
	"strings"
	"time"
)

// exchangeColumns are those of a list of exchanges.
var exchangeColumns = []column[exchange]{
	{"#", 0, true, 6, func(x *exchange, _ time.Time) (string, tone) {
		return strconv.FormatInt(x.Head.Number, 10), toneStrong
	}},
	{"time", 2, true, 12, func(x *exchange, _ time.Time) (string, tone) { return clock(x.Head.Time), toneDim }},
	{"method", 10, false, 7, func(x *exchange, _ time.Time) (string, tone) { return x.Head.Method, toneDim }},
	{"host", 6, false, 28, func(x *exchange, _ time.Time) (string, tone) { host, _ := x.place(); return dash(host), tonePlain }},
	{"path", 7, false, 28, func(x *exchange, _ time.Time) (string, tone) {
		_, path := x.place()
		path, _, _ = strings.Cut(path, "?")
		return path, toneDim
	}},
	{"model", 1, false, 24, func(x *exchange, _ time.Time) (string, tone) { return dash(x.Told.Model), tonePlain }},
	{"status", 0, false, 13, func(x *exchange, _ time.Time) (string, tone) { return x.outcome() }},
	{"ttfb", 3, true, 6, func(x *exchange, _ time.Time) (string, tone) { return measured(x.Told.FirstByte), toneDim }},
	{"took", 2, true, 6, func(x *exchange, _ time.Time) (string, tone) { return measured(x.Told.Took), tonePlain }},
	{"in", 3, true, 8, func(x *exchange, _ time.Time) (string, tone) { return tokenCell(x, x.Told.Usage.Input), tonePlain }},
	{"cached", 9, true, 8, func(x *exchange, _ time.Time) (string, tone) { return zero(x.Told.Usage.Cached), toneDim }},
	{"out", 3, true, 8, func(x *exchange, _ time.Time) (string, tone) { return tokenCell(x, x.Told.Usage.Output), tonePlain }},
	{"cost", 9, true, 9, func(x *exchange, _ time.Time) (string, tone) {
		if c := x.Told.Usage.Cost; c > 0 {
			return strconv.FormatFloat(c, 'g', 4, 64), toneDim
		}
		return "", toneDim
	}},
	{"calls", 5, true, 5, func(x *exchange, _ time.Time) (string, tone) { return zero(int64(len(x.Told.Calls))), toneCall }},
	{"try", 8, true, 5, func(x *exchange, _ time.Time) (string, tone) {
		if x.Of < 2 {
			return "", toneDim
		}
		return strconv.Itoa(max(x.Head.Attempt, 1)) + "/" + strconv.Itoa(x.Of), toneAsk
	}},
	{"answer", 9, false, 60, func(x *exchange, _ time.Time) (string, tone) { return exchangeSummary(x), toneDim }},
}

func measured(d time.Duration) string {
	if d < 0 {
		return ""
	}
	return lasting(d)
}

func tokenCell(x *exchange, n int64) string {
	if !x.Told.Usage.Known {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

// exchangeTable lays exchanges out in columns of at most width in all (0 is
// any).
func exchangeTable(list []exchange, most int) []line {
	return columnTable(exchangeColumns, list, time.Time{}, most)
}
