package inspect

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"agentrec/internal/llm"
	"agentrec/internal/transcript"
	"agentrec/store"
)

// spot is a frame, or an exchange that stands behind it.
type spot struct{ seq, exchange int64 }

// compareSpots orders spots as the timeline does.
func compareSpots(a, b spot) int {
	return cmp.Or(cmp.Compare(a.seq, b.seq), cmp.Compare(a.exchange, b.exchange))
}

func spotOf(x *store.Exchange) spot { return spot{max(x.After, 1), x.Number} }

// spot is where the user is.
func (su *sessionUI) spot() spot { return spot{su.seq, su.exchange} }

// goToSpot selects a frame or an exchange in the view on the screen. Where a
// view has frames only, that is the frame before the exchange.
func (su *sessionUI) goToSpot(s spot) {
	su.goTo(s.seq)
	if s.exchange == 0 {
		return
	}
	i := su.story.t.ItemOf(s.exchange)
	switch v := su.u.top(); r := v.pane.rows.(type) {
	case *timeline:
		v.pane.to(r.rowOf(i))
	case *chat:
		v.pane.to(r.rowOf(i))
	case *exchangeRows:
		v.pane.to(int(s.exchange - 1))
	}
	su.exchange = s.exchange
}

// searchExchanges calls hit for the exchanges of t that a filter matches, in
// order. A text is looked for in what is new in a request and in its answer, or
// else every request behind a hit would be one.
func searchExchanges(ctx context.Context, t *transcript.Transcript, f *transcript.Filter, hit func(spot)) error {
	if len(t.Exchanges) == 0 {
		return nil
	}
	m := f.On(t)
	turns := map[int64]int{}
	for _, it := range t.Items() {
		if it.Exchange != nil {
			turns[it.Exchange.Number] = it.Turn
		}
	}
	if !m.NeedsBodies() {
		for i := range t.Exchanges {
			x := &t.Exchanges[i]
			if m.MatchExchange(transcript.Exchanged{Exchange: x, Turn: turns[x.Number]}) {
				hit(spotOf(x))
			}
		}
		return nil
	}
	var history llm.History
	for x, err := range t.Session.Exchanges(ctx) {
		if err != nil {
			return fmt.Errorf("searching the exchanges: %w", err)
		}
		r := llm.Read(x)
		turn, ok := turns[x.Number]
		if !ok {
			break // stored while we were reading
		}
		said := newsOf(&x, &r, history.Next(r))
		x.Body = llm.Decoded(x.Body, x.Header)
		if m.MatchExchange(transcript.Exchanged{Exchange: &x, Model: r.Model, Turn: turn, Said: said}) {
			hit(spotOf(&x))
		}
	}
	return nil
}

// allOf is the text of an exchange: as it was sent, and as its wire is read.
func allOf(x *store.Exchange, r *llm.Reading) []byte {
	all := make([]int, len(r.Messages))
	for k := range all {
		all[k] = k
	}
	return append(newsOf(x, r, all), llm.Decoded(x.Body, x.Header)...)
}

// newsOf is the text that an exchange adds to what those before it said.
func newsOf(x *store.Exchange, r *llm.Reading, fresh []int) []byte {
	var b strings.Builder
	b.WriteString(x.URL + "\n")
	for _, k := range fresh {
		m := r.Messages[k]
		b.WriteString(m.Text + "\n" + m.Reasoning + "\n")
		for _, c := range m.Calls {
			b.WriteString(c.Name + " " + c.Args + "\n")
		}
	}
	if len(r.Messages) == 0 {
		b.Write(llm.Decoded(x.Body, x.Header))
	}
	b.WriteString(r.Text + "\n" + r.Thought + "\n" + callTexts(r) + "\n")
	b.Write(llm.Decoded(llm.AnswerBody(*x), x.Answer))
	return []byte(b.String())
}
