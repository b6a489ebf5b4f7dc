package inspect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"agentrec/internal/dialect"
	"agentrec/internal/llm"
	"agentrec/internal/transcript"
	"agentrec/store"
)

// exchangePart names an exchange, or one side of it.
type exchangePart struct {
	Number int64  // 0 is none
	Side   string // "request", "answer", or "" for both
}

// parseExchangePart reads the value of --exchange: "3", "3:request", "3:answer".
func parseExchangePart(s string) (exchangePart, error) {
	if s == "" {
		return exchangePart{}, nil
	}
	number, side, split := strings.Cut(s, ":")
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 1 || split && side != "request" && side != "answer" {
		return exchangePart{}, fmt.Errorf("--exchange %q: want an exchange's number, such as 3, or one side of it: 3:request or 3:answer", visibleCut(s, 40))
	}
	return exchangePart{n, side}, nil
}

// exchangeCounts says how the exchanges of a session went.
func exchangeCounts(e *exchanges) jsonCounts {
	c := jsonCounts{Count: len(e.list), Open: e.open}
	for i := range e.list {
		if e.list[i].failed() {
			c.Failed++
		}
		if e.list[i].Head.Attempt > 1 {
			c.Retries++
		}
	}
	return c
}

// exchangesLine says the same in the outcome of a session that has any.
func exchangesLine(l *look, e *exchanges) []line {
	c := exchangeCounts(e)
	if c.Count == 0 {
		return nil
	}
	text, t := count(c.Count, "exchange"), tonePlain
	if c.Failed > 0 {
		text, t = text+fmt.Sprintf(", %d failed", c.Failed), toneError
	}
	switch c.Retries {
	case 0:
	case 1:
		text += ", 1 retry"
	default:
		text += fmt.Sprintf(", %d retries", c.Retries)
	}
	if c.Open > 0 {
		text += fmt.Sprintf(", %d open", c.Open)
	}
	return []line{line{}.pad(toneDim, "model", 10).pad(t, text, max(44, width(text))).add(toneDim, "  agentrec show "+shellWord(l.Path)+l.selector()+" --exchanges")}
}

// showExchanges prints the table of exchanges, or one JSON object each.
func showExchanges(ctx context.Context, p *printer, l *look, o showOptions) error {
	all, err := l.exchanges(ctx)
	if err != nil {
		return err
	}
	list := all.list
	if o.Filter != nil {
		t, err := transcript.Open(ctx, l.Session, l.Dialect)
		if err != nil {
			return err
		}
		chosen, err := chosenExchanges(ctx, t, o.Filter)
		if err != nil {
			return err
		}
		list = nil
		for _, x := range all.list {
			if chosen[x.Head.Number] {
				list = append(list, x)
			}
		}
	}
	if o.JSON {
		for i := range list {
			p.json(exchangeJSON(&list[i], -1))
		}
		return nil
	}
	if len(list) == 0 {
		p.line(line{{"no exchanges", toneDim}})
		return nil
	}
	for _, row := range exchangeTable(list, p.term.Width) {
		p.line(row)
	}
	return nil
}

// showExchange prints one exchange: for reading, as JSON, or its bytes.
func showExchange(ctx context.Context, p *printer, l *look, o showOptions) error {
	full, err := l.Session.Exchange(ctx, o.Exchange.Number)
	if errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("session %d has no exchange %d, it has %s: %w", l.Session.ID, o.Exchange.Number, count(int(l.Session.Exchanged), "exchange"), err)
	}
	if err != nil {
		return fmt.Errorf("reading exchange %d: %w", o.Exchange.Number, err)
	}
	side := o.Exchange.Side
	switch {
	case o.Raw:
		rawExchange(p, &full, side)
	case o.JSON:
		p.json(wholeJSON(&full))
	default:
		for _, row := range exchangeText(&full, exchangeLook{side: side, width: p.term.Width}) {
			p.line(row)
		}
	}
	return nil
}

// rawExchange prints the body of one side as it was on the wire, or of both
// sides with their heads.
func rawExchange(p *printer, x *store.Exchange, side string) {
	if side == "" {
		p.raw(headText(requestHead(x), x.Header))
	}
	if side != "answer" {
		p.raw(x.Body)
	}
	if side == "" {
		p.raw([]byte("\n\n"))
		p.raw(headText(answerHead(x), x.Answer))
	}
	if side != "request" {
		for _, piece := range x.Pieces {
			p.raw(piece.Bytes)
		}
	}
	if side == "" && len(x.Pieces) > 0 {
		p.raw([]byte("\n"))
	}
}

func requestHead(x *store.Exchange) string { return x.Method + " " + x.URL + " " + x.Proto }

func answerHead(x *store.Exchange) string {
	if x.Status == 0 {
		return "no answer: " + x.Error
	}
	return strconv.Itoa(x.Status)
}

func wholeExchange(full *store.Exchange) *exchange {
	x := &exchange{Head: headOnly(*full), Told: llm.Read(*full), Of: max(full.Attempt, 1)}
	x.Messages = len(x.Told.Messages)
	return x
}

