package llm

import (
	"strconv"
	"strings"

	"agentrec/internal/redact"
)

// normaliser takes out of a request what changes from run to run. One serves
// one request: ids are renamed by the order of their first appearance in it.
type normaliser struct {
	near  near
	paths []string // in front of which a mark takes place; of several of one name, any
	marks []string // beside paths
	names map[string]string
	count map[string]int
}

// leeway says what may change in a text, by who wrote it: in what a user wrote a
// duration or a time of day is meant.
type leeway struct {
	times     bool // times of day
	durations bool
}

// text returns s with what changes from run to run replaced by marks.
func (n *normaliser) text(s string, l leeway) string {
	for i, path := range n.paths {
		s = replacePath(s, path, n.marks[i])
	}
	var out strings.Builder
	from := 0
	for i := 0; i < len(s); {
		mark, end := "", 0
		switch c := s[i]; {
		case isDigit(c):
			mark, end = n.number(s, i, l)
		case isLetter(c):
			mark, end = n.word(s, i, l)
		case c == '<':
			if strings.HasPrefix(s[i:], "<redacted:") {
				if start, to := redact.NextToken([]byte(s[i:min(len(s), i+80)])); start == 0 {
					end = i + to
				}
			}
		case c == '/' && strings.HasPrefix(s[i:], "/tmp/"):
			mark, end = n.temporary(s, i)
		}
		if mark != "" {
			out.WriteString(s[from:i])
			out.WriteString(mark)
			from = end
		}
		i = max(i+1, end)
	}
	if from == 0 {
		return s
	}
	out.WriteString(s[from:])
	return out.String()
}

// name returns the mark of an id: its kind and how many were met before it.
func (n *normaliser) name(kind, id string) string {
	if m, ok := n.names[id]; ok {
		return m
	}
	if n.names == nil {
		n.names, n.count = map[string]string{}, map[string]int{}
	}
	n.count[kind]++
	m := "<" + kind + " " + strconv.Itoa(n.count[kind]) + ">"
	n.names[id] = m
	return m
}

// word looks at what begins with a letter at i, and returns its mark and end; no
// mark when it stays, and the end of the word.
func (n *normaliser) word(s string, i int, l leeway) (string, int) {
	if m, end := n.uuid(s, i); m != "" {
		return m, end
	}
	end := i
	for end < len(s) && isWord(s[end]) {
		end++
	}
	t := rules()
	if m, to := t.labelledAt(s, i); m != "" {
		return m, to
	}
	if m, to := n.id(t, s, i); m != "" {
		return m, to
	}
	if length := end - i; length >= 3 && length <= 9 {
		if dateWords[firstThree(s[i:])] {
			if to := n.near.words(s, i, l.times); to > 0 {
				return "<date>", to
			}
		}
		if m, to := loopback(s, i, "localhost:"); m != "" {
			return m, to
		}
	}
	return "", end
}

// labelledAt looks for a label whose value changes with every run.
func (t *ruleTable) labelledAt(s string, i int) (string, int) {
	for _, p := range t.labels[s[i]] {
		if !strings.HasPrefix(s[i:], p) {
			continue
		}
		to := i + len(p)
		for to < len(s) && isWord(s[to]) || to+1 < len(s) && s[to] == '.' && isDigit(s[to+1]) {
			to++
		}
		if to > i+len(p) {
			return p + "<changes>", to
		}
	}
	return "", 0
}

// id looks for an id with a known beginning.
func (n *normaliser) id(t *ruleTable, s string, i int) (string, int) {
	for _, p := range t.ids[s[i]] {
		if !strings.HasPrefix(s[i:], p) {
			continue
		}
		end, digits := i+len(p), 0
		for end < len(s) && (isWord(s[end]) || s[end] == '-') {
			if isDigit(s[end]) {
				digits++
			}
			end++
		}
		if end-i-len(p) >= 8 && digits > 0 {
			return n.name("id", s[i:end]), end
		}
	}
	return "", 0
}

