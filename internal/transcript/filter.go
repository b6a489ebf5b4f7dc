package transcript

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"agentrec/internal/dialect"
)

// Filter is a compiled expression of the filter language (FilterHelp says what
// it can be). Safe for concurrent use.
type Filter struct {
	root *filterNode // nil matches everything
}

// filterNode is a part of an expression: an operation on others, or a condition.
type filterNode struct {
	op   nodeOp
	kids []*filterNode
	cond *condition
}

type nodeOp uint8

const (
	opCond nodeOp = iota
	opAnd
	opOr
	opNot
)

// condition is one test of a frame, or of the session it is in.
type condition struct {
	field  *field
	op     compareOp
	path   string        // of a JSON place, as it was written
	places dialect.Paths // the same, compiled
	keys   []string      // the same, when it names one place
	text   string        // the value as text
	quoted bool          // it stood in quotes: no glob, and in JSON a string
	re     *regexp.Regexp
	lo, hi int64 // a range of numbers, durations or bytes; hi is inclusive
	shown  string
}

type compareOp uint8

const (
	opIs compareOp = iota // a flag, or the presence of a place
	opEqual
	opLess
	opLessEqual
	opGreater
	opGreaterEqual
	opMatches
	opContains
	opUnequal    // only while parsing: the negation of opEqual
	opMismatches // only while parsing: the negation of opMatches
)

var opNames = [...]string{"", "=", "<", "<=", ">", ">=", "~", ":", "!=", "!~"}

// FilterError says what is wrong with an expression and where.
type FilterError struct {
	Expr    string
	At      int    // offset in bytes
	Problem string // "there is no field \"lable\""
	Hint    string // what to type instead
}

// Error is the problem with the hint, and the expression with a caret below
// the place.
func (e *FilterError) Error() string {
	msg := "reading the filter: " + e.Problem
	if e.Hint != "" {
		msg += "; " + e.Hint
	}
	before := strings.ToValidUTF8(e.Expr[:min(e.At, len(e.Expr))], "?")
	line := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == utf8.RuneError {
			return ' '
		}
		return r
	}, e.Expr)
	return fmt.Sprintf("%s\n  %s\n  %s^", msg, line, strings.Repeat(" ", utf8.RuneCountInString(before)))
}

// String prints the expression in its full form: it parses to the same filter.
func (f *Filter) String() string {
	if f == nil || f.root == nil {
		return ""
	}
	return f.root.print(false)
}

func (n *filterNode) print(inside bool) string {
	switch n.op {
	case opNot:
		return "not " + n.kids[0].print(true)
	case opCond:
		return n.cond.print()
	}
	word := " and "
	if n.op == opOr {
		word = " or "
	}
	parts := make([]string, len(n.kids))
	for i, k := range n.kids {
		parts[i] = k.print(true)
	}
	s := strings.Join(parts, word)
	if inside {
		return "(" + s + ")"
	}
	return s
}

func (c *condition) print() string {
	name := c.field.name
	if c.field.kind == kindJSON {
		name = "." + c.path
	}
	switch c.op {
	case opIs:
		return name
	case opMatches:
		return name + " ~ " + c.shown
	}
	value := c.shown
	if c.quoted {
		value = quote(c.text)
	}
	return name + " " + opNames[c.op] + " " + value
}

// quote writes a text as the lexer reads it back.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(s) {
		if s[i] == '"' || s[i] == '\\' {
			b.WriteByte('\\')
		}
		b.WriteByte(s[i])
	}
	b.WriteByte('"')
	return b.String()
}

func parseNumber(s string) (int64, error) { return strconv.ParseInt(s, 10, 64) }

func parseTime(s string) (int64, error) {
	d, err := time.ParseDuration(s)
	return int64(d), err
}

// parseSize reads a number of bytes with an optional unit.
func parseSize(s string) (int64, error) {
	units := []struct {
		name string
		size int64
	}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"kB", 1000}, {"MB", 1e6}, {"GB", 1e9}, {"B", 1}}
	for _, u := range units {
		if digits, ok := strings.CutSuffix(s, u.name); ok {
			n, err := strconv.ParseFloat(digits, 64)
			if err != nil || !(n >= 0) || n*float64(u.size) > 1<<62 {
				return 0, strconv.ErrSyntax
			}
			return int64(n * float64(u.size)), nil
		}
	}
	return strconv.ParseInt(s, 10, 64)
}
