package dialect

import (
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// quickTable is parseTable for the built-in tables. Nearly every command reads
// some of them, and a whole YAML reader takes longer over that than over all else
// that it does at its start. So what they use of YAML is read here: mappings and
// lists by indentation or in braces and brackets on one line, plain and quoted
// scalars, ">-", anchors and comments. A table that uses more of YAML is read by
// the whole reader, as those of users are.
func quickTable(data []byte) (*table, error) {
	n := quickYAML(string(data))
	if n == nil {
		return parseTable(data)
	}
	t := new(table)
	return t, n.Decode(t)
}

// quickYAML returns the value of a document as the YAML reader does, less
// columns, comments and aliases, in whose place their values stand; nil for what
// it does not know. What is no YAML may come back as anything.
func quickYAML(text string) *yaml.Node {
	if strings.ContainsFunc(text, func(r rune) bool { return r != '\n' && (r < ' ' || r > '~') }) {
		return nil // YAML knows more line breaks and white space than one
	}
	if strings.HasPrefix(text, "---") || strings.HasPrefix(text, "...") || strings.Contains(text, "\n---") || strings.Contains(text, "\n...") {
		return nil // marks of documents
	}
	q := &quick{lines: strings.Split(text, "\n"), anchors: map[string]*yaml.Node{}}
	if slices.ContainsFunc(q.lines, func(line string) bool { return len(line) > longestKey }) {
		return nil
	}
	n := q.block(0)
	if q.bad || q.more() {
		return nil
	}
	return n
}

// longestKey is the most bytes that YAML takes for a key on one line (YAML 1.2,
// 7.4.2), so no shorter line holds a longer one.
const longestKey = 1024

// quick reads a document line by line.
type quick struct {
	lines   []string
	at      int // line being read
	anchors map[string]*yaml.Node
	bad     bool // there is something that is not known
}

// more goes to the next line with content.
func (q *quick) more() bool {
	for ; q.at < len(q.lines); q.at++ {
		if text := strings.TrimLeft(q.lines[q.at], " "); text != "" && text[0] != '#' {
			return true
		}
	}
	return false
}

func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

func isItem(text string) bool { return text == "-" || strings.HasPrefix(text, "- ") }

// block reads the value that stands from the current line on, indented by least
// or more; nil for none.
func (q *quick) block(least int) *yaml.Node {
	if q.bad || !q.more() || indentOf(q.lines[q.at]) < least {
		return nil
	}
	indent := indentOf(q.lines[q.at])
	if isItem(q.lines[q.at][indent:]) {
		return q.sequence(indent)
	}
	return q.mapping(indent)
}

// here reports whether the current line has content at an indent.
func (q *quick) here(indent int, item bool) bool {
	return !q.bad && q.more() && indentOf(q.lines[q.at]) == indent && isItem(q.lines[q.at][indent:]) == item
}

func (q *quick) sequence(indent int) *yaml.Node {
	n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Line: q.at + 1}
	for q.here(indent, true) {
		rest := strings.TrimLeft(q.lines[q.at][indent+1:], " ")
		if rest == "" || rest[0] == '#' {
			q.bad = true
			break
		}
		if _, _, ok := cutKey(rest); ok {
			// A mapping that begins on this line: its keys line up behind the dash.
			inner := len(q.lines[q.at]) - len(rest)
			q.lines[q.at] = strings.Repeat(" ", inner) + rest
			n.Content = append(n.Content, q.mapping(inner))
			continue
		}
		n.Content = append(n.Content, q.value(rest, indent))
	}
	return n
}

func (q *quick) mapping(indent int) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: q.at + 1}
	for q.here(indent, false) {
		key, rest, ok := cutKey(q.lines[q.at][indent:])
		if !ok {
			q.bad = true
			break
		}
		f := flow{q: q, text: key}
		name := f.value("")
		if f.space(); f.i != len(key) {
			q.bad = true
		}
		n.Content = append(n.Content, name, q.value(rest, indent))
	}
	return n
}

