package inspect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"agentrec/internal/transcript"
	"agentrec/store"
)

// maxEverywhere is how many hits a search through all sessions lists.
const maxEverywhere = 2000

// placeRows are frames of several sessions.
type placeRows struct{ list []place }

// place is a frame or an exchange of a session, with what its row says.
type place struct {
	session *store.Session
	spot
	name string // of the frame or exchange
	tone tone
	text string // around the hit, or the beginning
	at   int    // where the hit begins in it
}

// Len returns the number of places.
func (r *placeRows) Len() int { return len(r.list) }

// Item returns the row of a place: as much of the text as shows the hit.
func (r *placeRows) Item(i, width int) []line {
	p := &r.list[i]
	number, names := fmt.Sprintf("%d", p.seq), 20
	if p.exchange > 0 {
		number = fmt.Sprintf("e%d", p.exchange)
	}
	if width < 80 {
		names = 12
	}
	l := line{}.pad(toneStrong, fmt.Sprintf("%3d %s", p.session.ID, visibleCut(p.session.Name, 12)), 16).
		add(toneDim, fmt.Sprintf(" %6s ", number)).pad(p.tone, p.name, names).add(tonePlain, " ")
	text := p.text
	if cut := p.at - max(width-names-25, 0)/3; cut > 0 {
		for cut < p.at && !utf8.RuneStart(text[cut]) {
			cut++
		}
		text = "…" + text[cut:]
	}
	return []line{l.add(tonePlain, visibleCut(oneLine(text), maxRow))}
}

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
	find := soughtText(expr)
	var out []place
	for _, seq := range seqs {
		f, err := s.Frame(ctx, seq)
		if err != nil {
			return out, fmt.Errorf("reading frame %d: %w", seq, err)
		}
		raw, err := headOf(ctx, s, f)
		if err != nil {
			return out, err
		}
		r := d.Read(f.Stream, f.Raw)
		p := place{session: s, spot: spot{seq: seq}}
		p.name, p.tone = labelOf(f, r)
		p.name = strings.Clone(p.name)
		p.text, p.at = excerpt(find, r.Text, string(raw))
		out = append(out, p)
	}
	for _, at := range exchanges {
		full, err := s.Exchange(ctx, at.exchange)
		if err != nil {
			return out, fmt.Errorf("reading exchange %d: %w", at.exchange, err)
		}
		x := wholeExchange(&full)
		p := place{session: s, spot: at}
		p.name, p.tone = x.outcome()
		p.name += " " + x.Told.Model
		p.text, p.at = excerpt(find, exchangeSummary(x), string(allOf(&full, &x.Told)))
		out = append(out, p)
	}
	return out, nil
}

// soughtText returns what finds the text that an expression looks for, nil when
// it is about something else, or about several things.
func soughtText(expr string) *pattern {
	text, isRegexp, ignoreCase := expr, false, true
	switch n := len(expr); {
	case n > 2 && expr[0] == '"' && strings.IndexByte(expr[1:], '"') == n-2:
		text, ignoreCase = expr[1:n-1], false
	case n > 2 && expr[0] == '/' && strings.LastIndexByte(expr, '/') > 0:
		end := strings.LastIndexByte(expr, '/')
		text, isRegexp, ignoreCase = expr[1:end], true, expr[end+1:] == "i"
	case strings.ContainsAny(expr, `"=<>~:#()/`):
		return nil
	}
	p, err := newPattern(text, isRegexp, ignoreCase)
	if err != nil {
		return nil
	}
	return p
}

// excerpt is what stands around what was sought and where in it that is, in the
// first of the texts that has it; or else the beginning of the last.
func excerpt(find *pattern, texts ...string) (string, int) {
	for _, text := range texts {
		if find == nil {
			break
		}
		if in, at := find.find([]byte(text)); at != nil {
			around, start, _ := surroundings(in, at)
			return around, start
		}
	}
	return strings.Clone(transcript.Clip(texts[len(texts)-1], 4*maxRow)), 0
}
