package inspect

import (
	"context"
	"fmt"

	"agentrec/internal/dialect"
	"agentrec/internal/llm"
	"agentrec/internal/transcript"
	"agentrec/store"
)

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
		r := llm.Read(full)
		full.Body = llm.Decoded(full.Body, full.Header)
		x.Exchange, x.Model, x.Said = &full, r.Model, allOf(&full, &r)
	}
	return m.MatchExchange(x), nil
}

// holds reports whether a frame is part of an item, not only near it.
func holds(it transcript.Item, seq int64) bool {
	return it.Seq <= seq && seq <= max(it.Last, it.Answer)
}

// searchable opens the transcript of a session for a search, with its text
// index where that helps: of a long session which has ended. The caller calls
// done when it has searched.
func searchable(ctx context.Context, s *store.Session, d *dialect.Dialect, n transcript.Needle, progress func(seq int64)) (t *transcript.Transcript, done func(), err error) {
	var x *transcript.Text
	if !n.Anywhere() {
		if x, err = transcript.OpenText(ctx, s, d, progress); err != nil {
			return nil, nil, err
		}
	}
	if t, err = transcript.Open(ctx, s, d); err != nil {
		x.Close()
		return nil, nil, err
	}
	t.UseText(x)
	return t, x.Close, nil
}
