package inspect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"agentrec/internal/dialect"
	"agentrec/internal/tape"
	"agentrec/internal/transcript"
	"agentrec/store"
)

// grepOptions is what `agentrec grep` is asked for.
type grepOptions struct {
	Pattern    string
	Regexp     bool
	IgnoreCase bool
	Files      []string
	Session    string // "" is every session
	Dialect    string
	Filter     *transcript.Filter
	Count      bool // only how many, per session
	Most       int  // hits shown per session, 0 for all
	JSON       bool
	Color      string
	Out        io.Writer
}

// hit is a place where the text was found. Its JSON names are documented in
// the help of grep and stay as they are.
type hit struct {
	Object   string `json:"object"` // "hit"
	File     string `json:"file"`
	Session  int64  `json:"session"`
	UID      string `json:"uid"`
	Seq      int64  `json:"seq"`
	Last     int64  `json:"last"` // of a text joined from several frames, else seq
	TimeUS   int64  `json:"time_us"`
	Stream   string `json:"stream"`
	Label    string `json:"label"`
	Turn     int32  `json:"turn,omitempty"`
	Exchange int64  `json:"exchange,omitempty"` // of a hit in an LLM exchange; seq is the frame before it
	Side     string `json:"side,omitempty"`     // "request" or "answer"
	Text     string `json:"text"`               // what stands around the match
	Start    int    `json:"start"`              // of the match in text, in bytes
	End      int    `json:"end"`
}

// hitCount is how often the text was found in a session.
type hitCount struct {
	Object  string `json:"object"` // "count"
	File    string `json:"file"`
	Session int64  `json:"session"`
	UID     string `json:"uid"`
	Hits    int    `json:"hits"`
}

// grep searches frames and joined texts. The error is Findings{0} when nothing
// was found.
func grep(ctx context.Context, o grepOptions) error {
	find, err := newPattern(o.Pattern, o.Regexp, o.IgnoreCase)
	if err != nil {
		return err
	}
	p := newPrinter(o.Out, o.Color)
	g := &grepper{grepOptions: o, find: find, print: p}
	for _, file := range o.Files {
		if err := g.file(ctx, file); err != nil {
			return p.finish(err)
		}
	}
	if err := p.finish(errors.Join(g.broken...)); err != nil || g.total > 0 {
		return err
	}
	return Findings{}
}

type grepper struct {
	grepOptions
	find  *pattern
	print *printer
	many  bool // hits name their session
	total int

	broken []error // sessions that are damaged: the others are searched all the same
}

func (g *grepper) file(ctx context.Context, file string) error {
	db, err := tape.Open(ctx, file)
	if err != nil {
		return err
	}
	defer db.Close()
	list, err := db.Sessions(ctx)
	if err != nil {
		return err
	}
	if g.Session != "" {
		s, err := db.Find(ctx, g.Session)
		if err != nil {
			return err
		}
		list = []*store.Session{s}
	}
	g.many = len(list) > 1 || len(g.Files) > 1
	for _, s := range list {
		if g.Filter.Session(s) == transcript.No {
			continue
		}
		n, err := g.session(ctx, file, s)
		if store.IsDamaged(err) {
			g.broken = append(g.broken, fmt.Errorf("searching session %d of %s: %w", s.ID, file, err))
			err = nil
		}
		if err != nil {
			return err
		}
		g.total += n
		if g.Count {
			g.count(file, s, n)
		}
		if g.print.stopped() {
			return errReaderGone
		}
	}
	return nil
}

// inFrame looks for a match in the bytes of a frame.
func (g *grepper) inFrame(ctx context.Context, s *store.Session, f store.Frame) ([]byte, []int, error) {
	if f.Raw == nil && f.Size > 0 {
		return g.find.findGiant(ctx, s, f.Seq)
	}
	text, at := g.find.find(f.Raw)
	return text, at, nil
}

// frame reports a hit in the bytes of a frame; its text, when that is where the
// match stands, is easier to read.
func (g *grepper) frame(file string, t *transcript.Transcript, f store.Frame, raw []byte, at []int) {
	if g.Count {
		return
	}
	text, start, end := surroundings(raw, at)
	if f.Raw != nil {
		if r := t.Dialect.Read(f.Stream, f.Raw); r.Text != "" && r.Shows != dialect.ShowsNothing {
			if m := g.find.findText(r.Text); m != nil {
				text, start, end = surroundings([]byte(r.Text), m)
			}
		}
	}
	g.hit(file, t, f.Seq, f.Seq, text, start, end)
}

func (g *grepper) text(file string, t *transcript.Transcript, fold int, m found) {
	if !g.Count {
		d := &t.Folds[fold]
		g.hit(file, t, d.First, d.Last, m.text, m.at[0], m.at[1])
	}
}

func (g *grepper) hit(file string, t *transcript.Transcript, seq, last int64, text string, start, end int) {
	e := t.Entries[seq-1]
	label := t.Label(e)
	if g.JSON {
		g.print.json(hit{
			Object: "hit", File: file, Session: t.Session.ID, UID: t.Session.UID, Seq: seq, Last: last, TimeUS: e.Time.Microseconds(),
			Stream: e.Stream.String(), Label: label, Turn: e.Turn, Text: text, Start: start, End: end,
		})
		return
	}
	var l line
	if g.many {
		l = l.add(toneDim, g.place(file, t.Session)+" ")
	}
	number := fmt.Sprintf("#%d", seq)
	if last > seq {
		number += fmt.Sprintf("-%d", last)
	}
	l = l.pad(toneDim, number, 8).add(toneDim, fmt.Sprintf(" %8s ", clock(e.Time))).pad(streamTone(e.Stream), label, 24).add(tonePlain, " ")
	l = l.add(tonePlain, visible(text[:start])).add(toneMark, visible(text[start:end])).add(tonePlain, visible(text[end:]))
	g.print.line(l)
}

// place names a session in the way its file and --session take it.
func (g *grepper) place(file string, s *store.Session) string {
	if len(g.Files) > 1 {
		return fmt.Sprintf("%s:%d", file, s.ID)
	}
	return fmt.Sprintf("%d", s.ID)
}

func (g *grepper) count(file string, s *store.Session, n int) {
	if g.JSON {
		g.print.json(hitCount{Object: "count", File: file, Session: s.ID, UID: s.UID, Hits: n})
		return
	}
	g.print.line(line{}.add(toneDim, g.place(file, s)+" ").add(tonePlain, fmt.Sprint(n)))
}

func streamTone(s store.Stream) tone {
	switch s {
	case store.In:
		return toneIn
	case store.Out:
		return toneOut
	}
	return toneErr
}

// around is how many bytes are shown on either side of a match, and of a match.
const around = 60

// surroundings cuts out what stands around a match, at the borders of
// characters, and returns where the match stands in it.
func surroundings(b []byte, at []int) (text string, start, end int) {
	from, to := max(0, at[0]-around), min(len(b), min(at[1], at[0]+4*around)+around)
	for from > 0 && from < at[0] && !utf8.RuneStart(b[from]) {
		from++
	}
	for to < len(b) && to > at[1] && !utf8.RuneStart(b[to]) {
		to--
	}
	text = string(b[from:to])
	return text, at[0] - from, min(at[1]-from, len(text))
}