// number looks at what begins with a digit at i.
func (n *normaliser) number(s string, i int, l leeway) (string, int) {
	if m, end := n.uuid(s, i); m != "" {
		return m, end
	}
	if m, end := loopback(s, i, "127.0.0.1:"); m != "" {
		return m, end
	}
	if end := n.near.digits(s, i, l.times); end > 0 {
		return "<date>", end
	}
	if l.times {
		if end := clock(s, i); end > 0 {
			return "<time>", end
		}
	}
	if l.durations {
		if end := duration(s, i); end > 0 {
			return "<duration>", end
		}
	}
	end := i
	for end < len(s) && (isWord(s[end]) || s[end] == '.' && end+1 < len(s) && isDigit(s[end+1])) {
		end++
	}
	if n.near.epoch(s[i:end]) {
		return "<date>", end
	}
	return "", end
}

// uuid looks for 8-4-4-4-12 hex digits.
func (n *normaliser) uuid(s string, i int) (string, int) {
	if i+36 > len(s) || s[i+8] != '-' || i+36 < len(s) && isWord(s[i+36]) {
		return "", 0
	}
	for k := range 36 {
		c := s[i+k]
		if k == 8 || k == 13 || k == 18 || k == 23 {
			if c != '-' {
				return "", 0
			}
		} else if !isHex(c) {
			return "", 0
		}
	}
	return n.name("uuid", strings.ToLower(s[i:i+36])), i + 36
}

// temporary looks for the made-up name of a file in /tmp: one that ends as those
// of mktemp do.
func (n *normaliser) temporary(s string, i int) (string, int) {
	start := i + len("/tmp/")
	end := start
	for end < len(s) && (isWord(s[end]) || s[end] == '-' || s[end] == '.' && end+1 < len(s) && isWord(s[end+1])) {
		end++
	}
	name := s[start:end]
	tail := name[strings.LastIndexAny(name, ".-_")+1:]
	random := len(tail) >= 6 && strings.ContainsAny(tail, "0123456789")
	if rest, ok := strings.CutPrefix(name, "tmp"); ok && len(rest) >= 6 {
		random = true
	}
	if !random {
		return "", 0
	}
	return n.name("tmp", s[i:end]), end
}

// loopback looks for a host of this machine with a port of those that a system
// hands out.
func loopback(s string, i int, host string) (string, int) {
	port, ok := strings.CutPrefix(s[i:], host)
	if !ok {
		return "", 0
	}
	end := 0
	for end < len(port) && isDigit(port[end]) {
		end++
	}
	if n, err := strconv.Atoi(port[:end]); err == nil && n >= 32768 && n <= 65535 {
		return host + "<port>", i + len(host) + end
	}
	return "", 0
}

// clock looks for HH:MM:SS, with a fraction perhaps, and returns its end.
func clock(s string, i int) int {
	end := digitsAt(s, i, 1, 2)
	for range 2 {
		if end == 0 || end >= len(s) || s[end] != ':' {
			return 0
		}
		end = digitsAt(s, end+1, 2, 2)
	}
	if end == 0 {
		return 0
	}
	if end+1 < len(s) && (s[end] == '.' || s[end] == ',') && isDigit(s[end+1]) {
		for end++; end < len(s) && isDigit(s[end]); end++ {
		}
	}
	return end
}

// units of durations, longer ones first.
var units = []string{"milliseconds", "microseconds", "nanoseconds", "seconds", "minutes", "second", "minute", "secs", "mins", "sec", "min",
	"ms", "µs", "us", "ns", "s"}

// duration looks for a number with a unit of time, or several such in a row.
func duration(s string, i int) int {
	last := 0
	for i < len(s) && isDigit(s[i]) {
		end := i
		for end < len(s) && (isDigit(s[end]) || s[end] == '.' && end+1 < len(s) && isDigit(s[end+1])) {
			end++
		}
		if end < len(s) && s[end] == 'm' && end+1 < len(s) && isDigit(s[end+1]) { // 0m0.003s
			i = end + 1
			continue
		}
		at := end
		if at < len(s) && s[at] == ' ' {
			at++
		}
		for _, u := range units {
			if to := at + len(u); strings.HasPrefix(s[at:], u) && (to == len(s) || !isWord(s[to])) {
				last = to
				break
			}
		}
		break
	}
	return last
}

// digitsAt returns the end of least to most digits at i that no digit follows, 0
// when there are none.
func digitsAt(s string, i, least, most int) int {
	end := i
	for end < len(s) && isDigit(s[end]) {
		end++
	}
	if end-i < least || end-i > most {
		return 0
	}
	return end
}

func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }
func isWord(c byte) bool   { return isDigit(c) || isLetter(c) || c == '_' || c >= 0x80 }
func isHex(c byte) bool    { return isDigit(c) || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F' }
