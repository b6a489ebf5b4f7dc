package transcript

import (
	"cmp"
	"context"
	"fmt"
	"net/url"

	"agentrec/internal/dialect"
	"agentrec/store"
)

// newExchanges returns the heads of the exchanges that have been stored since,
// brings the ones at hand up to date, and reports whether that changed any.
func (t *Transcript) newExchanges(ctx context.Context) (list []store.Exchange, changed bool, err error) {
	heads, err := t.heads(ctx, t.Session)
	if err != nil {
		return nil, false, err
	}
	list, changed = t.update(heads)
	return list, changed, nil
}

// heads reads the heads of all exchanges; none where nothing can be new.
func (t *Transcript) heads(ctx context.Context, s *store.Session) ([]store.Exchange, error) {
	if s.Exchanged == 0 {
		return nil, nil
	}
	if n := int64(len(t.Exchanges)); n > 0 && n == s.Exchanged && !t.anyOpen() {
		return nil, nil
	}
	var list []store.Exchange
	for x, err := range s.ExchangeHeads(ctx) {
		if err != nil {
			return nil, fmt.Errorf("reading the exchanges of session %d: %w", s.ID, err)
		}
		list = append(list, x)
	}
	return list, nil
}

// update brings the exchanges at hand up to date and returns the heads of those
// that are new.
func (t *Transcript) update(heads []store.Exchange) (fresh []store.Exchange, changed bool) {
	for i, x := range heads {
		if i >= len(t.Exchanges) {
			return heads[i:], changed
		}
		old := &t.Exchanges[i]
		changed = changed || old.End != x.End || old.Status != x.Status || old.Received != x.Received
		*old = x
	}
	return nil, changed
}

func (t *Transcript) anyOpen() bool {
	for i := len(t.Exchanges) - 1; i >= 0; i-- {
		if t.Exchanges[i].End == "" {
			return true
		}
	}
	return false
}

// besides are the events and exchanges that stand between frames.
type besides struct {
	events    []store.Event
	exchanges []store.Exchange
}

// before reports whether any of them stands before a frame.
func (b *besides) before(seq int64) bool {
	return len(b.events) > 0 && b.events[0].After < seq || len(b.exchanges) > 0 && b.exchanges[0].After < seq
}

// take moves the first of them into the transcript. One that was stored late,
// after frames behind it had been taken, stands where it was found.
func (b *besides) take(t *Transcript) {
	if len(b.exchanges) > 0 {
		x := b.exchanges[0]
		if len(b.events) == 0 || cmp.Or(cmp.Compare(x.After, b.events[0].After), cmp.Compare(x.Time, b.events[0].Time)) < 0 {
			b.exchanges = b.exchanges[1:]
			t.Exchanges = append(t.Exchanges, x)
			t.placed = append(t.placed, max(x.After, int64(len(t.Entries))))
			t.item(KindExchange, int32(len(t.Exchanges)-1))
			return
		}
	}
	t.event(b.events[0])
	b.events = b.events[1:]
}

func (t *Transcript) exchangeItem(ref itemRef) Item {
	x := &t.Exchanges[ref.index]
	it := Item{
		Kind: KindExchange, Seq: t.placed[ref.index], Last: t.placed[ref.index], Time: x.Time, Took: x.Ended - x.Time, Turn: -1, Frames: 1,
		Size: x.Sent + x.Received, Exchange: x, ref: ref,
	}
	if x.End == "" {
		it.Took = -1
	}
	it.Failed = x.End == store.Failed || x.End == store.CutShort || x.Status >= 400
	if e, ok := t.Entry(it.Seq); ok && e.Turn > 0 && !e.Flags.Has(Ends) {
		it.Turn, it.Conversation = int(e.Turn)-1, t.Conversation(e.Conversation)
	}
	return it
}

// ItemOf returns the index of the item of an exchange, -1 when there is none.
func (t *Transcript) ItemOf(number int64) int {
	i := int(number - 1) // exchanges are numbered from 1 on
	if i < 0 || i >= len(t.placed) || t.Exchanges[i].Number != number {
		return -1
	}
	from, _ := t.position(t.placed[i])
	for ; from < len(t.items); from++ {
		if r := t.items[from]; r.kind == KindExchange && int(r.index) == i {
			return from
		}
	}
	return -1
}

// Exchanged is an exchange as a filter sees it. It has its model, its body
// decoded and what it says where Matcher.NeedsBodies says so.
type Exchanged struct {
	*store.Exchange
	Model string
	Turn  int    // index into Turns; -1 outside
	Said  []byte // what text is looked for in
}

// NeedsBodies reports whether some exchanges can be decided only by what their
// bodies say.
func (m *Matcher) NeedsBodies() bool {
	return m.filter.NeedsPayload() || m.filter != nil && m.filter.root != nil && m.filter.root.any(func(c *condition) bool { return c.field.name == "model" })
}

// MatchExchange says whether an exchange matches.
func (m *Matcher) MatchExchange(x Exchanged) bool {
	if m.filter == nil || m.filter.root == nil {
		return true
	}
	m.frame, m.event, m.reading, m.other = nil, nil, nil, &x
	return m.filter.root.eval(m.decide) == Yes
}

// onExchange decides a condition for an exchange. A place is one of the JSON of
// its request.
func (c *condition) onExchange(x *Exchanged) bool {
	switch c.field.name {
	case "exchange":
		return c.holds(x.Number)
	case "status":
		return c.holds(int64(x.Status))
	case "host", "path":
		u, err := url.Parse(x.URL)
		if err != nil {
			return false
		}
		if c.field.name == "host" {
			return c.textMatches(u.Hostname()) || c.textMatches(u.Host)
		}
		return c.textMatches(u.Path)
	case "model":
		return c.textMatches(x.Model)
	case "attempt":
		return c.holds(int64(x.Attempt))
	case "turn":
		return c.holds(int64(x.Turn + 1))
	case "time":
		return c.holds(int64(x.Time))
	case "took":
		return x.End != "" && c.holds(int64(x.Ended-x.Time))
	case "size":
		return c.holds(x.Sent + x.Received)
	case "failed":
		return x.End == store.Failed || x.End == store.CutShort || x.Status >= 400
	case "open":
		return x.End == ""
	case "text":
		return c.contains(x.Said)
	}
	return c.field == jsonField && dialect.Valid(x.Body) && c.onPlaces(x.Body)
}
