package inspect

import (
	"errors"
	"fmt"

	"agentrec/internal/transcript"
)

// timelineView shows the session as a timeline.
func (su *sessionUI) timelineView() *view {
	if su.line == nil {
		su.line = newTimeline(su.story)
		su.line.mark(su.marks)
	}
	tl := su.line
	p := newPane(su.u.theme, tl)
	v := &view{name: "timeline", pane: p}
	p.to(tl.rowOf(su.index()))
	v.tick = func() bool {
		grown := su.story.grow()
		su.growFilter()
		return grown
	}
	v.status = func() line {
		l := su.place(p)
		if tl.Len() > 0 {
			su.seq = su.keepSeq(tl.index(p.sel))
		}
		if m := tl.markAt(p.sel); m != "" {
			l = line{{"! " + visibleCut(m, 50), toneError}, {"  ", tonePlain}}.and(l)
		}
		if tl.filter != "" {
			l = line{{fmt.Sprintf("%d of %d: %s", tl.Len(), su.story.t.Len(), visibleCut(tl.filter, 30)), toneMark}, {" ", tonePlain}}.and(l)
		}
		if tl.mode != sinceStart {
			l = line{{"time " + tl.mode.String() + "  ", toneDim}}.and(l)
		}
		return l
	}
	v.search = su.search
	at := func() (transcript.Item, error) {
		if tl.Len() == 0 {
			return transcript.Item{}, errors.New("the session has no frames yet")
		}
		return su.story.t.Item(tl.index(p.sel)), nil
	}
	next := func(what string, step int, is func(transcript.Item) bool) func(string) error {
		return func(string) error {
			for i := p.sel + step; i >= 0 && i < tl.Len(); i += step {
				if is(su.story.t.Item(tl.index(i))) {
					p.to(i)
					return nil
				}
			}
			return fmt.Errorf("no more %s that way", what)
		}
	}
	finding := func(step int) func(string) error {
		return func(string) error {
			if !su.checkedNow() {
				su.check()
				return errors.New("still looking for findings; try again when that is done")
			}
			for i := p.sel + step; i >= 0 && i < tl.Len(); i += step {
				if tl.markAt(i) != "" {
					p.to(i)
					return nil
				}
			}
			return errors.New("no more findings that way; 4 lists them")
		}
	}
	isTurn := func(it transcript.Item) bool { return it.Kind == transcript.KindPrompt && it.Turn >= 0 }
	isCall := func(it transcript.Item) bool { return it.Kind == transcript.KindCall }
	isError := func(it transcript.Item) bool {
		return it.Failed || it.Kind == transcript.KindError || it.Kind == transcript.KindEvent && it.Event.Exit != nil && it.Event.Exit.Code != 0
	}
	isExchange := func(it transcript.Item) bool { return it.Exchange != nil }
	isOpen := func(it transcript.Item) bool { return it.Took < 0 }
	v.commands = []command{
		{name: "open", keys: []string{"Enter"}, bar: "frame", help: "the frame as tree, text and bytes", do: func(string) error {
			it, err := at()
			if err != nil {
				return err
			}
			return su.openItem(it)
		}},
		{name: "unfold", keys: []string{"Space"}, bar: "unfold", help: "show what the row says in full, or fold it", do: func(string) error {
			if tl.Len() > 0 {
				i := tl.index(p.sel)
				if tl.open[i] {
					delete(tl.open, i)
				} else {
					tl.open[i] = true
				}
			}
			return nil
		}},
		{name: "in", keys: []string{"l", "Right"}, help: "show what the row says in full", do: func(string) error {
			if tl.Len() > 0 {
				tl.open[tl.index(p.sel)] = true
			}
			return nil
		}},
		{name: "out", keys: []string{"h", "Left"}, help: "fold the row; back, when it is folded", do: func(string) error {
			if tl.Len() > 0 && tl.open[tl.index(p.sel)] {
				delete(tl.open, tl.index(p.sel))
			} else {
				su.u.back()
			}
			return nil
		}},
		{name: "unfold-all", keys: []string{"*"}, help: "fold all rows, or unfold all calls and texts", do: func(string) error {
			if len(tl.open) > 0 {
				clear(tl.open)
				return nil
			}
			for i := range min(tl.Len(), maxUnfold) {
				tl.open[tl.index(i)] = true
			}
			return nil
		}},
		{name: "next-turn", keys: []string{"]"}, bar: "turn", help: "next turn", do: next("turns", 1, isTurn)},
		{name: "previous-turn", keys: []string{"["}, help: "turn before", do: next("turns", -1, isTurn)},
		{name: "next-call", keys: []string{"c"}, bar: "call", help: "next tool call", do: next("calls", 1, isCall)},
		{name: "previous-call", keys: []string{"C"}, help: "tool call before", do: next("calls", -1, isCall)},
		{name: "next-exchange", keys: []string{"i"}, help: "next LLM exchange", do: next("exchanges", 1, isExchange)},
		{name: "previous-exchange", keys: []string{"I"}, help: "LLM exchange before", do: next("exchanges", -1, isExchange)},
		{name: "next-error", keys: []string{"e"}, bar: "error", help: "next error", do: next("errors", 1, isError)},
		{name: "previous-error", keys: []string{"E"}, help: "error before", do: next("errors", -1, isError)},
		{name: "next-finding", keys: []string{"x"}, help: "next row that check has a finding about", do: finding(1)},
		{name: "previous-finding", keys: []string{"X"}, help: "finding before", do: finding(-1)},
		{name: "next-open", keys: []string{"o"}, help: "next request or call without an answer", do: next("open requests", 1, isOpen)},
		{name: "previous-open", keys: []string{"O"}, help: "request or call before without an answer", do: next("open requests", -1, isOpen)},
		{name: "filter", keys: []string{"f"}, bar: "filter", help: "show only what a filter matches; empty shows all", do: func(arg string) error {
			if arg != "" {
				return su.filterRows(arg)
			}
			su.u.typeLine("filter: ", tl.filter, func(typed string) []string { return transcript.CompleteFilter(typed, su.story.t) }, su.filterRows)
			return nil
		}, args: func() []string { return transcript.CompleteFilter("", su.story.t) }},
		{name: "time", keys: []string{"t"}, help: "time since the start, the row before, the mark, or of day", do: func(string) error {
			tl.mode = (tl.mode + 1) % timeModes
			return nil
		}},
		{name: "mark", keys: []string{"m"}, help: "show times relative to this row", do: func(string) error {
			it, err := at()
			if err == nil {
				tl.marked, tl.mode = it.Time, sinceMark
			}
			return err
		}},
		{name: "pair", keys: []string{"%"}, help: "open the answer of the request, or the result of the call", do: func(string) error {
			it, err := at()
			if err != nil {
				return err
			}
			switch {
			case it.Exchange != nil:
				return su.openItem(it)
			case it.Event != nil:
				return errors.New("what happens to the agent has no partner")
			}
			seq, err := su.pair(it.Seq)
			if err != nil {
				return err
			}
			return su.openFrame(seq)
		}},
	}
	v.commands = append(v.commands, su.rowCommands("", func() int {
		if tl.Len() == 0 {
			return -1
		}
		return tl.index(p.sel)
	})...)
	return v
}