// cutKey cuts a line at the colon behind its key.
func cutKey(text string) (key, rest string, ok bool) {
	if text == "" || strings.IndexByte("{[&*!|>%@`#", text[0]) >= 0 {
		return "", "", false
	}
	i := 0
	if text[0] == '"' || text[0] == '\'' {
		if i = strings.IndexByte(text[1:], text[0]) + 2; i < 2 {
			return "", "", false
		}
	}
	for ; i < len(text); i++ {
		switch {
		case text[i] == ':' && (i+1 == len(text) || text[i+1] == ' '):
			return text[:i], strings.TrimLeft(text[i+1:], " "), true
		case text[i] == '#' && i > 0 && text[i-1] == ' ':
			return "", "", false
		}
	}
	return "", "", false
}

// value reads what stands behind a key or a dash of the current line, which is
// indented so, and goes on to the next line.
func (q *quick) value(rest string, indent int) *yaml.Node {
	line := q.at + 1
	switch {
	case q.bad:
		return nil
	case rest == "" || rest[0] == '#':
		return q.below(indent, line)
	case rest[0] == '&':
		name, behind, _ := strings.Cut(rest[1:], " ")
		n := q.value(strings.TrimLeft(behind, " "), indent)
		if strings.Trim(name, "abcdefghijklmnopqrstuvwxyz") != "" || name == "" {
			q.bad = true
		}
		if n != nil {
			n.Line = line
		}
		q.anchors[name] = n
		return n
	case rest == ">-":
		return q.folded(indent, line)
	}
	f := flow{q: q, text: rest}
	n := f.value(" #")
	if f.space(); f.i < len(rest) && (rest[f.i] != '#' || rest[f.i-1] != ' ') {
		q.bad = true
	}
	q.at++
	return n
}

// below reads the value on the lines below a key; there must be one.
func (q *quick) below(indent, line int) *yaml.Node {
	q.at++
	if q.here(indent, true) {
		return q.sequence(indent)
	}
	n := q.block(indent + 1)
	q.bad = q.bad || n == nil
	return n
}

// folded reads the text of a ">-" below a key: one paragraph.
func (q *quick) folded(indent, line int) *yaml.Node {
	var words []string
	depth := 0
	for q.at++; q.at < len(q.lines) && indentOf(q.lines[q.at]) > indent; q.at++ {
		text := strings.TrimLeft(q.lines[q.at], " ")
		own := indentOf(q.lines[q.at])
		if depth == 0 {
			depth = own
		}
		if q.bad = q.bad || text == "" || own != depth || strings.HasSuffix(text, " "); q.bad {
			break
		}
		words = append(words, text)
	}
	if q.at < len(q.lines) && strings.TrimLeft(q.lines[q.at], " ") == "" && q.at+1 < len(q.lines) {
		q.bad = true // a paragraph may follow
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Style: yaml.FoldedStyle, Value: strings.Join(words, " "), Line: line}
}

// flow reads values that stand in one line.
type flow struct {
	q    *quick
	text string
	i    int
}

func (f *flow) space() {
	for f.i < len(f.text) && f.text[f.i] == ' ' {
		f.i++
	}
}

func (f *flow) fail() *yaml.Node {
	f.q.bad = true
	return nil
}

// value reads a value. A plain scalar goes on to a byte of stop, or, where stop
// begins with a space, to a space with the rest of stop behind it.
func (f *flow) value(stop string) *yaml.Node {
	f.space()
	if f.i >= len(f.text) {
		return f.fail()
	}
	switch c := f.text[f.i]; c {
	case '{':
		return f.collection(yaml.MappingNode, '}')
	case '[':
		return f.collection(yaml.SequenceNode, ']')
	case '"', '\'':
		return f.quoted(c)
	case '*':
		start := f.i + 1
		for f.i++; f.i < len(f.text) && strings.IndexByte(" ,]}", f.text[f.i]) < 0; {
			f.i++
		}
		if n := f.q.anchors[f.text[start:f.i]]; n != nil {
			return n
		}
		return f.fail()
	case '&', '!', '|', '>', '%', '@', '`', '#', ',', ']', '}':
		return f.fail()
	}
	return f.plain(stop)
}

