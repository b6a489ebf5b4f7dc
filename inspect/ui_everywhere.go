package inspect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"agentrec/internal/transcript"
	"agentrec/store"
)

// maxEverywhere is how many hits a search through all sessions lists.
const maxEverywhere = 2000

// placeRows are frames of several sessions.
type placeRows struct{ list []place }

// place is a frame or an exchange of a session, with its row.
type place struct {
	session *store.Session
	spot
	row line
}

// Len returns the number of places.
func (r *placeRows) Len() int { return len(r.list) }

// Item returns the row of a place.
func (r *placeRows) Item(i, _ int) []line { return []line{r.list[i].row} }

// searchEverywhere lists the frames and exchanges of all sessions that expr matches, the
// newest session first, as they are found.
func (u *ui) searchEverywhere(expr string) error {
	sessions, err := u.db.Sessions(u.ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(u.ctx)
	r := &placeRows{}
	p := newPane(u.theme, r)
	p.find = marked(expr)
	looked, done := 0, false
	v := &view{name: "hits", pane: p, close: cancel, search: searchLines(p)}
	v.title = func() line { return plain(fmt.Sprintf(" %s in all sessions", visibleCut(expr, 60))) }
	indexed := int64(0) // frames of a session whose text is being indexed
	v.status = func() line {
		l := line{{count(len(r.list), "hit"), toneMark}}
		if !done && indexed > 0 {
			return l.add(toneAsk, fmt.Sprintf("  session %d of %d, indexing its text: %d frames", looked+1, len(sessions), indexed))
		}
		if !done {
			return l.add(toneAsk, fmt.Sprintf("  session %d of %d", looked, len(sessions)))
		}
		return l
	}
	v.commands = []command{
		{name: "open", keys: []string{"Enter", "l", "Right"}, bar: "open", help: "open the session at this place", do: func(string) error {
			if len(r.list) == 0 {
				return errors.New("nothing was found yet")
			}
			at := r.list[p.sel]
			return u.openSessionAt(at.session, at.spot)
		}},
	}
	u.push(v)
	u.workers.Go(func() {
		for i, s := range slices.Backward(sessions) {
			at := time.Now()
			found, err := u.hitsIn(ctx, s, expr, func(seq int64) {
				if time.Since(at) >= reportEvery {
					at = time.Now()
					u.post(func() { indexed = seq })
				}
			})
			if ctx.Err() != nil {
				return
			}
			last := i == 0
			u.post(func() {
				u.fail(err)
				r.list = append(r.list, found...)
				looked++
				indexed = 0
				if done = last; len(r.list) >= maxEverywhere && !last {
					done = true
					u.say(toneAsk, fmt.Sprintf("stopped after %d hits", len(r.list)))
					cancel()
				}
			})
		}
	})
	return nil
}

// hitsIn returns the frames of one session that expr matches, and behind them
// the exchanges.
func (u *ui) hitsIn(ctx context.Context, s *store.Session, expr string, progress func(seq int64)) ([]place, error) {
	d, err := transcript.DialectOf(ctx, s, u.dialect)
	if err != nil {
		return nil, err
	}
	f, err := huntFilter(expr, nil, false)
	if err != nil {
		return nil, err
	}
	t, done, err := searchable(ctx, s, d, f.Needle(), progress)
	if err != nil {
		return nil, err
	}
	defer done()
	var seqs []int64
	err = t.Search(ctx, f, func(seq int64) bool {
		seqs = append(seqs, seq)
		return len(seqs) < maxEverywhere
	}, func(int64) {})
	if err != nil {
		return nil, err
	}
	var exchanges []spot
	err = searchExchanges(ctx, t, f, func(at spot) {
		if len(seqs)+len(exchanges) < maxEverywhere {
			exchanges = append(exchanges, at)
		}
	})
	if err != nil {
		return nil, err
	}
	w := newWindow(s, d)
	head := line{}.pad(toneStrong, fmt.Sprintf("%3d %s", s.ID, visibleCut(s.Name, 16)), 20)
	var out []place
	for _, seq := range seqs {
		row, err := w.row(ctx, seq)
		if err != nil {
			return out, err
		}
		out = append(out, place{s, spot{seq: seq}, join(head, frameLine(row.Frame, row.Reading, []byte(row.Begin), maxRow))})
	}
	for _, at := range exchanges {
		full, err := s.Exchange(ctx, at.exchange)
		if err != nil {
			return out, fmt.Errorf("reading exchange %d: %w", at.exchange, err)
		}
		front := line{}.add(toneDim, fmt.Sprintf("%6s %9s ", fmt.Sprintf("e%d", at.exchange), clock(full.Time)))
		out = append(out, place{s, at, join(head, front, exchangeRow(wholeExchange(&full), maxRow))})
	}
	return out, nil
}

// join puts lines behind each other into a new one.
func join(lines ...line) line { return slices.Concat(lines...) }