// maxUnfold bounds how many rows are unfolded at once.
const maxUnfold = 100_000

// chatView shows the session as a conversation.
func (su *sessionUI) chatView() *view {
	c := newChat(su.story)
	p := newPane(su.u.theme, c)
	p.bar = true
	v := &view{name: "conversation", pane: p}
	p.to(c.rowOf(su.index()))
	v.tick = func() bool {
		grown := su.story.grow()
		c.grow()
		return grown
	}
	v.status = func() line {
		if c.Len() > 0 {
			su.seq = su.keepSeq(c.index(p.sel))
		}
		return su.place(p)
	}
	v.search = su.search
	next := func(what string, step int, kinds ...transcript.Kind) func(string) error {
		return func(string) error {
			for i := p.sel + step; i >= 0 && i < c.Len(); i += step {
				it := su.story.t.Item(c.index(i))
				for _, k := range kinds {
					if it.Kind == k || k == transcript.KindError && it.Failed {
						p.to(i)
						return nil
					}
				}
			}
			return fmt.Errorf("no more %s that way", what)
		}
	}
	v.commands = []command{
		{name: "open", keys: []string{"Enter", "l", "Right"}, bar: "frame", help: "the frame as tree, text and bytes", do: func(string) error {
			if c.Len() == 0 {
				return errors.New("nothing was said yet")
			}
			return su.openItem(su.story.t.Item(c.index(p.sel)))
		}},
		{name: "next-turn", keys: []string{"]"}, bar: "turn", help: "next turn", do: next("turns", 1, transcript.KindPrompt)},
		{name: "previous-turn", keys: []string{"["}, help: "turn before", do: next("turns", -1, transcript.KindPrompt)},
		{name: "next-call", keys: []string{"c"}, bar: "call", help: "next tool call", do: next("calls", 1, transcript.KindCall)},
		{name: "previous-call", keys: []string{"C"}, help: "tool call before", do: next("calls", -1, transcript.KindCall)},
		{name: "next-error", keys: []string{"e"}, bar: "error", help: "next error", do: next("errors", 1, transcript.KindError)},
		{name: "previous-error", keys: []string{"E"}, help: "error before", do: next("errors", -1, transcript.KindError)},
	}
	v.commands = append(v.commands, su.rowCommands("copy", func() int {
		if c.Len() == 0 {
			return -1
		}
		return c.index(p.sel)
	})...)
	return v
}

// keepSeq returns the frame that stands for an item: the selected one while it
// belongs to the item, so that a hit within it is not lost, else its first.
func (su *sessionUI) keepSeq(index int) int64 {
	su.exchange = 0
	if x := su.story.t.Item(index).Exchange; x != nil {
		su.exchange = x.Number
		return max(x.After, 1)
	}
	if su.story.t.ItemAt(su.seq) == index {
		return su.seq
	}
	return max(su.story.t.Item(index).Seq, 1)
}
