package inspect

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"agentrec/internal/llm"
	"agentrec/internal/transcript"
	"agentrec/store"
)

// exchangeDetail is one exchange on the screen.
type exchangeDetail struct {
	su    *sessionUI
	full  store.Exchange
	x     *exchange
	fresh []int  // messages that were not told before; nil is all
	mode  string // of exchangeModes
	pane  *pane
	tree  *jsonTree // of the request or the answer; nil where that is not shown
}

// exchangeModes are the ways to look at an exchange, in the order of Tab.
var exchangeModes = []string{"read", "request", "answer", "raw", "request bytes", "answer bytes"}

// openExchange shows an exchange.
func (su *sessionUI) openExchange(number int64) error {
	d := &exchangeDetail{su: su, mode: "read", pane: newPane(su.u.theme, lines{})}
	if err := d.load(number); err != nil {
		return err
	}
	v := &view{name: "exchange", pane: d.pane, title: d.title, status: d.status, commands: d.commands(), search: searchLines(d.pane)}
	v.tick = d.tick
	su.u.push(v)
	return nil
}

// load puts an exchange on the screen.
func (d *exchangeDetail) load(number int64) error {
	s := d.su.story
	full, err := s.look.Session.Exchange(s.ctx, number)
	if err != nil {
		return fmt.Errorf("reading exchange %d: %w", number, err)
	}
	d.full, d.x = full, wholeExchange(&full)
	if x := s.llm.at(number); x != nil {
		d.x.Of, d.fresh = x.Of, append([]int{}, x.Fresh...)
	}
	d.su.exchange, d.su.seq = number, max(full.After, 1)
	d.setMode(d.mode)
	return nil
}

// tick takes in what an open exchange has become.
func (d *exchangeDetail) tick() bool {
	d.su.story.grow()
	if d.full.End != "" {
		return false
	}
	x := d.su.story.llm.at(d.full.Number)
	if x == nil || x.Head.End == "" && x.Head.Received == d.full.Received && x.Head.Status == d.full.Status {
		return false
	}
	sel, top, off, tail := d.pane.sel, d.pane.top, d.pane.off, d.pane.tail
	if err := d.load(d.full.Number); err != nil {
		d.su.u.fail(err)
		return true
	}
	d.pane.sel, d.pane.top, d.pane.off, d.pane.tail = sel, top, off, tail
	return true
}

// setMode chooses how the exchange is shown.
func (d *exchangeDetail) setMode(mode string) {
	d.mode, d.tree = mode, nil
	request := llm.Decoded(d.full.Body, d.full.Header)
	answer := llm.Decoded(llm.AnswerBody(d.full), d.full.Answer)
	switch mode {
	case "read":
		d.pane.rows = hanging(exchangeText(&d.full, exchangeLook{fresh: d.fresh, bare: true}))
	case "request":
		d.showTree(request)
	case "answer":
		if events := llm.Events(d.full); len(events) > 0 {
			d.pane.rows = hanging(eventLines(events))
		} else {
			d.showTree(answer)
		}
	case "raw":
		d.pane.rows = &textRows{lines: append(rawLines(headText(requestHead(&d.full), d.full.Header), d.full.Body), rawLines(headText("\n"+answerHead(&d.full), d.full.Answer), llm.AnswerBody(d.full))...)}
	case "request bytes":
		d.pane.rows = bytesRows(d.full.Body)
	case "answer bytes":
		d.pane.rows = bytesRows(llm.AnswerBody(d.full))
	}
	_, hang := d.pane.rows.(*hangingRows)
	_, text := d.pane.rows.(*textRows)
	d.pane.bar = hang || text // long lines are read, not stepped over
	d.pane.sel, d.pane.top, d.pane.off, d.pane.tail = 0, 0, 0, false
}

// showTree shows a body as a tree, or as text when it is no JSON.
func (d *exchangeDetail) showTree(b []byte) {
	if d.tree = newJSONTree(b); d.tree != nil {
		d.pane.rows = d.tree
		return
	}
	d.pane.rows = &textRows{lines: rawLines(nil, b)}
}

// rawLines are the lines of a head and a body, cut where that is long.
func rawLines(head, b []byte) []span {
	text := string(head) + string(b[:min(len(b), maxText)])
	var out []span
	for l := range strings.SplitSeq(text, "\n") {
		out = append(out, span{l, tonePlain})
	}
	if len(b) > maxText {
		out = append(out, span{fmt.Sprintf("... %s more; the bytes have all of it", size(int64(len(b)-maxText))), toneDim})
	}
	return out
}

// bytesRows shows bytes that are at hand.
func bytesRows(b []byte) *hexRows {
	return &hexRows{frame: store.Frame{Raw: b, Size: int64(len(b))}, bytes: append([]byte{}, b...)}
}

// eventLines are the events of a stream, each with when it came.
func eventLines(list []llm.Event) []line {
	out := make([]line, 0, len(list))
	for _, e := range list {
		at := ""
		if e.Time >= 0 {
			at = "+" + lasting(e.Time)
		}
		l := line{}.add(toneDim, fmt.Sprintf("%8s  ", at))
		if e.Name != "" {
			l = l.add(toneIn, e.Name+" ")
		}
		out = append(out, l.add(tonePlain, cutText(e.Data)))
	}
	return out
}

// hangingRows are lines of which the last span wraps, below itself.
type hangingRows struct {
	lines []line
	laid  memo[[]line]
}

func hanging(list []line) *hangingRows { return &hangingRows{lines: list} }

// Len returns the number of lines.
func (r *hangingRows) Len() int { return max(len(r.lines), 1) }