// inFlow are the bytes that end a plain scalar in braces or brackets.
const inFlow = ",[]{}"

func (f *flow) plain(stop string) *yaml.Node {
	start := f.i
scan:
	for ; f.i < len(f.text); f.i++ {
		c := f.text[f.i]
		behind := byte(' ')
		if f.i+1 < len(f.text) {
			behind = f.text[f.i+1]
		}
		switch {
		case c == ' ' && behind == '#', stop == inFlow && strings.IndexByte(stop, c) >= 0:
			break scan
		case (c == ':' || c == '?') && stop == inFlow && strings.IndexByte(stop, behind) >= 0, c == '?' && stop == inFlow && behind == ' ':
			return f.fail()
		case c == ':' && behind == ' ':
			if stop != inFlow {
				return f.fail()
			}
			break scan
		}
	}
	text := strings.TrimRight(f.text[start:f.i], " ")
	tag := plainTag(text)
	if tag == "" {
		return f.fail()
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: text, Line: f.q.at + 1}
}

// plainTag is the tag of a plain scalar, "" where it may be one of the many forms
// in which YAML writes numbers, dates and truth.
func plainTag(text string) string {
	switch text {
	case "true", "false":
		return "!!bool"
	case "null":
		return "!!null"
	case "", "True", "TRUE", "False", "FALSE", "Null", "NULL", "~", "<<", "=":
		return ""
	}
	if n, err := strconv.Atoi(text); err == nil && strconv.Itoa(n) == text {
		return "!!int"
	}
	first := text[0]
	if first == '-' && len(text) > 1 {
		first = text[1]
	}
	if '0' <= first && first <= '9' || strings.IndexByte("-._+?: ,[]{}", first) >= 0 && !strings.HasPrefix(text, "--") {
		return ""
	}
	return "!!str"
}

func (f *flow) quoted(quote byte) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Style: yaml.DoubleQuotedStyle, Line: f.q.at + 1}
	if quote == '\'' {
		n.Style = yaml.SingleQuotedStyle
	}
	var b strings.Builder
	for f.i++; f.i < len(f.text); f.i++ {
		switch c := f.text[f.i]; {
		case c == quote && quote == '\'' && f.i+1 < len(f.text) && f.text[f.i+1] == quote:
			f.i++
			b.WriteByte(c)
		case c == quote:
			f.i++
			n.Value = b.String()
			return n
		case c == '\\' && quote == '"':
			if f.i++; f.i >= len(f.text) || f.text[f.i] != '\\' && f.text[f.i] != '"' {
				return f.fail()
			}
			b.WriteByte(f.text[f.i])
		default:
			b.WriteByte(c)
		}
	}
	return f.fail()
}

func (f *flow) collection(kind yaml.Kind, end byte) *yaml.Node {
	n := &yaml.Node{Kind: kind, Tag: "!!seq", Style: yaml.FlowStyle, Line: f.q.at + 1}
	if kind == yaml.MappingNode {
		n.Tag = "!!map"
	}
	f.i++
	for !f.q.bad {
		if f.space(); f.i < len(f.text) && f.text[f.i] == end {
			f.i++
			return n
		}
		if len(n.Content) > 0 {
			if f.i >= len(f.text) || f.text[f.i] != ',' {
				break
			}
			f.i++
		}
		n.Content = append(n.Content, f.value(inFlow))
		if kind == yaml.SequenceNode {
			continue
		}
		if f.space(); f.i+1 >= len(f.text) || f.text[f.i:f.i+2] != ": " {
			break
		}
		f.i++
		n.Content = append(n.Content, f.value(inFlow))
	}
	return f.fail()
}
