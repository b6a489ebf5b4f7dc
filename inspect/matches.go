package inspect

import (
	"context"
	"fmt"

	"agentrec/internal/llm"
	"agentrec/internal/transcript"
)

// matchStep is how many frames are looked at between two reports of a search.
const matchStep = 2048

// matches is Transcript.Choose for a search that someone watches: it calls hit
// for the frames from..to (0 is the end) that a filter matches, in order, and
// progress now and then with the last frame looked at, also where nothing is
// found.
func matches(ctx context.Context, t *transcript.Transcript, f *transcript.Filter, from, to int64, hit func(seq int64), progress func(seq int64)) error {
	lo, hi := f.Range()
	from = max(from, lo)
	if to == 0 || to > int64(len(t.Entries)) {
		to = int64(len(t.Entries))
	}
	if hi > 0 {
		to = min(to, hi)
	}
	m := f.On(t)
	for at := from; at <= to; at += matchStep {
		end := min(at+matchStep-1, to)
		first, last := int64(0), int64(0) // where payloads are needed
		for seq := at; seq <= end; seq++ {
			switch m.Quick(seq) {
			case transcript.Perhaps:
				if first == 0 {
					first = seq
				}
				last = seq
			case transcript.Yes:
				if first == 0 {
					hit(seq)
				}
			}
		}
		if first > 0 {
			for frame, err := range t.Session.Frames(ctx, first, last) {
				if err != nil {
					return err
				}
				if v := m.Quick(frame.Seq); v == transcript.Yes || v == transcript.Perhaps && m.Match(frame) {
					hit(frame.Seq)
				}
			}
			for seq := last + 1; seq <= end; seq++ {
				if m.Quick(seq) == transcript.Yes {
					hit(seq)
				}
			}
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		progress(end)
	}
	return nil
}

// anyMatch reports whether a filter matches anything in a session.
func anyMatch(ctx context.Context, t *transcript.Transcript, f *transcript.Filter) (bool, error) {
	if f.Session(t.Session) == transcript.Yes && !f.NeedsFrames() {
		return true, nil
	}
	for _, err := range t.Choose(ctx, f) {
		return err == nil, err
	}
	m := f.On(t)
	for _, it := range t.Items() {
		if it.Exchange == nil {
			continue
		}
		if in, err := matchesExchange(ctx, t, m, it); in || err != nil {
			return in, err
		}
	}
	return false, nil
}

// itemsOf returns which items of t hold a frame or event that f matches.
func itemsOf(ctx context.Context, t *transcript.Transcript, f *transcript.Filter) ([]bool, error) {
	chosen := make([]bool, t.Len())
	var err error
	for seq, err := range t.Choose(ctx, f) {
		if err != nil {
			return nil, err
		}
		if i := t.ItemAt(seq); i >= 0 && holds(t.Item(i), seq) {
			chosen[i] = true
		}
	}
	m := f.On(t)
	for i, it := range t.Items() {
		switch {
		case it.Event != nil:
			chosen[i] = m.MatchEvent(*it.Event)
		case it.Exchange != nil:
			if chosen[i], err = matchesExchange(ctx, t, m, it); err != nil {
				return nil, err
			}
		}
	}
	return chosen, nil
}

// chosenExchanges returns the numbers of the exchanges of t that f matches.
func chosenExchanges(ctx context.Context, t *transcript.Transcript, f *transcript.Filter) (map[int64]bool, error) {
	m := f.On(t)
	chosen := map[int64]bool{}
	for _, it := range t.Items() {
		if it.Exchange == nil {
			continue
		}
		in, err := matchesExchange(ctx, t, m, it)
		if err != nil {
			return nil, err
		}
		if in {
			chosen[it.Exchange.Number] = true
		}
	}
	return chosen, nil
}

// matchesExchange reports whether a filter matches the exchange of an item. It
// reads bodies only where the filter asks for what is in them.
func matchesExchange(ctx context.Context, t *transcript.Transcript, m *transcript.Matcher, it transcript.Item) (bool, error) {
	x := transcript.Exchanged{Exchange: it.Exchange, Turn: it.Turn}
	if m.NeedsBodies() {
		full, err := t.Session.Exchange(ctx, it.Exchange.Number)
		if err != nil {
			return false, fmt.Errorf("reading exchange %d: %w", it.Exchange.Number, err)
		}
		x.Exchange, x.Model = &full, llm.Read(full).Model
	}
	return m.MatchExchange(x), nil
}

// holds reports whether a frame is part of an item, not only near it.
func holds(it transcript.Item, seq int64) bool {
	return it.Seq <= seq && seq <= max(it.Last, it.Answer)
}
