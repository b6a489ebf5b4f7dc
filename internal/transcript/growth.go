package transcript

import (
	"context"
	"fmt"

	"agentrec/internal/dialect"
	"agentrec/store"
)

// Bounds of one Growth: so much is taken in within a moment.
const (
	maxGrowth      = 4096
	maxGrowthBytes = 8 << 20
)

// Growth is what has been stored of a session since its transcript was derived,
// read and not yet taken in: Fetch reads it, Take adds it. So a view can read
// on one goroutine and grow on the one that draws.
type Growth struct {
	session store.Session
	frames  []grown
	events  []store.Event
	heads   []store.Exchange
	whole   bool // there is no more
}

type grown struct {
	frame   store.Frame
	reading dialect.Reading
}

// Fetch reads what has been stored since, up to a bound. It changes nothing, so
// that others may read the transcript meanwhile. It is nil when the pass is
// over for good.
func (t *Transcript) Fetch(ctx context.Context) (*Growth, error) {
	if t.pass == nil {
		return nil, nil
	}
	g := &Growth{session: *t.Session}
	s := &g.session
	if err := s.Refresh(ctx); err != nil {
		return nil, fmt.Errorf("reading session %d again: %w", s.ID, err)
	}
	var err error
	if g.events, err = s.Events(ctx); err != nil {
		return nil, fmt.Errorf("reading the events of session %d: %w", s.ID, err)
	}
	if g.heads, err = t.heads(ctx, s); err != nil {
		return nil, err
	}
	from, read := int64(len(t.Entries))+1, 0
	g.whole = from > s.Count()
	if g.whole {
		return g, nil
	}
	for f, err := range s.Frames(ctx, from, min(s.Count(), from+maxGrowth-1)) {
		if err != nil {
			return nil, err // it names the session
		}
		x := grown{frame: f}
		if f.Raw != nil {
			x.reading = t.Dialect.Read(f.Stream, f.Raw)
		}
		g.frames = append(g.frames, x)
		g.whole = f.Seq == s.Count()
		if read += len(f.Raw); read >= maxGrowthBytes {
			break
		}
	}
	return g, nil
}

// Take adds what Fetch read and reports whether that changed anything. Nothing
// may have been added in between.
func (t *Transcript) Take(g *Growth) bool {
	exchanges, changed := t.update(g.heads)
	between := besides{g.events[min(len(t.Events), len(g.events)):], exchanges}
	for i := range g.frames {
		x := &g.frames[i]
		for between.before(x.frame.Seq) {
			between.take(t)
		}
		t.frame(x.frame, &x.reading)
		changed = true
	}
	for between.before(int64(len(t.Entries)) + 1) {
		between.take(t)
		changed = true
	}
	before := t.Session.State
	*t.Session = g.session
	if !g.whole {
		t.Session.State = before // it has not ended before its end is taken in
	}
	return changed || before != t.Session.State
}

// More reports whether more was stored than the growth holds.
func (g *Growth) More() bool { return !g.whole }