func wholeJSON(full *store.Exchange) jsonExchange {
	j := exchangeJSON(wholeExchange(full), -1)
	j.Request = bodyJSON(full.Header, nil, full.Body)
	j.Answer = bodyJSON(full.Answer, full.Trailer, llm.AnswerBody(*full))
	for _, piece := range full.Pieces {
		j.Answer.Pieces = append(j.Answer.Pieces, jsonPiece{micros(piece.Time), len(piece.Bytes)})
	}
	return j
}

// exchangeLook says how an exchange is shown for reading.
type exchangeLook struct {
	side  string // "request", "answer", or "" for both
	fresh []int  // only these messages of the request; nil is all
	bare  bool   // without headers
	width int
}

// exchangeText is one exchange for reading: what was asked with its header, and
// what was answered.
func exchangeText(full *store.Exchange, o exchangeLook) []line {
	x := wholeExchange(full)
	side, width := o.side, o.width
	fields := fieldLines
	if o.bare {
		fields = func([]store.Field) []line { return nil }
	}
	r := &x.Told
	h := &x.Head
	var out []line
	if side != "answer" {
		route := string(h.Route)
		out = append(out,
			line{{fmt.Sprintf("exchange %d", h.Number), toneStrong}, {fmt.Sprintf("  after frame %d, at %s, %s", h.After, clock(h.Time), strings.Join(nonEmpty(route, h.Proto), ", ")), toneDim}},
			line{{h.Method + " ", toneDim}, {h.URL, toneIn}})
		out = append(out, fields(h.Header)...)
		out = append(out, nil)
		out = append(out, askedText(r, llm.Decoded(full.Body, full.Header), o.fresh, width)...)
	}
	if side != "request" {
		said, t := x.outcome()
		l := line{{"answer ", toneStrong}, {said, t}}
		for _, s := range exchangeNumbers(x) {
			l = l.add(toneDim, "  "+s)
		}
		if n := len(full.Pieces); n > 0 {
			l = l.add(toneDim, fmt.Sprintf("  %s in %s", size(h.Received), count(n, "piece")))
		}
		out = append(out, l)
		out = append(out, fields(h.Answer)...)
		out = append(out, nil)
		out = append(out, answerText(x, llm.Decoded(llm.AnswerBody(*full), full.Answer), width)...)
		out = append(out, fields(h.Trailer)...)
	}
	return out
}

func nonEmpty(list ...string) []string {
	var out []string
	for _, s := range list {
		if s != "" {
			out = append(out, s)
		}
	}
	return out
}

func fieldLines(list []store.Field) []line {
	out := make([]line, 0, len(list))
	for _, f := range list {
		out = append(out, line{{f.Name + ": ", toneDim}, {visibleCut(f.Value, 4*maxRow), tonePlain}})
	}
	return out
}

// askedText is what a request says: its messages, or its body as it is.
func askedText(r *llm.Reading, body []byte, fresh []int, width int) []line {
	if len(r.Messages) == 0 {
		return append(bodyText(body, width), nil)
	}
	var out []line
	for _, s := range r.Settings {
		out = append(out, line{}.add(toneDim, margin).pad(toneDim, s.Name, 24).add(tonePlain, " "+visibleCut(oneLine(string(dialect.StripBinary([]byte(s.Value)))), maxRow)))
	}
	for _, t := range r.Tools {
		out = append(out, line{}.add(toneDim, margin+"tool ").add(toneCall, t.Name).add(toneDim, "  "+visibleCut(oneLine(t.Description), 100)))
	}
	if len(out) > 0 {
		out = append(out, nil)
	}
	if n := len(r.Messages) - len(fresh); fresh != nil && n > 0 {
		out = append(out, line{{fmt.Sprintf("%s told before", count(n, "message")), toneDim}}, nil)
	}
	for i := range r.Messages {
		if fresh == nil || slices.Contains(fresh, i) {
			out = append(out, messageRows{r.Messages}.Item(i, width)...)
		}
	}
	return out
}

// answerText is what an answer says: its text, thoughts, calls and how it
// ended, or its body as it is.
func answerText(x *exchange, body []byte, width int) []line {
	r := &x.Told
	said := *x
	said.Told.Messages, said.Told.Tools = nil, nil
	out := exchangeBody(&said, width)
	if len(out) == 0 || r.Wire == llm.WireNone {
		out = append(out, bodyText(body, width)...)
	}
	if r.Finish != "" && plainFinish[r.Finish] {
		out = append(out, line{{margin + "finish    " + r.Finish, toneDim}})
	}
	return out
}

// maxBodyText is how much of a body that is not understood is printed.
const maxBodyText = 1 << 20

// bodyText is a body for reading: JSON indented, text as it is, bytes as how
// many they are.
func bodyText(b []byte, width int) []line {
	switch {
	case len(b) == 0:
		return []line{{{margin + "no body", toneDim}}}
	case !utf8.Valid(b):
		return []line{{{margin + size(int64(len(b))) + " of bytes; --raw prints them", toneDim}}}
	}
	if dialect.Valid(b) {
		b = dialect.StripBinary(b)
	}
	text := prettyJSON(string(b))
	if len(text) > maxBodyText {
		text = cutAt(text, maxBodyText)
	}
	return body(tonePlain, "", text, width)
}

// headText is a first line with the header below it.
func headText(first string, fields []store.Field) []byte {
	b := []byte(first + "\n")
	for _, f := range fields {
		b = append(b, f.Name+": "+f.Value+"\n"...)
	}
	return append(b, '\n')
}
