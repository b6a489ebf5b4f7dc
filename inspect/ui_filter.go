package inspect

import (
	"context"
	"strings"
)

// filterRows lets the timeline show only what a filter matches; "" shows all.
// The filter that was asked for last is the one that counts.
func (su *sessionUI) filterRows(expr string) error {
	tl := su.line
	if su.filtering != nil {
		su.filtering()
		su.filtering = nil
	}
	if strings.TrimSpace(expr) == "" {
		tl.filter, tl.shown = "", nil
		su.reselect(tl)
		return nil
	}
	f, err := huntFilter(expr, su.story.t, true)
	if err != nil {
		return err
	}
	t := su.story.t
	ctx, cancel := context.WithCancel(su.story.ctx)
	su.filtering = cancel
	su.story.busy++
	su.u.say(toneDim, "filtering...")
	su.u.workers.Go(func() {
		var chosen []bool
		err := su.story.index(ctx, t, f, func(int64) {})
		if err == nil {
			chosen, err = itemsOf(ctx, t, f)
		}
		su.u.post(func() {
			su.story.busy--
			if ctx.Err() != nil {
				return
			}
			su.u.message = nil
			if err != nil {
				su.u.fail(err)
				return
			}
			tl.filter, tl.compiled = expr, f
			tl.items, tl.frames = len(chosen), int64(len(t.Entries))
			tl.shown = []int{}
			for i, in := range chosen {
				if in {
					tl.shown = append(tl.shown, i)
				}
			}
			su.reselect(tl)
		})
	})
	return nil
}

// reselect selects the frame where the user is in the timeline, wherever that
// lies below other views.
func (su *sessionUI) reselect(tl *timeline) {
	for _, v := range su.u.views {
		if v.pane.rows == rows(tl) {
			v.pane.to(tl.rowOf(su.index()))
		}
	}
}

// growFilter takes what has been recorded since into a filtered timeline.
func (su *sessionUI) growFilter() {
	tl, t, ctx := su.line, su.story.t, su.story.ctx
	if tl == nil || tl.shown == nil || t == nil || tl.items == t.Len() && tl.frames == int64(len(t.Entries)) {
		return
	}
	m := tl.compiled.On(t)
	for ; tl.items < t.Len(); tl.items++ {
		it := t.Item(tl.items)
		in := false
		switch {
		case it.Event != nil:
			in = m.MatchEvent(*it.Event)
		case it.Exchange != nil:
			var err error
			in, err = matchesExchange(ctx, t, m, it)
			su.u.fail(err)
		}
		if in {
			tl.show(tl.items)
		}
	}
	from := tl.frames + 1
	tl.frames = int64(len(t.Entries))
	su.u.fail(t.SearchFrom(ctx, tl.compiled, from, func(seq int64) bool {
		if i := t.ItemAt(seq); i >= 0 && holds(t.Item(i), seq) {
			tl.show(i)
		}
		return true
	}, func(int64) {}))
}