// Item returns a line, wrapped.
func (r *hangingRows) Item(i, w int) []line {
	if i >= len(r.lines) {
		return []line{{}}
	}
	return r.laid.get(i, transcript.Item{}, w, func() []line { return hangingLines(r.lines[i], w) })
}

// hangingLines wraps the last span of a line to w columns, below itself.
func hangingLines(l line, w int) []line {
	if len(l) == 0 {
		return []line{{}}
	}
	front := l[: len(l)-1 : len(l)-1] // appending to it must not write into l
	last := l[len(l)-1]
	indent := width(visible(front.String()))
	if indent > w/2 {
		front, indent = nil, len(margin)
		last = span{l.String(), last.Tone}
	}
	var out []line
	for k, text := range wrap(last.Text, max(w-indent, 8)) {
		if k == 0 {
			out = append(out, front.and(line{{text, last.Tone}}))
			continue
		}
		out = append(out, line{{strings.Repeat(" ", indent), tonePlain}, {text, last.Tone}})
	}
	return out
}

func (d *exchangeDetail) title() line {
	host, path := d.x.place()
	text := fmt.Sprintf(" e%d %s %s%s", d.full.Number, d.full.Method, host, visibleCut(path, 40))
	if m := d.x.Told.Model; m != "" {
		text += " · " + visibleCut(m, 30)
	}
	said, _ := d.x.outcome()
	text += " · " + said + " · " + clock(d.full.Time)
	if d.x.Of > 1 {
		text += fmt.Sprintf(" · attempt %d of %d", max(d.full.Attempt, 1), d.x.Of)
	}
	return plain(text)
}

func (d *exchangeDetail) status() line {
	l := line{}
	if d.tree != nil && d.tree.Len() > 0 {
		l = l.add(toneIn, visibleCut(d.tree.path(d.pane.sel), 60)+"  ")
	}
	return l.add(toneDim, d.mode)
}

func (d *exchangeDetail) commands() []command {
	mode := func(i int) func(string) error {
		return func(string) error { d.setMode(exchangeModes[i]); return nil }
	}
	step := func(n int64) func(string) error {
		return func(string) error {
			number := d.full.Number + n
			if number < 1 || number > d.su.story.look.Session.Exchanged {
				return errors.New("no more exchanges that way")
			}
			return d.load(number)
		}
	}
	folds := d.su.u.foldCommands(d.pane, func() *jsonTree { return d.tree }, "2 and 3 show one")
	folds[0].bar = "" // most looks at an exchange have no tree
	return append(folds, []command{
		{name: "read", keys: []string{"1"}, help: "new messages, answer, calls; m shows all messages", do: mode(0)},
		{name: "messages", keys: []string{"m"}, help: "all messages of the request, or the new ones", do: func(string) error {
			if x := d.su.story.llm.at(d.full.Number); d.fresh == nil && x != nil {
				d.fresh = append([]int{}, x.Fresh...)
			} else {
				d.fresh = nil
			}
			d.setMode("read")
			return nil
		}},
		{name: "request", keys: []string{"2"}, help: "the request as a tree", do: mode(1)},
		{name: "answer", keys: []string{"3"}, help: "the answer as a tree, of a stream its events with their times", do: mode(2)},
		{name: "raw", keys: []string{"4"}, help: "request and answer as they were on the wire", do: mode(3)},
		{name: "request-bytes", keys: []string{"5"}, help: "the exact bytes of the request's body", do: mode(4)},
		{name: "answer-bytes", keys: []string{"6"}, help: "the exact bytes of the answer's body", do: mode(5)},
		{name: "next-mode", keys: []string{"Tab"}, bar: "view", help: "read, request, answer, raw, bytes", do: func(string) error {
			for i, m := range exchangeModes {
				if m == d.mode {
					d.setMode(exchangeModes[(i+1)%len(exchangeModes)])
					break
				}
			}
			return nil
		}},
		{name: "next-exchange", keys: []string{"]", "J"}, bar: "next", help: "next exchange", do: step(1)},
		{name: "previous-exchange", keys: []string{"[", "K"}, help: "exchange before", do: step(-1)},
		{name: "frame", keys: []string{"%"}, bar: "frame", help: "the frame before the exchange", do: func(string) error {
			if d.full.After == 0 {
				return errors.New("there is no frame before it")
			}
			return d.su.openFrame(d.full.After)
		}},
		{name: "copy", keys: []string{"y"}, bar: "copy", help: "copy the answer's text, or the value selected in the tree (OSC 52)", do: d.copy},
		{name: "save", keys: []string{"w"}, help: "write the body on show (else the answer's) to a new file", do: d.save},
	}...)
}

// copy puts the answer's text, or the selected value, on the clipboard of the
// terminal.
func (d *exchangeDetail) copy(string) error {
	what, b := "the answer", []byte(d.x.Told.Text)
	if d.tree != nil && d.tree.Len() > 0 {
		what, b = d.tree.path(d.pane.sel), d.tree.text(d.pane.sel)
	}
	if len(b) == 0 {
		return errors.New("the answer has no text")
	}
	return d.su.u.copy(what, b)
}

// save writes a body to a file that does not exist yet.
func (d *exchangeDetail) save(name string) error {
	b, side := llm.AnswerBody(d.full), "answer"
	if strings.HasPrefix(d.mode, "request") {
		b, side = d.full.Body, "request"
	}
	return d.su.u.save("the "+side, name, fmt.Sprintf("exchange-%d-%s.txt", d.full.Number, side), func(f *os.File) error {
		_, err := f.Write(b)
		return err
	})
}
