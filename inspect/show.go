package inspect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"agentrec/internal/transcript"
	"agentrec/store"
)

// showOptions is what `agentrec show` is asked for.
type showOptions struct {
	File         string
	Session      string
	Dialect      string
	Conversation string
	Frames       bool
	Raw          bool
	JSON         bool
	Exchanges    bool         // only the LLM exchanges, as a table
	Exchange     exchangePart // only this one
	Seq          seqs
	Filter       *transcript.Filter // nil is everything
	Color        string
	Out          io.Writer
}

// show prints a session: the outcome, then the conversation; or its frames.
func show(ctx context.Context, o showOptions) error {
	l, err := openLook(ctx, o.File, o.Session, o.Dialect)
	if err != nil {
		return err
	}
	defer l.Close()
	if n := l.Session.Count(); o.Seq.From > max(n, 1) {
		return fmt.Errorf("session %d has no frame %d, it has %s", l.Session.ID, o.Seq.From, count(int(n), "frame"))
	}
	p := newPrinter(o.Out, o.Color)
	switch {
	case o.Exchange.Number > 0:
		err = showExchange(ctx, p, l, o)
	case o.Exchanges:
		err = showExchanges(ctx, p, l, o)
	case o.Raw:
		err = showRaw(ctx, p, l, o)
	case o.Frames:
		err = showFrames(ctx, p, l, o)
	default:
		err = showConversation(ctx, p, l, o)
	}
	return p.finish(err)
}

// showRaw prints the bytes of frames as they stood on the wire.
func showRaw(ctx context.Context, p *printer, l *look, o showOptions) error {
	passes, err := filterFrames(ctx, l, o.Filter)
	if err != nil {
		return err
	}
	for f, err := range l.Session.Frames(ctx, o.Seq.From, o.Seq.To) {
		if err != nil {
			return err
		}
		if !passes(f) {
			continue
		}
		if f.Raw == nil && f.Size > 0 {
			if err := copyGiant(ctx, p, l.Session, f.Seq); err != nil {
				return err
			}
		} else {
			p.raw(f.Raw)
		}
		p.raw([]byte(f.Term.Bytes()))
		if p.stopped() {
			return errReaderGone
		}
	}
	return nil
}

func copyGiant(ctx context.Context, p *printer, s *store.Session, seq int64) error {
	r, err := s.Reader(ctx, seq)
	if err != nil {
		return err
	}
	defer r.Close()
	buf := make([]byte, 256<<10)
	for !p.stopped() {
		n, err := r.Read(buf)
		p.raw(buf[:n])
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading frame %d: %w", seq, err)
		}
	}
	return nil
}

// showFrames prints one line a frame, with the lifecycle events between them.
func showFrames(ctx context.Context, p *printer, l *look, o showOptions) error {
	events, err := l.Session.Events(ctx)
	if err != nil {
		return err
	}
	if o.Filter != nil {
		events = nil
	}
	passes, err := filterFrames(ctx, l, o.Filter)
	if err != nil {
		return err
	}
	before := func(seq int64) {
		for len(events) > 0 && (events[0].After < seq || seq == 0) {
			if o.Seq.has(max(events[0].After, 1)) {
				if o.JSON {
					p.json(eventJSON(&events[0]))
				} else {
					p.line(eventLine(&events[0]))
				}
			}
			events = events[1:]
		}
	}
	room := maxRow
	if p.term.Width > 0 {
		room = max(p.term.Width, 20)
	}
	for f, err := range l.Session.Frames(ctx, o.Seq.From, o.Seq.To) {
		if err != nil {
			return err
		}
		before(f.Seq)
		if !passes(f) {
			continue
		}
		raw, err := headOf(ctx, l.Session, f)
		if err != nil {
			return err
		}
		r := l.Dialect.Read(f.Stream, f.Raw)
		if o.JSON {
			p.json(frameJSON(f, r))
		} else {
			p.line(frameLine(f, r, raw, room))
		}
		if p.stopped() {
			return errReaderGone
		}
	}
	before(0)
	return nil
}

