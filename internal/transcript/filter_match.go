package transcript

import (
	"bytes"
	"strings"

	"agentrec/internal/dialect"
	"agentrec/store"
)

// Verdict is what can be said of a frame before its payload has been read.
type Verdict uint8

// The verdicts, in the order of certainty that the frame matches.
const (
	No Verdict = iota
	Perhaps
	Yes
)

func verdict(b bool) Verdict {
	if b {
		return Yes
	}
	return No
}

// Matcher applies a filter to the frames of one transcript. Not for concurrent
// use.
type Matcher struct {
	filter *Filter
	t      *Transcript
	labels map[*condition][]Verdict // by label
	convs  map[*condition][]Verdict // by conversation
	words  map[*condition]Word      // what a regular expression needs
	room   []byte                   // for a text in lower case

	// of the frame at hand
	frame   *store.Frame
	entry   Entry
	seq     int64
	reading *dialect.Reading
	event   *store.Event
	other   *Exchanged
}

// On returns a matcher for the frames of t.
func (f *Filter) On(t *Transcript) *Matcher {
	return &Matcher{filter: f, t: t, labels: map[*condition][]Verdict{}, convs: map[*condition][]Verdict{}, words: map[*condition]Word{}}
}

// NeedsPayload reports whether some frames can be decided only by their bytes.
func (f *Filter) NeedsPayload() bool { return f.mentions(ofPayload) }

// NeedsFrames reports whether some sessions can be decided only by their frames.
func (f *Filter) NeedsFrames() bool { return f.mentions(ofPayload) || f.mentions(ofEntry) }

func (f *Filter) mentions(of fieldOf) bool {
	return f != nil && f.root != nil && f.root.any(func(c *condition) bool { return c.field.of == of })
}

func (n *filterNode) any(is func(*condition) bool) bool {
	if n.op == opCond {
		return is(n.cond)
	}
	for _, k := range n.kids {
		if k.any(is) {
			return true
		}
	}
	return false
}

// Session says whether the frames of a session can match: No when it is ruled
// out, Yes when every frame matches.
func (f *Filter) Session(s *store.Session) Verdict {
	if f == nil || f.root == nil {
		return Yes
	}
	return f.root.eval(func(c *condition) Verdict {
		if c.field.of != ofSession {
			return Perhaps
		}
		return verdict(c.session(s))
	})
}

// Quick says what the entry alone tells about a frame.
func (m *Matcher) Quick(seq int64) Verdict {
	if m.filter == nil || m.filter.root == nil {
		return Yes
	}
	m.frame, m.event, m.other, m.reading = nil, nil, nil, nil
	m.seq, m.entry = seq, m.t.Entries[seq-1]
	return m.filter.root.eval(m.decide)
}

// Match says whether a frame matches.
func (m *Matcher) Match(f store.Frame) bool {
	if m.filter == nil || m.filter.root == nil {
		return true
	}
	m.frame, m.event, m.other, m.reading = &f, nil, nil, nil
	m.seq, m.entry = f.Seq, m.t.Entries[f.Seq-1]
	return m.filter.root.eval(m.decide) == Yes
}

// MatchEvent says whether a lifecycle event matches.
func (m *Matcher) MatchEvent(e store.Event) bool {
	if m.filter == nil || m.filter.root == nil {
		return true
	}
	m.frame, m.event, m.other, m.reading = nil, &e, nil, nil
	return m.filter.root.eval(m.decide) == Yes
}

// Range returns the seqs outside of which no frame matches; to is 0 when there
// is no upper bound.
func (f *Filter) Range() (from, to int64) {
	if f == nil || f.root == nil {
		return 1, 0
	}
	conds := []*filterNode{f.root}
	if f.root.op == opAnd {
		conds = f.root.kids
	}
	from = 1
	for _, n := range conds {
		if n.op != opCond || n.cond.field.name != "seq" {
			continue
		}
		lo, hi := n.cond.bounds()
		from = max(from, lo)
		if hi > 0 && (to == 0 || hi < to) {
			to = hi
		}
	}
	return from, to
}

// bounds returns the range of values that a numeric condition lets through; hi
// is 0 when there is no upper bound.
func (c *condition) bounds() (lo, hi int64) {
	const top = 1<<63 - 1
	lo, hi = 1, 0
	switch c.op {
	case opEqual:
		lo, hi = c.lo, c.hi
	case opLess:
		hi = c.lo - 1
	case opLessEqual:
		hi = c.lo
	case opGreater:
		lo = min(c.lo, top-1) + 1
	case opGreaterEqual:
		lo = c.lo
	}
	if hi == top || hi < 0 {
		hi = 0
	}
	return max(lo, 1), hi
}

func (n *filterNode) eval(decide func(*condition) Verdict) Verdict {
	switch n.op {
	case opNot:
		return Yes - n.kids[0].eval(decide)
	case opAnd:
		v := Yes
		for _, k := range n.kids {
			if v = min(v, k.eval(decide)); v == No {
				break
			}
		}
		return v
	case opOr:
		v := No
		for _, k := range n.kids {
			if v = max(v, k.eval(decide)); v == Yes {
				break
			}
		}
		return v
	}
	return decide(n.cond)
}

// decide says what is known of one condition for the frame or event at hand.
func (m *Matcher) decide(c *condition) Verdict {
	if c.field.of == ofSession {
		return verdict(c.session(m.t.Session))
	}
	if m.event != nil {
		return verdict(c.onEvent(m.event))
	}
	if m.other != nil {
		return verdict(c.onExchange(m.other))
	}
	if c.field.of == ofEntry {
		return m.onEntry(c)
	}
	if c.field == jsonField && !m.entry.Flags.Has(JSON) {
		return No
	}
	if m.frame == nil {
		return Perhaps
	}
	if m.frame.Raw == nil {
		return No // a giant is not searched
	}
	if c.field == jsonField {
		return verdict(c.onPlaces(m.frame.Raw))
	}
	return verdict(m.onText(c))
}

