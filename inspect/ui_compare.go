package inspect

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"agentrec/internal/transcript"
	"agentrec/store"
)

// compareRows is two sessions side by side.
type compareRows struct {
	a, b *story
	list []couple
	open map[int]bool
	memo [2]memo[line]

	err    error // why there is no comparison
	sought string
	hits   []int // rows with what was sought, in order
}

// Len returns the number of rows.
func (r *compareRows) Len() int { return len(r.list) }

// Item returns a row: the items of both sessions beside each other, and below
// them what they say when the row is open.
func (r *compareRows) Item(i, width int) []line {
	c := r.list[i]
	half := (width - 3) / 2
	mark, tn := " ", toneDim
	switch {
	case c.same && (c.a < 0 || c.b < 0):
		mark = "↕" // it came earlier or later at the other side
	case c.a < 0:
		mark, tn = ">", toneGood
	case c.b < 0:
		mark, tn = "<", toneError
	case !c.same:
		mark, tn = "≠", toneAsk
	}
	out := []line{r.side(0, c.a, half).add(tn, " "+mark+" ").and(r.side(1, c.b, half))}
	if !r.open[i] {
		return out
	}
	if c.pair != nil {
		out = append(out, pairDetail(c.pair)...)
	}
	for side, index := range [2]int{c.a, c.b} {
		if index < 0 {
			continue
		}
		it := r.story(side).item(index, maxBlock)
		out = append(out, line{{[2]string{"left", "right"}[side], toneStrong}})
		if it.LLM != nil {
			out = append(out, exchangeBlock(it.LLM, width)...)
			continue
		}
		out = append(out, block(it.Item, it.Said, width)[0])
		out = append(out, unfolded(it, width)...)
	}
	return out
}

func (r *compareRows) story(side int) *story { return [2]*story{r.a, r.b}[side] }

// side is one half of a row.
func (r *compareRows) side(side, index, width int) line {
	if index < 0 {
		return line{}.pad(tonePlain, "", width)
	}
	s := r.story(side)
	it := s.t.Item(index)
	return r.memo[side].get(index, it, width, func() line {
		full := s.item(index, 4*maxRow)
		if full.LLM != nil {
			return line{}.pad(toneAsk, exchangeRow(full.LLM, width).String(), width)
		}
		if it.Kind == transcript.KindEvent {
			text, tn := event(it.Event)
			return line{}.pad(tn, text, width)
		}
		tn := toneOf(it)
		if it.Failed {
			tn = toneError
		}
		nameWidth := min(14, width/3)
		return line{}.pad(tn, name(it), nameWidth).add(tonePlain, " ").pad(textTone(full, tn), visibleCut(rowSummary(full), width), max(width-nameWidth-1, 1))
	})
}

