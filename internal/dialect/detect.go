package dialect

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"agentrec/store"
)

// sign speaks for a dialect: a frame for which the conditions hold adds the
// score, once a session.
type sign struct {
	streams []store.Stream
	when    []check
	score   int
}

const (
	certain    = 100 // a score that decides when no other dialect is near
	lead       = 40  // how far the best must be ahead
	maxLooked  = 64  // JSON frames after which the best guess stands
	maxIgnored = 512 // frames of any kind after which it stands
)

// Detector decides by the first frames which dialect a session speaks.
// It is not safe for concurrent use.
type Detector struct {
	line    string // the agent's command
	able    []contender
	best    contender // without a dialect when nothing speaks for any
	looked  int
	ignored int
	done    bool
}

type contender struct {
	d     *Dialect // of a built-in one without its families
	own   bool     // not a built-in one
	score int
	seen  uint64 // signs that have counted
}

// newDetector returns a detector among the built-in dialects.
func newDetector(argv []string) *Detector {
	words := make([]string, len(argv))
	for i, a := range argv {
		words[i] = strings.TrimSuffix(filepath.Base(a), ".exe")
	}
	det := &Detector{line: " " + strings.Join(words, " ") + " "}
	for _, name := range Names() {
		if name == fallback {
			continue
		}
		d, err := scout(name)
		if err != nil { // the built-in tables are held to compile by a test
			continue
		}
		det.able = append(det.able, det.contender(d))
	}
	return det
}

func (d *Detector) contender(of *Dialect) contender {
	c := contender{d: of}
	for _, hint := range of.argv {
		if strings.Contains(d.line, " "+hint+" ") {
			c.score = hintScore
		}
	}
	return c
}

// hintScore is what a word in the command counts: less than any frame.
const hintScore = 5

// Observe looks at a frame and reports whether the decision has been made.
func (d *Detector) Observe(stream store.Stream, raw []byte) bool {
	if d.done || stream != store.In && stream != store.Out {
		return d.done
	}
	if d.ignored++; d.ignored >= maxIgnored {
		d.done = true
	}
	if !Valid(raw) {
		return d.done
	}
	member := raw
	if isArray(raw) { // a batch speaks through its first member
		eachMember(raw, func(s Span) bool { member = raw[s.Start:s.End]; return false })
	}
	best, second := -1, 0
	for i := range d.able {
		c := &d.able[i]
		if c.d.batch {
			c.look(stream, member)
		} else {
			c.look(stream, raw)
		}
		switch {
		case best < 0 || c.score > d.able[best].score:
			if best >= 0 {
				second = d.able[best].score
			}
			best = i
		case c.score > second:
			second = c.score
		}
	}
	if best < 0 || d.able[best].score <= hintScore {
		return d.done
	}
	d.best = d.able[best]
	if d.looked++; d.looked >= maxLooked || d.able[best].score >= certain && d.able[best].score-second >= lead {
		d.done = true
	}
	return d.done
}

func (c *contender) look(stream store.Stream, raw []byte) {
	if len(c.d.signs) == 0 {
		return
	}
	scratch := c.d.scratch.Get().(*[]Span)
	defer c.d.scratch.Put(scratch)
	f := frame{raw: raw, spans: *scratch}
	if !c.d.tree.scan(raw, f.spans) {
		return
	}
	for i, s := range c.d.signs {
		if c.seen>>i&1 == 1 || !s.on(stream) || !hold(s.when, f) {
			continue
		}
		c.seen |= 1 << i
		c.score += s.score
	}
}

func (s sign) on(stream store.Stream) bool {
	for _, on := range s.streams {
		if on == stream {
			return true
		}
	}
	return false
}

// Dialect returns the best guess so far; ndjson when nothing speaks for another.
func (d *Detector) Dialect() *Dialect {
	if d.best.own {
		return d.best.d
	}
	name := fallback
	if d.best.d != nil {
		name = d.best.d.name
	}
	best, err := Builtin(name)
	if err != nil {
		panic("dialect: " + err.Error()) // the built-in tables are held to compile by a test
	}
	return best
}

// scouts keeps what scout has compiled, heads what head has parsed.
var scouts, heads sync.Map // by name

// scout compiles the part of a built-in table that tells its dialect. To compile
// all of all tables takes longer than many sessions do.
func scout(name string) (*Dialect, error) {
	if d, ok := scouts.Load(name); ok {
		return d.(*Dialect), nil
	}
	t, text, err := head(name)
	if err != nil {
		return nil, err
	}
	d, err := compile(t, text, head)
	if err != nil {
		return nil, err
	}
	first, _ := scouts.LoadOrStore(name, d)
	return first.(*Dialect), nil
}

// headKeys are the keys of a table that a scout needs.
var headKeys = []string{"name", "extends", "batch", "argv", "recognise"}

// head is builtin with one family in place of all, and without what stands before
// them but does not tell the dialect.
func head(name string) (*table, []byte, error) {
	if t, ok := heads.Load(name); ok {
		return t.(*table), nil, nil
	}
	text, err := tables.ReadFile("tables/" + name + ".yaml")
	if err != nil {
		return nil, nil, err
	}
	t, err := quickTable(headOf(text))
	if err == nil {
		heads.Store(name, t)
	}
	return t, nil, err
}

// headOf cuts a built-in table by its lines: what belongs to a key is indented.
func headOf(text []byte) []byte {
	var out []byte
	keep := false
	for line := range bytes.Lines(text) {
		if c := line[0]; 'a' <= c && c <= 'z' {
			key, _, _ := bytes.Cut(line, []byte(":"))
			keep = slices.Contains(headKeys, string(key))
		}
		if keep {
			out = append(out, line...)
		}
	}
	return append(out, "families: [{name: any, role: notification}]\n"...)
}
