package inspect

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"agentrec/internal/llm"
	"agentrec/internal/transcript"
	"agentrec/store"
)

// exchangeHit is a place in an exchange where the text was found.
type exchangeHit struct {
	head       store.Exchange
	side       string // "request" or "answer"
	model      string
	text       string
	start, end int
}

// inExchanges searches the exchanges of a session that the filter chooses. A
// request repeats what the ones before it said: it is a hit where its new
// messages hold the text, or all of it holds what the request before did not.
func (g *grepper) inExchanges(ctx context.Context, t *transcript.Transcript) ([]exchangeHit, error) {
	if t.Session.Exchanged == 0 {
		return nil, nil
	}
	var chosen map[int64]bool
	if g.Filter.NeedsFrames() {
		var err error
		if chosen, err = chosenExchanges(ctx, t, g.Filter); err != nil {
			return nil, err
		}
	}
	var hits []exchangeHit
	var history llm.History
	before := false // the request before holds the text
	for x, err := range t.Session.Exchanges(ctx) {
		if err != nil {
			return nil, fmt.Errorf("reading the exchanges of session %d: %w", t.Session.ID, err)
		}
		r := llm.Read(x)
		fresh := append([]int{}, history.Next(r)...)
		body, answer := llm.Decoded(x.Body, x.Header), llm.Decoded(llm.AnswerBody(x), x.Answer)
		add := func(side, text string, at []int) {
			if chosen != nil && !chosen[x.Number] {
				return
			}
			h := exchangeHit{head: headOnly(x), side: side, model: strings.Clone(r.Model)}
			text, h.start, h.end = surroundings([]byte(text), at)
			h.text = text
			hits = append(hits, h)
		}
		in, rawAt := g.find.find(body)
		if text, at := g.inMessages(&r, fresh); at != nil {
			add("request", text, at)
		} else if rawAt != nil && !before {
			if _, old := g.inMessages(&r, nil); old == nil {
				add("request", string(in), rawAt)
			}
		}
		before = rawAt != nil
		said := strings.Join(nonEmpty(r.Text, r.Thought, callTexts(&r)), "\n")
		if at := g.find.findText(said); at != nil {
			add("answer", said, at)
		} else if in, at := g.find.find(answer); at != nil {
			add("answer", string(in), at)
		}
	}
	return hits, nil
}

// inMessages looks for the text in some messages of a request, nil for all.
func (g *grepper) inMessages(r *llm.Reading, some []int) (string, []int) {
	for k, m := range r.Messages {
		if some != nil && !slices.Contains(some, k) {
			continue
		}
		said := []string{m.Text, m.Reasoning}
		for _, c := range m.Calls {
			said = append(said, c.Name+" "+c.Args)
		}
		for _, s := range said {
			if at := g.find.findText(s); at != nil {
				return s, at
			}
		}
	}
	return "", nil
}

func callTexts(r *llm.Reading) string {
	var list []string
	for _, c := range r.Calls {
		list = append(list, c.Name+" "+c.Args)
	}
	return strings.Join(list, "\n")
}

// exchangeHit reports a hit in an exchange.
func (g *grepper) exchangeHit(file string, t *transcript.Transcript, h *exchangeHit) {
	if g.Count {
		return
	}
	if g.JSON {
		g.print.json(hit{
			Object: "hit", File: file, Session: t.Session.ID, UID: t.Session.UID, Seq: h.head.After, Last: h.head.After, TimeUS: h.head.Time.Microseconds(),
			Exchange: h.head.Number, Side: h.side, Label: h.model, Text: h.text, Start: h.start, End: h.end,
		})
		return
	}
	var l line
	if g.many {
		l = l.add(toneDim, g.place(file, t.Session)+" ")
	}
	side := toneIn
	if h.side == "answer" {
		side = toneOut
	}
	l = l.pad(toneDim, fmt.Sprintf("e%d", h.head.Number), 8).add(toneDim, fmt.Sprintf(" %8s ", clock(h.head.Time))).pad(side, h.side+" "+h.model, 24).add(tonePlain, " ")
	l = l.add(tonePlain, visible(h.text[:h.start])).add(toneMark, visible(h.text[h.start:h.end])).add(tonePlain, visible(h.text[h.end:]))
	g.print.line(l)
}
