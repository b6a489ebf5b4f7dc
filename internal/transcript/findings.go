package transcript

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"agentrec/internal/dialect"
	"agentrec/store"
)

// Severity says how much a finding matters.
type Severity string

// The severities. A note is worth knowing and no fault.
const (
	Note    Severity = "note"
	Warning Severity = "warning"
	Fault   Severity = "error"
)

// Finding is something about a session that its protocol does not explain.
type Finding struct {
	Seq      int64 // the frame it is about; 0 when it is about none
	Rule     string
	Severity Severity
	Path     string // the place in the frame, "" when it is about none
	Message  string // for people; recorded text in it is quoted and cut
	More     int    // how many like this are not listed
}

// maxFindings is how many findings of one rule are listed; the last says how
// many there are in all.
const maxFindings = 100

// longLine is the length in bytes from which on Python's asyncio readers, with
// their usual limit, refuse a line.
const longLine = 64 << 10

// findings collects them.
type findings struct {
	t     *Transcript
	list  []Finding
	count map[string]int
	// quiet holds requests and turns that a finding explains already.
	quiet map[int64]bool
	// expects holds what responses must hold, by their seq.
	expects map[int64]dialect.Expected
}

func (c *findings) add(seq int64, rule string, s Severity, format string, args ...any) {
	c.count[rule]++
	if c.count[rule] > maxFindings {
		return
	}
	c.list = append(c.list, Finding{Seq: seq, Rule: rule, Severity: s, Message: fmt.Sprintf(format, args...)})
}

// Findings checks the session against its protocol: in order of seq, those of
// the whole session last.
func (t *Transcript) Findings(ctx context.Context) ([]Finding, error) {
	c := &findings{t: t, count: map[string]int{}, quiet: map[int64]bool{}, expects: map[int64]dialect.Expected{}}
	if err := c.frames(ctx); err != nil {
		return nil, err
	}
	c.pairs()
	c.turns()
	c.long()
	slices.SortStableFunc(c.list, func(a, b Finding) int {
		return cmp.Compare(uint64(a.Seq-1), uint64(b.Seq-1)) // 0 last
	})
	for rule, n := range c.count {
		if n <= maxFindings {
			continue
		}
		for i := len(c.list) - 1; i >= 0; i-- {
			if c.list[i].Rule == rule {
				c.list[i].More = n - maxFindings
				c.list[i].Message += fmt.Sprintf(" (%d findings like this, %d listed)", n, maxFindings)
				break
			}
		}
	}
	return c.list, nil
}

// frames looks at what only the bytes tell.
func (c *findings) frames(ctx context.Context) error {
	t := c.t
	phi := newPhi(c)
	for f, err := range t.Session.Frames(ctx, 1, int64(len(t.Entries))) {
		if err != nil {
			return fmt.Errorf("checking the frames: %w", err)
		}
		e := t.Entries[f.Seq-1]
		switch {
		case f.Stream == store.Err || f.Raw == nil:
		case !e.Flags.Has(JSON):
			c.line(f, e)
		default:
			c.fields(f, e)
		}
		phi.frame(f, e)
	}
	phi.end()
	return nil
}

// fields reports load-bearing fields that are missing or of the wrong type.
func (c *findings) fields(f store.Frame, e Entry) {
	problems := c.t.Dialect.Check(f.Stream, f.Raw)
	if x, ok := c.expects[f.Seq]; ok {
		delete(c.expects, f.Seq)
		for _, p := range x.Check(f.Raw) {
			if !slices.ContainsFunc(problems, func(q dialect.Problem) bool { return q.Path == p.Path }) {
				problems = append(problems, p)
			}
		}
	}
	if e.Role == dialect.Request && int64(e.Pair) > f.Seq && !c.t.Entries[e.Pair-1].Flags.Has(Failed) {
		if x, ok := c.t.Dialect.Expects(f.Stream, f.Raw); ok {
			c.expects[int64(e.Pair)] = x
		}
	}
	for _, p := range problems {
		before := len(c.list)
		c.add(f.Seq, "field", Fault, "%s: %s", c.t.Label(e), p)
		if len(c.list) > before {
			c.list[before].Path = p.Path
		}
	}
}

// pairs looks at requests and responses.
func (c *findings) pairs() {
	t := c.t
	for i, e := range t.Entries {
		seq := int64(i + 1)
		switch {
		case e.Role == dialect.Response && e.Pair == 0 && !c.quiet[seq]:
			if e.Flags.Has(Failed) {
				c.add(seq, "unasked", Note, "%s answers no open request", t.Label(e))
				break
			}
			c.add(seq, "unasked", Warning, "%s answers no open request", t.Label(e))
		case e.Role == dialect.Raw && e.Flags.Has(JSON) && e.Stream != store.Err:
			c.add(seq, "unknown", Warning, "JSON that %s does not know", t.Dialect.Name())
		}
	}
	for _, seq := range t.duplicates {
		c.add(seq, "duplicate", Warning, "%s uses an id that an open request has", t.Label(t.Entries[seq-1]))
	}
	if t.Session.State == store.Recording {
		return
	}
	for _, seq := range t.Open() {
		e := t.Entries[seq-1]
		if c.quiet[seq] || e.Turn > 0 && t.Turns[e.Turn-1].First == seq && t.Turns[e.Turn-1].Last == 0 {
			continue // the turn that never ended says it
		}
		severity := Warning
		if t.Session.State == store.Cut || e.Stream == store.Out || t.served(seq) {
			severity = Note // cut, or the client left first, or a subscription
		}
		c.add(seq, "unanswered", severity, "%s was never answered", t.Label(e))
	}
}

// turns looks for turns without an end.
func (c *findings) turns() {
	t := c.t
	if t.Session.State == store.Recording {
		return
	}
	severity := Warning
	if t.Session.State == store.Cut {
		severity = Note
	}
	for _, u := range t.Turns {
		if u.Last == 0 && !c.quiet[u.First] {
			c.add(u.First, "no-end", severity, "the turn that %s began never ended", t.Label(t.Entries[u.First-1]))
		}
	}
}

// long looks for lines that known clients cannot read.
func (c *findings) long() {
	t := c.t
	_, limit := t.Dialect.Pacing()
	severity, why := Warning, "a known client reads no line of this length"
	if limit == 0 || limit > longLine {
		severity, why = Note, "Python's asyncio readers refuse such lines unless told otherwise"
		limit = longLine
	}
	counts := map[uint16]int{}
	first := map[uint16]int64{}
	for i, e := range t.Entries {
		if e.Stream == store.Out && int64(e.Size) >= int64(limit) {
			if counts[e.Label]++; counts[e.Label] == 1 {
				first[e.Label] = int64(i + 1)
			}
		}
	}
	for label, n := range counts {
		seq := first[label]
		more := ""
		if n > 1 {
			more = fmt.Sprintf(", with %d more of this label", n-1)
		}
		c.add(seq, "long", severity, "%s has %d bytes%s: %s", t.Labels[label].Name, t.Entries[seq-1].Size, more, why)
	}
}
