package inspect

import (
	"fmt"
	"strings"

	"agentrec/internal/llm"
	"agentrec/internal/transcript"
)

// exchangeItem is what a page says of an exchange in one line.
func exchangeItem(i int, x *exchange) pageItem {
	said, t := x.outcome()
	host, path := x.place()
	who := fmt.Sprintf("%s %s %s", x.Head.Method, host, path)
	if m := x.Told.Model; m != "" {
		who = m + " at " + host
	}
	return pageItem{
		Index: i, Link: fmt.Sprintf("x%d", x.Head.Number), Tone: toneClass(t), Side: said, Time: clock(x.Head.Time), Way: "⇄",
		Who: visibleCut(who, 120), Facts: visible(strings.Join(exchangeNumbers(x), ", ")), Summary: visibleCut(exchangeSummary(x), 160),
	}
}

// exchanges writes the exchanges one by one: what is new in each request and
// what was answered, then both bodies.
func (p *page) exchanges() {
	if p.story.llm == nil {
		return
	}
	p.part("section", "exchanges")
	list := p.story.llm.list
	for i := range list[:min(len(list), maxRows)] {
		x := &list[i]
		item := exchangeItem(i, x)
		item.Who = fmt.Sprintf("%d", x.Head.Number) + " " + item.Who
		if said := exchangeSaid(x); said != "" {
			item.Parts = append(item.Parts, pagePart{Text: said, Code: true})
		}
		full, err := p.story.look.Session.Exchange(p.story.ctx, x.Head.Number)
		if err != nil {
			p.err = err
			return
		}
		item.Parts = append(item.Parts,
			pagePart{Text: pageBody(requestHead(&full), llm.Decoded(full.Body, full.Header)), Code: true},
			pagePart{Text: pageBody(answerHead(&full), llm.Decoded(llm.AnswerBody(full), full.Answer)), Code: true})
		p.part("exchange", item)
	}
	p.leftOut(len(list))
}

// pageBody is one side of an exchange on the page, cut as frames are.
func pageBody(head string, b []byte) string {
	text := ""
	for i, l := range bodyText(b[:min(len(b), maxBodyText)], 0) {
		if i > 0 {
			text += "\n"
		}
		if text += strings.TrimPrefix(l.String(), margin); len(text) > maxFrameText {
			text = transcript.Clip(text, maxFrameText) + "\n... " + size(int64(len(b))) + " in all"
			break
		}
	}
	return visibleLines(head + "\n\n" + text)
}

// exchangeSaid is what an exchange says, as one text.
func exchangeSaid(x *exchange) string {
	var b strings.Builder
	for _, l := range exchangeBody(x, 0) {
		b.WriteString(strings.TrimPrefix(l.String(), margin) + "\n")
	}
	return visibleLines(b.String())
}