// compare shows two sessions side by side once they have been read.
func (u *ui) compare(a, b *store.Session) error {
	ctx, cancel := context.WithCancel(u.ctx)
	r := &compareRows{open: map[int]bool{}}
	stories := [2]*story{}
	for i, s := range []*store.Session{a, b} {
		d, err := transcript.DialectOf(ctx, s, u.dialect)
		if err != nil {
			cancel()
			return err
		}
		own := *s
		stories[i] = newStory(ctx, &look{Path: u.path, DB: u.db, Session: &own, Dialect: d})
		u.workFor(stories[i])
	}
	r.a, r.b = stories[0], stories[1]
	p := newPane(u.theme, r)
	ready := false
	v := &view{name: "compare", pane: p, close: cancel}
	v.search = func(text string, back bool) error {
		if !ready {
			return errors.New("the sessions are still being read")
		}
		return u.searchBoth(ctx, r, p, text, back)
	}
	v.title = func() line {
		return plain(fmt.Sprintf(" %d %s  |  %d %s", a.ID, visibleCut(a.Name, 30), b.ID, visibleCut(b.Name, 30)))
	}
	v.status = func() line {
		switch {
		case r.err != nil:
			return line{{"they could not be compared", toneError}}
		case !ready:
			return line{{"comparing... ", toneAsk}}
		}
		differ := 0
		for _, c := range r.list {
			if !c.same {
				differ++
			}
		}
		if differ == 0 {
			return line{{"no differences", toneGood}}
		}
		return line{{count(differ, "difference") + "  ", toneAsk}, {fmt.Sprintf("%d/%d", p.sel+1, len(r.list)), toneDim}}
	}
	u.workers.Go(func() {
		var ts [2]*transcript.Transcript
		var models [2]*exchanges
		var err error
		for i, s := range stories {
			if ts[i], err = s.derive(ctx); err != nil {
				break
			}
			if models[i], err = s.exchanges(ctx); err != nil {
				break
			}
		}
		var list []couple
		if err == nil {
			list, err = compareItems(ctx, ts[0], ts[1])
		}
		u.post(func() {
			if ctx.Err() != nil {
				return
			}
			if r.err = err; err != nil {
				u.fail(err)
				return
			}
			for i, s := range stories {
				s.t, s.llm = ts[i], models[i]
			}
			r.list, ready = list, true
		})
	})
	next := func(step int) func(string) error {
		return func(string) error {
			for i := p.sel + step; i >= 0 && i < len(r.list); i += step {
				if !r.list[i].same {
					p.to(i)
					return nil
				}
			}
			return errors.New("no more differences that way")
		}
	}
	show := func(side int) func(string) error {
		return func(string) error {
			if p.sel >= len(r.list) {
				return errors.New("nothing to open yet")
			}
			index := [2]int{r.list[p.sel].a, r.list[p.sel].b}[side]
			if index < 0 {
				return errors.New("there is nothing on that side")
			}
			su := &sessionUI{u: u, story: r.story(side), seq: 1}
			return su.openItem(r.story(side).t.Item(index))
		}
	}
	v.commands = []command{
		{name: "unfold", keys: []string{"Space", "Enter", "l", "Right"}, bar: "unfold", help: "show what both sides say, or fold it", do: func(string) error { r.open[p.sel] = !r.open[p.sel]; return nil }},
		{name: "next-difference", keys: []string{"d", "]"}, bar: "difference", help: "next difference", do: next(1)},
		{name: "previous-difference", keys: []string{"D", "["}, help: "difference before", do: next(-1)},
		{name: "left-frame", keys: []string{"<"}, bar: "left", help: "the frame at the left", do: show(0)},
		{name: "right-frame", keys: []string{">"}, bar: "right", help: "the frame at the right", do: show(1)},
	}
	u.push(v)
	return nil
}

// searchBoth goes to the next row of which either side has what text says in
// the language of filters.
func (u *ui) searchBoth(ctx context.Context, r *compareRows, p *pane, text string, back bool) error {
	next := func() error {
		if len(r.hits) == 0 {
			return notFound(text)
		}
		i, found := slices.BinarySearch(r.hits, p.sel)
		switch {
		case back:
			i--
		case found:
			i++
		}
		p.to(r.hits[(i+len(r.hits))%len(r.hits)])
		return nil
	}
	if r.sought == text {
		return next()
	}
	f, err := huntFilter(text, nil, false)
	if err != nil {
		return err
	}
	u.say(toneDim, "searching...")
	u.workers.Go(func() {
		var in [2][]bool
		var err error
		for i := range in {
			if in[i], err = itemsOf(ctx, r.story(i).t, f); err != nil {
				break
			}
		}
		u.post(func() {
			if ctx.Err() != nil {
				return
			}
			u.message = nil
			if err == nil {
				r.sought, r.hits = text, nil
				for i, c := range r.list {
					if c.a >= 0 && in[0][c.a] || c.b >= 0 && in[1][c.b] {
						r.hits = append(r.hits, i)
					}
				}
				err = next()
			}
			u.fail(err)
		})
	})
	return nil
}
