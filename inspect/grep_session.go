package inspect

import (
	"context"

	"agentrec/internal/transcript"
	"agentrec/store"
)

// session searches one session and returns the number of hits.
func (g *grepper) session(ctx context.Context, file string, s *store.Session) (int, error) {
	d, err := transcript.DialectOf(ctx, s, g.Dialect)
	if err != nil {
		return 0, err
	}
	t, done, err := searchable(ctx, s, d, g.find.needle(), func(int64) {})
	if err != nil {
		return 0, err
	}
	defer done()
	l := &sessionGrep{grepper: g, file: file, t: t, match: g.Filter.On(t)}
	if l.joined, err = g.joined(ctx, t); err != nil {
		return 0, err
	}
	if l.llm, err = g.inExchanges(ctx, t); err != nil {
		return 0, err
	}
	spans, err := l.spans()
	if err != nil {
		return 0, err
	}
	for _, span := range spans {
		if err := l.span(ctx, span); err != nil || l.full() {
			return l.hits, err
		}
	}
	l.before(0)
	return l.hits, nil
}

// sessionGrep is the search in one session.
type sessionGrep struct {
	*grepper
	file   string
	t      *transcript.Transcript
	match  *transcript.Matcher
	joined map[int]*found // joined texts that hold a match, or may
	llm    []exchangeHit  // exchanges that do, in order
	hits   int
}

// full reports whether there is nothing more to look for.
func (l *sessionGrep) full() bool {
	return l.print.stopped() || l.Most > 0 && l.hits >= l.Most && !l.Count
}

// before reports the hits in exchanges that stand before a frame, 0 the end.
func (l *sessionGrep) before(seq int64) {
	for len(l.llm) > 0 && (l.llm[0].head.After < seq || seq == 0) && !l.full() {
		l.hits++
		l.exchangeHit(l.file, l.t, &l.llm[0])
		l.llm = l.llm[1:]
	}
}

// spans returns where to look: where the text may be, and where joined texts
// end that hold it.
func (l *sessionGrep) spans() ([]transcript.Span, error) {
	spans, err := l.t.Where(l.find.needle())
	if err != nil {
		return nil, err
	}
	var ends []int64
	for fold := range l.joined {
		ends = append(ends, l.t.Folds[fold].Last)
	}
	from, to := l.Filter.Range()
	if to == 0 || to > int64(len(l.t.Entries)) {
		to = int64(len(l.t.Entries)) // what was stored meanwhile is left out
	}
	var out []transcript.Span
	for _, s := range transcript.WithFrames(spans, ends) {
		if s = (transcript.Span{First: max(s.First, from), Last: min(s.Last, to)}); s.First <= s.Last {
			out = append(out, s)
		}
	}
	return out, nil
}

// span searches a range of frames.
func (l *sessionGrep) span(ctx context.Context, in transcript.Span) error {
	for f, err := range l.t.Session.Frames(ctx, in.First, in.Last) {
		if err != nil {
			return err
		}
		if l.before(f.Seq); l.full() {
			return nil
		}
		if err := l.look(ctx, f); err != nil {
			return err
		}
		if l.full() {
			return nil
		}
	}
	return nil
}

// look searches a frame, and the joined text that ends with it.
func (l *sessionGrep) look(ctx context.Context, f store.Frame) error {
	raw, at, err := l.inFrame(ctx, l.t.Session, f)
	if err != nil {
		return err
	}
	fold := -1
	if e := l.t.Entries[f.Seq-1]; e.Flags.Has(transcript.InFold) {
		fold = int(e.Part) - 1
	}
	text, joined := l.joined[fold]
	switch {
	case at != nil:
		delete(l.joined, fold)
		if l.chosen(f) {
			l.hits++
			l.frame(l.file, l.t, f, raw, at)
		}
	case joined && f.Seq == l.t.Folds[fold].Last:
		delete(l.joined, fold)
		if text == nil {
			if text, err = l.inText(ctx, l.t, fold); err != nil {
				return err
			}
		}
		if text != nil && l.chosen(f) {
			l.hits++
			l.text(l.file, l.t, fold, *text)
		}
	}
	return nil
}

// chosen reports whether the filter chooses a frame.
func (l *sessionGrep) chosen(f store.Frame) bool {
	return !l.Filter.NeedsFrames() || l.match.Match(f)
}

// maxJoined bounds how much of a joined text is searched.
const maxJoined = 16 << 20

// found is a match in a joined text.
type found struct {
	text string
	at   []int
}

// joined finds the joined texts that hold a match which may stand in none of
// their frames alone; nil for those that have to be read first, which is done
// when none of their frames was a hit.
func (g *grepper) joined(ctx context.Context, t *transcript.Transcript) (map[int]*found, error) {
	hits := map[int]*found{}
	needle := g.find.needle()
	for i := range t.Folds {
		d := &t.Folds[i]
		if d.Frames < 2 || !t.FoldMay(i, needle) {
			continue
		}
		if _, whole := d.Text(); !whole {
			hits[i] = nil
			continue
		}
		hit, err := g.inText(ctx, t, i)
		if err != nil {
			return nil, err
		}
		if hit != nil {
			hits[i] = hit
		}
	}
	return hits, nil
}

// inText looks for a match in a joined text.
func (g *grepper) inText(ctx context.Context, t *transcript.Transcript, fold int) (*found, error) {
	text, err := t.FoldText(ctx, fold, maxJoined)
	if err != nil {
		return nil, err
	}
	at := g.find.findText(text)
	if at == nil {
		return nil, nil
	}
	around, start, end := surroundings([]byte(text), at)
	return &found{around, []int{start, end}}, nil
}