func (m *Matcher) onEntry(c *condition) Verdict {
	e := m.entry
	switch c.field.name {
	case "label":
		return m.cached(m.labels, c, int(e.Label), len(m.t.Labels), func() string { return m.t.Label(e) })
	case "conversation":
		return m.cached(m.convs, c, int(e.Conversation), len(m.t.Conversations)+1, func() string { return m.t.Conversation(e.Conversation) })
	case "role":
		return verdict(c.textMatches(RoleName(e.Role)))
	case "stream":
		return verdict(c.textMatches(e.Stream.String()))
	case "shows":
		return verdict(c.textMatches(e.Shows.String()))
	case "turn":
		return verdict(c.holds(int64(e.Turn)))
	case "seq":
		return verdict(c.holds(m.seq))
	case "time":
		return verdict(c.holds(int64(e.Time)))
	case "size":
		return verdict(c.holds(int64(e.Size)))
	case "took":
		took := m.t.Took(m.seq)
		if call := m.call(); call != nil && took < 0 {
			took = call.Took()
		}
		return verdict(took >= 0 && c.holds(int64(took)))
	case "tool", "call":
		call := m.call()
		if call == nil {
			return No
		}
		if c.field.name == "call" {
			return verdict(c.textMatches(call.ID))
		}
		return verdict(c.textMatches(call.Name))
	case "failed":
		return verdict(e.Flags.Has(Failed) || e.Shows.Is() == dialect.ShowsError)
	case "open":
		if call := m.call(); call != nil && call.Seq == m.seq && call.ResultSeq == 0 {
			return Yes
		}
		return verdict(e.Role == dialect.Request && e.Pair == 0 && !e.Flags.Has(Cancelled))
	case "json":
		return verdict(e.Flags.Has(JSON))
	case "delta":
		return verdict(e.Flags.Has(Delta))
	}
	return No
}

func (m *Matcher) call() *Call {
	if !m.entry.Flags.Has(InCall) {
		return nil
	}
	return &m.t.Calls[m.entry.Part-1]
}

// cached decides a condition once for each name in a table.
func (m *Matcher) cached(cache map[*condition][]Verdict, c *condition, i, n int, name func() string) Verdict {
	list := cache[c]
	if i >= len(list) {
		list = append(list, make([]Verdict, n-len(list))...)
		cache[c] = list
	}
	if list[i] == No {
		list[i] = Perhaps
		if c.textMatches(name()) {
			list[i] = Yes
		}
	}
	return verdict(list[i] == Yes)
}

func (c *condition) onEvent(e *store.Event) bool {
	switch c.field.name {
	case "event":
		return true
	case "time":
		return c.holds(int64(e.Time))
	case "text":
		return c.contains([]byte(string(e.Kind) + " " + e.Signal + " " + e.Detail))
	}
	return false
}

func (c *condition) session(s *store.Session) bool {
	switch c.field.name {
	case "name":
		return c.textMatches(s.Name)
	case "dialect":
		return c.textMatches(s.Dialect)
	case "state":
		return c.textMatches(string(s.State))
	case "command":
		return c.textMatches(strings.Join(s.Argv, " "))
	case "tag":
		for k, v := range s.Tags {
			if c.textMatches(k + "=" + v) {
				return true
			}
		}
	}
	return false
}

// textMatches compares a text: by glob unless the value stood in quotes.
func (c *condition) textMatches(s string) bool {
	switch c.op {
	case opMatches:
		return c.re.MatchString(s)
	case opContains:
		return strings.Contains(s, c.text)
	}
	return s == c.text || !c.quoted && glob(c.text, s)
}

// holds compares a number.
func (c *condition) holds(v int64) bool {
	switch c.op {
	case opEqual:
		return c.lo <= v && v <= c.hi
	case opLess:
		return v < c.lo
	case opLessEqual:
		return v <= c.lo
	case opGreater:
		return v > c.lo
	case opGreaterEqual:
		return v >= c.lo
	}
	return false
}

// onText searches the bytes of the frame, and its text as people see it.
func (m *Matcher) onText(c *condition) bool {
	if m.contains(c, m.frame.Raw) {
		return true
	}
	if !m.entry.Flags.Has(JSON) || bytes.IndexByte(m.frame.Raw, '\\') < 0 {
		return false // the text stands in the frame as it is
	}
	if m.reading == nil {
		r := m.t.Dialect.Read(m.frame.Stream, m.frame.Raw)
		m.reading = &r
	}
	found := false
	each(m.reading, func(_ int, x *dialect.Reading) {
		found = found || x.Text != "" && m.contains(c, []byte(x.Text))
	})
	return found
}

// contains is the same of the condition for texts that are many.
func (m *Matcher) contains(c *condition, b []byte) bool {
	if c.op == opMatches {
		word, ok := m.words[c]
		if !ok {
			word = WordOf(c.re)
			m.words[c] = word
		}
		if !word.In(b, &m.room) {
			return false
		}
	}
	return c.contains(b)
}

func (c *condition) contains(b []byte) bool {
	if c.op == opMatches {
		return c.re.Match(b)
	}
	return bytes.Contains(b, []byte(c.text))
}

// glob reports whether s is of the pattern: "*" stands for any text, "?" for
// any one byte.
func glob(pattern, s string) bool {
	p, i, star, mark := 0, 0, -1, 0
	for i < len(s) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, i
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == s[i]):
			p++
			i++
		case star >= 0:
			p = star + 1
			mark++
			i = mark
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}