// showConversation prints the outcome and the items of the transcript.
func showConversation(ctx context.Context, p *printer, l *look, o showOptions) error {
	t, err := l.transcript(ctx)
	if err != nil {
		return err
	}
	if err := hasConversation(t, o.Conversation); err != nil {
		return err
	}
	llm, err := l.exchanges(ctx)
	if err != nil {
		return err
	}
	found, err := findingCount(ctx, l)
	if err != nil {
		return err
	}
	outcome := t.Outcome(found)
	if o.JSON {
		j := outcomeJSON(l, t, outcome)
		j.Exchanges = exchangeCounts(llm)
		p.json(j)
	} else {
		for _, line := range append(outcomeLines(l, outcome), exchangesLine(l, llm)...) {
			p.line(line)
		}
	}
	var chosen []bool
	if o.Filter != nil {
		if chosen, err = itemsOf(ctx, t, o.Filter); err != nil {
			return err
		}
	}
	turn, printed := -1, false
	for i, it := range t.Items() {
		if o.Conversation != "" && it.Conversation != o.Conversation || !o.Seq.has(max(it.Seq, 1)) || chosen != nil && !chosen[i] {
			continue
		}
		if p.stopped() {
			return errReaderGone
		}
		printed = true
		if it.Exchange != nil {
			if x := llm.at(it.Exchange.Number); x != nil && o.JSON {
				p.json(exchangeJSON(x, it.Turn))
			} else if x != nil {
				for _, line := range exchangeBlock(x, p.term.Width) {
					p.line(line)
				}
			}
			continue
		}
		c, err := contentOf(ctx, t, it, maxBlock)
		if err != nil {
			return err
		}
		if o.JSON {
			p.json(itemJSON(i, it, c))
			continue
		}
		if it.Kind == transcript.KindPrompt && it.Turn != turn {
			p.line(nil)
		}
		turn = it.Turn
		for _, line := range block(it, c, p.term.Width) {
			p.line(line)
		}
	}
	if chosen != nil && !printed && !o.JSON {
		p.line(line{{"the filter chooses nothing", toneDim}})
	}
	return nil
}

// hasConversation refuses the name of a conversation that a session does not
// have.
func hasConversation(t *transcript.Transcript, name string) error {
	if name == "" || slices.ContainsFunc(t.Conversations, func(c transcript.Conversation) bool { return c.Name == name }) {
		return nil
	}
	var has []string
	for _, c := range t.Conversations[:min(len(t.Conversations), 10)] {
		has = append(has, visibleCut(c.Name, 60))
	}
	if len(has) == 0 {
		return fmt.Errorf("session %d names no conversation %q, nor any other", t.Session.ID, visibleCut(name, 60))
	}
	return fmt.Errorf("session %d has no conversation %q; it has %s", t.Session.ID, visibleCut(name, 60), strings.Join(has, ", "))
}

// filterFrames returns which frames a filter lets through.
func filterFrames(ctx context.Context, l *look, f *transcript.Filter) (func(store.Frame) bool, error) {
	if f == nil {
		return func(store.Frame) bool { return true }, nil
	}
	t, err := l.transcript(ctx)
	if err != nil {
		return nil, err
	}
	m := f.On(t)
	return func(f store.Frame) bool {
		_, known := t.Entry(f.Seq)
		return known && m.Match(f)
	}, nil
}

// outcomeLines is the outcome with the command that shows each of its lines.
func outcomeLines(l *look, o transcript.Outcome) []line {
	file := shellWord(l.Path) + l.selector()
	var out []line
	for _, x := range o.Lines() {
		t := tonePlain
		if x.Bad {
			t = toneError
		}
		command := ""
		switch {
		case x.Name == "findings" || x.Name == "ended":
			command = "agentrec check " + file
		case x.Filter != "":
			command = "agentrec show " + file + selection(x.Filter)
		}
		row := line{}.pad(toneDim, x.Name, 10)
		if command == "" {
			row = row.add(t, x.Text)
		} else {
			row = row.pad(t, x.Text, max(44, width(x.Text))).add(toneDim, "  "+command)
		}
		out = append(out, row)
	}
	return out
}

// selector is the flag that names the session where there are several.
func (l *look) selector() string {
	if l.several {
		return fmt.Sprintf(" --session %d", l.Session.ID)
	}
	return ""
}

// selection is the flag that shows what a filter says.
func selection(filter string) string {
	if seq, ok := strings.CutPrefix(filter, "seq = "); ok {
		return " --seq " + seq
	}
	return " --filter " + shellWord(filter)
}
