package inspect

import (
	"errors"
	"fmt"

	"agentrec/internal/transcript"
)

// exchangeRows is the list of exchanges of a session.
type exchangeRows struct {
	su    *sessionUI
	table []line
	width int
	state string // what the table was laid from
}

// Len returns the number of exchanges that have been read.
func (r *exchangeRows) Len() int {
	if x := r.su.story.llm; x != nil {
		return len(x.list)
	}
	return 0
}

// Item returns the line of an exchange.
func (r *exchangeRows) Item(i, width int) []line {
	r.lay(width)
	return []line{r.table[i+1]}
}

// head names the columns.
func (r *exchangeRows) head(width int) line {
	r.lay(width)
	return r.table[0]
}

// lay makes the table for a width, anew when exchanges have come or gone on.
func (r *exchangeRows) lay(width int) {
	var list []exchange
	state := "none"
	if x := r.su.story.llm; x != nil {
		list = x.list
		state = fmt.Sprint(len(list), " ", x.reads)
	}
	if r.table == nil || r.width != width || r.state != state {
		r.table, r.width, r.state = exchangeTable(list, width), width, state
	}
}

// exchangesView lists the exchanges of a session.
func (su *sessionUI) exchangesView() *view {
	r := &exchangeRows{su: su}
	p := newPane(su.u.theme, r)
	v := &view{name: "exchanges", pane: p, head: r.head}
	v.search = func(text string, back bool) error {
		f, err := huntFilter(text, nil, false)
		if err != nil {
			return err
		}
		return su.searchFor("exchange and ("+f.String()+")", text, back)
	}
	wanted := su.exchange // to be selected as soon as it has been read
	arrive := func() bool {
		if wanted == 0 || wanted > int64(r.Len()) {
			return false
		}
		p.to(int(wanted - 1))
		wanted = 0
		return true
	}
	arrive()
	v.tick = func() bool {
		grown := su.story.grow()
		return arrive() || grown
	}
	selected := func() *exchange {
		if r.Len() == 0 {
			return nil
		}
		return &su.story.llm.list[p.sel]
	}
	v.status = func() line {
		if x := selected(); x != nil {
			if wanted == 0 {
				su.seq, su.exchange = max(x.Head.After, 1), x.Head.Number
			}
			if int64(r.Len()) < su.story.look.Session.Exchanged {
				return line{{"reading... ", toneAsk}}.and(su.place(p))
			}
			return line{{visibleCut(exchangeSummary(x), 40) + "  ", toneDim}}.and(su.place(p))
		}
		if su.story.look.Session.Exchanged == 0 {
			return line{{"no exchanges: record with --llm", toneDim}}
		}
		return line{{"reading... ", toneAsk}}
	}
	next := func(step int) func(string) error {
		return func(string) error {
			for i := p.sel + step; i >= 0 && i < r.Len(); i += step {
				if su.story.llm.list[i].failed() {
					p.to(i)
					return nil
				}
			}
			return errors.New("no more errors that way")
		}
	}
	v.commands = []command{
		{name: "open", keys: []string{"Enter", "l", "Right"}, bar: "exchange", help: "the exchange: what was asked and answered", do: func(string) error {
			if x := selected(); x != nil {
				return su.openExchange(x.Head.Number)
			}
			return errors.New("the session has no exchanges")
		}},
		{name: "frame", keys: []string{"%"}, bar: "frame", help: "the frame before the exchange", do: func(string) error {
			if x := selected(); x != nil && x.Head.After > 0 {
				return su.openFrame(x.Head.After)
			}
			return errors.New("there is no frame before it")
		}},
		{name: "next-error", keys: []string{"e"}, bar: "error", help: "next exchange that went wrong", do: next(1)},
		{name: "previous-error", keys: []string{"E"}, help: "exchange before that went wrong", do: next(-1)},
	}
	return v
}

// openItem opens what an item is about: its frame or its exchange.
func (su *sessionUI) openItem(it transcript.Item) error {
	if it.Exchange != nil {
		return su.openExchange(it.Exchange.Number)
	}
	if su.story.look.Session.Count() == 0 {
		return errors.New("the session has no frames")
	}
	return su.openFrame(max(it.Seq, 1))
}

// index returns the item that stands for the place of the user.
func (su *sessionUI) index() int {
	if su.exchange > 0 {
		if i := su.story.t.ItemOf(su.exchange); i >= 0 {
			return i
		}
	}
	return max(su.story.t.ItemAt(su.seq), 0)
}
