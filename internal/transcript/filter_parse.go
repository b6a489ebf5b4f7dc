package transcript

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"unicode/utf8"

	"agentrec/internal/dialect"
)

// Bounds on an expression.
const (
	maxFilter      = 64 << 10
	maxFilterDepth = 200
)

// ParseFilter compiles an expression of the filter language; an empty one
// matches everything. The error is a *FilterError.
func ParseFilter(expr string) (*Filter, error) {
	p := &parser{in: expr}
	if len(expr) > maxFilter {
		return nil, &FilterError{Expr: expr[:40] + "...", Problem: fmt.Sprintf("it is longer than %d bytes", maxFilter)}
	}
	f := &Filter{}
	p.space()
	if p.at == len(p.in) {
		return f, nil
	}
	root, err := p.or(0)
	if err != nil {
		return nil, err
	}
	if p.at < len(p.in) {
		if p.in[p.at] == ')' {
			return nil, p.fail(p.at, "this parenthesis closes nothing", "remove it")
		}
		return nil, p.fail(p.at, fmt.Sprintf("%q is not expected here", p.peekRune()), "join conditions by and, or")
	}
	f.root = root
	return f, nil
}

type parser struct {
	in string
	at int
}

func (p *parser) fail(at int, problem, hint string) error {
	return &FilterError{Expr: p.in, At: at, Problem: problem, Hint: hint}
}

func (p *parser) peekRune() string {
	r, _ := utf8.DecodeRuneInString(p.in[p.at:])
	return string(r)
}

func (p *parser) space() {
	for p.at < len(p.in) && strings.IndexByte(" \t\r\n", p.in[p.at]) >= 0 {
		p.at++
	}
}

