package transcript

import (
	"context"
	"fmt"
	"math"
	"slices"

	"agentrec/internal/dialect"
	"agentrec/store"
)

// detectFrames is how many frames a detector sees at most before its best
// guess counts.
const detectFrames = 200

// Build derives the transcript of a session with the dialect d; nil means the
// one the session names, or else the detected one. Of a session that is being
// recorded it derives what is there; Extend goes on.
func Build(ctx context.Context, s *store.Session, d *dialect.Dialect) (*Transcript, error) {
	if d == nil {
		var err error
		if d, err = Detect(ctx, s, dialect.Set{}); err != nil {
			return nil, err
		}
	}
	t := begin(s, d)
	_, err := t.Extend(ctx)
	return t, err
}

// DialectOf is Detect with the set that name says, as LoadSet takes it.
func DialectOf(ctx context.Context, s *store.Session, name string) (*dialect.Dialect, error) {
	set, err := dialect.LoadSet(name)
	if err != nil {
		return nil, err
	}
	return Detect(ctx, s, set)
}

// Detect returns the dialect of the set to read a session by: the one that was
// asked for, else the one that the session names, else the one that its first
// frames speak for: so too when the set does not have the one it names, which
// was a table of the user's own.
func Detect(ctx context.Context, s *store.Session, set dialect.Set) (*dialect.Dialect, error) {
	if d := set.Choose(s.Dialect); d != nil {
		return d, nil
	}
	det := set.Detector(s.Argv)
	for f, err := range s.Frames(ctx, 1, detectFrames) {
		if err != nil {
			return nil, fmt.Errorf("reading session %d: %w", s.ID, err)
		}
		if f.Raw != nil && det.Observe(f.Stream, f.Raw) {
			break
		}
	}
	return det.Dialect(), nil
}

// begin returns the transcript of no frames.
func begin(s *store.Session, d *dialect.Dialect) *Transcript {
	return &Transcript{Session: s, Dialect: d, pass: newPass(d.OneLane())}
}

// Extend goes on with the frames, events and exchanges that have been stored
// since, and reports whether there were any, or an open exchange went on.
func (t *Transcript) Extend(ctx context.Context) (bool, error) {
	if t.pass == nil {
		return false, nil
	}
	from := int64(len(t.Entries)) + 1
	if t.pass.begun {
		if err := t.Session.Refresh(ctx); err != nil {
			return false, fmt.Errorf("reading session %d again: %w", t.Session.ID, err)
		}
	}
	t.pass.begun = true
	// The count is read before the events and exchanges, so that none of them
	// lies behind a frame that is taken now.
	to := min(t.Session.Count(), math.MaxInt32)
	events, err := t.Session.Events(ctx)
	if err != nil {
		return false, fmt.Errorf("reading the events of session %d: %w", t.Session.ID, err)
	}
	events = events[min(len(t.Events), len(events)):]
	exchanges, changed, err := t.newExchanges(ctx)
	if err != nil {
		return false, err
	}
	between := besides{events, exchanges}
	grown := from <= to || changed
	if grown {
		t.Entries = slices.Grow(t.Entries, int(to-from+1))
		var r dialect.Reading // one for all: nobody keeps it
		for f, err := range t.Session.Frames(ctx, from, to) {
			if err != nil {
				return grown, err // it names the session
			}
			for between.before(f.Seq) {
				between.take(t)
			}
			r = dialect.Reading{}
			if f.Raw != nil {
				r = t.Dialect.Read(f.Stream, f.Raw)
			}
			t.frame(f, &r)
		}
	}
	for between.before(int64(len(t.Entries)) + 1) {
		between.take(t)
		grown = true
	}
	return grown, nil
}

// Open returns the seqs of the requests that have no response, of both
// directions, in order. Requests that were cancelled and need no answer are
// not open.
func (t *Transcript) Open() []int64 {
	if t.pass == nil {
		return t.open
	}
	var open []int64
	for _, stream := range []store.Stream{store.In, store.Out} {
		for q := range t.pass.pairs.Open(stream) {
			open = append(open, q.Seq)
		}
	}
	slices.Sort(open)
	return slices.Compact(open)
}

// served reports whether frames speak of an open request.
func (t *Transcript) served(seq int64) bool {
	if t.pass == nil {
		return slices.Contains(t.subscribed, seq)
	}
	return t.pass.served[seq]
}