// keyword takes one of the words (or signs) when it stands here.
func (p *parser) keyword(words ...string) bool {
	for _, w := range words {
		if !strings.HasPrefix(p.in[p.at:], w) {
			continue
		}
		end := p.at + len(w)
		if isLetter(w[0]) && end < len(p.in) && !strings.ContainsRune(" \t\r\n()!\"'", rune(p.in[end])) {
			continue
		}
		p.at = end
		p.space()
		return true
	}
	return false
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

func (p *parser) or(depth int) (*filterNode, error) {
	return p.list(opOr, func() (*filterNode, error) { return p.and(depth) }, func() bool { return p.keyword("or", "||") })
}

func (p *parser) and(depth int) (*filterNode, error) {
	return p.list(opAnd, func() (*filterNode, error) { return p.not(depth) }, func() bool {
		if p.keyword("and", "&&") {
			return true
		}
		if p.at >= len(p.in) || p.in[p.at] == ')' || strings.HasPrefix(p.in[p.at:], "||") {
			return false
		}
		save := p.at
		isOr := p.keyword("or")
		p.at = save
		return !isOr
	})
}

// list parses parts joined by a word; lists in lists of the same kind are one.
func (p *parser) list(op nodeOp, part func() (*filterNode, error), more func() bool) (*filterNode, error) {
	n := &filterNode{op: op}
	for {
		k, err := part()
		if err != nil {
			return nil, err
		}
		if k.op == op {
			n.kids = append(n.kids, k.kids...)
		} else {
			n.kids = append(n.kids, k)
		}
		if !more() {
			break
		}
	}
	if len(n.kids) == 1 {
		return n.kids[0], nil
	}
	return n, nil
}

func (p *parser) not(depth int) (*filterNode, error) {
	if depth > maxFilterDepth {
		return nil, p.fail(p.at, fmt.Sprintf("it is nested more than %d deep", maxFilterDepth), "")
	}
	begin := p.at
	if p.keyword("not") || p.at < len(p.in) && p.in[p.at] == '!' && p.keyword("!") {
		if p.at >= len(p.in) {
			return nil, p.fail(begin, "nothing follows this not", "write what must not hold")
		}
		k, err := p.not(depth + 1)
		if err != nil {
			return nil, err
		}
		return &filterNode{op: opNot, kids: []*filterNode{k}}, nil
	}
	if p.at < len(p.in) && p.in[p.at] == '(' {
		p.at++
		p.space()
		k, err := p.or(depth + 1)
		if err != nil {
			return nil, err
		}
		if p.at >= len(p.in) || p.in[p.at] != ')' {
			return nil, p.fail(begin, "this parenthesis is not closed", "add ) at the end")
		}
		p.at++
		p.space()
		return k, nil
	}
	c, err := p.condition()
	if err != nil {
		return nil, err
	}
	p.space()
	negated := true
	switch c.op {
	case opUnequal:
		c.op = opEqual
	case opMismatches:
		c.op = opMatches
	default:
		negated = false
	}
	n := &filterNode{cond: c}
	if negated {
		return &filterNode{op: opNot, kids: []*filterNode{n}}, nil
	}
	return n, nil
}

// condition parses one condition in its long or its short form.
func (p *parser) condition() (*condition, error) {
	begin := p.at
	if begin >= len(p.in) {
		return nil, p.fail(begin, "a condition is missing here", "write one, such as label = tool_call")
	}
	switch c := p.in[begin]; {
	case c == ')':
		return nil, p.fail(begin, "a condition is missing before this parenthesis", "write one, such as failed")
	case c == '#':
		p.at++
		return p.compare(fieldNamed("seq"), begin, opEqual)
	case c == '/':
		return p.matches(fieldNamed("text"), begin, opMatches)
	case c == '"' || c == '\'':
		text, err := p.quoted()
		if err != nil {
			return nil, err
		}
		return &condition{field: fieldNamed("text"), op: opContains, text: text, quoted: true}, nil
	case strings.IndexByte("=<>~:", c) >= 0:
		return nil, p.fail(begin, fmt.Sprintf("%q has nothing on its left", string(c)), "write a field before it, such as label")
	}
	name := p.name()
	if name == "" {
		return nil, p.fail(begin, fmt.Sprintf("%q is not expected here", p.peekRune()), "")
	}
	after := p.at
	p.space()
	op := p.operator()
	if op == opIs {
		p.at = after
		return p.alone(name, begin)
	}
	p.space()
	if f := fieldNamed(name); f != nil {
		return p.compare(f, begin, op)
	}
	if !strings.Contains(name, ".") {
		if near := nearest(name); near != "" {
			return nil, p.fail(begin, fmt.Sprintf("there is no field %q", name),
				fmt.Sprintf("did you mean %s? A key of the frame is written .%s", near, name))
		}
	}
	if !strings.HasPrefix(name, ".") && strings.ContainsAny(name, `\:`) {
		return nil, p.fail(begin, fmt.Sprintf("there is no field %q", name), "write ."+name+" for a place in the frame")
	}
	return p.place(strings.TrimPrefix(name, "."), begin, op)
}

// name takes the left side of a condition. A colon belongs to it unless it
// ends a field or a place.
func (p *parser) name() string {
	begin := p.at
	for p.at < len(p.in) {
		c := p.in[p.at]
		if c == '\\' && p.at+1 < len(p.in) && p.in[begin] == '.' {
			p.at += 2
			continue
		}
		if strings.IndexByte(" \t\r\n()=<>~!\"'", c) >= 0 {
			break
		}
		if c == ':' {
			name := p.in[begin:p.at]
			if fieldNamed(name) != nil || strings.HasPrefix(name, ".") || strings.HasPrefix(p.in[p.at+1:], `"`) {
				break
			}
		}
		p.at++
	}
	return p.in[begin:p.at]
}

func (p *parser) operator() compareOp {
	for _, o := range []struct {
		sign string
		op   compareOp
	}{
		{"==", opEqual}, {"!=", opUnequal}, {"!~", opMismatches}, {"<=", opLessEqual}, {">=", opGreaterEqual},
		{"=", opEqual}, {"<", opLess}, {">", opGreater}, {"~", opMatches}, {":", opContains},
	} {
		if strings.HasPrefix(p.in[p.at:], o.sign) {
			p.at += len(o.sign)
			return o.op
		}
	}
	return opIs
}

// alone parses a word without an operator.
func (p *parser) alone(word string, begin int) (*condition, error) {
	if strings.HasPrefix(word, ".") && len(word) > 1 && word[1] != '.' {
		return p.place(word[1:], begin, opIs)
	}
	if c := wordCondition(word); c != nil {
		return c, nil
	}
	if f := fieldNamed(word); f != nil {
		return nil, p.fail(begin, word+" is compared with nothing", "write "+f.example())
	}
	if strings.Trim(word, "0123456789.") == "" && strings.Trim(word, ".") != "" {
		p.at = begin
		return p.compare(fieldNamed("seq"), begin, opEqual)
	}
	return &condition{field: fieldNamed("label"), op: opEqual, text: word, shown: word}, nil
}

// place parses the rest of a condition on a place in the frame.
func (p *parser) place(path string, begin int, op compareOp) (*condition, error) {
	places, err := dialect.ParsePaths(path)
	if err != nil || path == "" {
		return nil, p.fail(begin, fmt.Sprintf("%q is not a place in a frame", path), "write keys joined by dots, such as .params.sessionId")
	}
	c := &condition{field: jsonField, op: op, path: path, places: places}
	if !strings.ContainsAny(path, `*\`) {
		c.keys = strings.Split(path, ".")
	}
	switch op {
	case opIs:
		return c, nil
	case opMatches, opMismatches:
		m, err := p.matches(jsonField, begin, op)
		if err != nil {
			return nil, err
		}
		m.path, m.places, m.keys = path, places, c.keys
		return m, nil
	}
	at := p.at
	c.text, c.quoted, err = p.value()
	if err != nil {
		return nil, err
	}
	c.shown = c.text
	if ordered(op) && (c.quoted || !isNumber(c.text)) {
		return nil, p.fail(at, opNames[op]+" compares numbers", "write a number, or use = or ~")
	}
	return c, nil
}

func ordered(op compareOp) bool { return op >= opLess && op <= opGreaterEqual }

// compare parses the value that a field is compared with.
func (p *parser) compare(f *field, begin int, op compareOp) (*condition, error) {
	switch {
	case f.kind == kindFlag:
		return nil, p.fail(begin, f.name+" stands alone", "write "+f.name+", or not "+f.name)
	case (op == opMatches || op == opMismatches) && (f.kind == kindText || f.kind == kindSearch):
		return p.matches(f, begin, op)
	case op == opMatches || op == opMismatches || op == opContains && f.kind != kindText && f.kind != kindSearch,
		ordered(op) && (f.kind == kindText || f.kind == kindChoice || f.kind == kindSearch),
		f.kind == kindSearch && op != opContains:
		return nil, p.fail(begin, fmt.Sprintf("%s cannot be compared with %s", f.name, opNames[op]), "write "+f.example())
	}
	at := p.at
	text, quoted, err := p.value()
	if err != nil {
		return nil, err
	}
	c := &condition{field: f, op: op, text: text, quoted: quoted, shown: text}
	switch f.kind {
	case kindChoice:
		for _, w := range f.words {
			if w == text {
				c.quoted = false
				return c, nil
			}
		}
		return nil, p.fail(at, fmt.Sprintf("%s is never %q", f.name, text), "write one of "+strings.Join(f.words, ", "))
	case kindNumber, kindTime, kindSize:
		c.quoted = false
		return c, p.numbers(c, at)
	}
	return c, nil
}

// numbers compiles the value of a numeric condition to a range.
func (p *parser) numbers(c *condition, at int) error {
	read, what := parseNumber, "a whole number"
	switch c.field.kind {
	case kindTime:
		read, what = parseTime, "a time with its unit, such as 1.5s or 200ms"
	case kindSize:
		read, what = parseSize, "a number of bytes, such as 500 or 64KiB"
	}
	lo, hi, isRange := strings.Cut(c.text, "..")
	wrong := func(s string) error {
		return p.fail(at, fmt.Sprintf("%q is not %s", s, what), "write "+c.field.example())
	}
	c.lo, c.hi = math.MinInt64, math.MaxInt64
	var err error
	if lo != "" || !isRange {
		if c.lo, err = read(lo); err != nil {
			return wrong(lo)
		}
	}
	if !isRange {
		c.hi = c.lo
		return nil
	}
	if hi != "" {
		if c.hi, err = read(hi); err != nil {
			return wrong(hi)
		}
	}
	if lo == "" && hi == "" {
		return wrong(c.text)
	}
	if ordered(c.op) {
		return p.fail(at, "a range is compared with = or != only", "write "+c.field.name+" = "+c.text)
	}
	if c.lo > c.hi {
		return p.fail(at, "the range ends before it begins", "write "+c.field.name+" = "+hi+".."+lo)
	}
	return nil
}

// matches parses a regular expression.
func (p *parser) matches(f *field, begin int, op compareOp) (*condition, error) {
	at := p.at
	pattern, flags := "", ""
	switch {
	case at < len(p.in) && p.in[at] == '/':
		end := at + 1
		for end < len(p.in) && p.in[end] != '/' {
			if p.in[end] == '\\' {
				end++
			}
			end++
		}
		if end >= len(p.in) {
			return nil, p.fail(at, "this regular expression is not closed", "end it with /")
		}
		pattern = strings.ReplaceAll(p.in[at+1:end], `\/`, "/")
		p.at = end + 1
		if strings.HasPrefix(p.in[p.at:], "i") {
			flags = "(?i)"
			p.at++
		}
	default:
		text, _, err := p.value()
		if err != nil {
			return nil, err
		}
		pattern = text
	}
	re, err := regexp.Compile(flags + pattern)
	if err != nil {
		return nil, p.fail(at, "this is not a regular expression: "+strings.TrimPrefix(err.Error(), "error parsing regexp: "), "")
	}
	shown := "/" + strings.ReplaceAll(pattern, "/", `\/`) + "/"
	if flags != "" {
		shown += "i"
	}
	return &condition{field: f, op: op, text: flags + pattern, re: re, shown: shown}, nil
}

// value takes the right side of a condition: a quoted text or a word.
func (p *parser) value() (string, bool, error) {
	if p.at >= len(p.in) || p.in[p.at] == ')' {
		return "", false, p.fail(p.at, "a value is missing here", "write one, in quotes when it holds a space")
	}
	if c := p.in[p.at]; c == '"' || c == '\'' {
		text, err := p.quoted()
		return text, true, err
	}
	begin := p.at
	for p.at < len(p.in) && strings.IndexByte(" \t\r\n()\"'", p.in[p.at]) < 0 {
		p.at++
	}
	if p.at == begin {
		return "", false, p.fail(p.at, fmt.Sprintf("%q is not a value", p.peekRune()), "put the value in quotes")
	}
	return p.in[begin:p.at], false, nil
}

// quoted takes a text in quotes; a backslash takes the next character as it is.
func (p *parser) quoted() (string, error) {
	begin, end := p.at, p.in[p.at]
	var b strings.Builder
	for p.at++; p.at < len(p.in); p.at++ {
		switch c := p.in[p.at]; {
		case c == end:
			p.at++
			return b.String(), nil
		case c == '\\' && p.at+1 < len(p.in):
			p.at++
			b.WriteByte(p.in[p.at])
		default:
			b.WriteByte(c)
		}
	}
	return "", p.fail(begin, "this quote is not closed", "end it with "+string(end))
}
