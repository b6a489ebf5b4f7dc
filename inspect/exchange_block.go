package inspect

import (
	"fmt"
	"strconv"
	"strings"

	"agentrec/internal/dialect"
	"agentrec/internal/llm"
)

// exchangeBlock renders an exchange for reading: a head line and, indented, what
// it says.
func exchangeBlock(x *exchange, width int) []line {
	head := line{}.add(toneDim, fmt.Sprintf("%5s ⇄ %9s  ", "e"+strconv.FormatInt(x.Head.Number, 10), clock(x.Head.Time)))
	return append([]line{head.and(exchangeFacts(x))}, exchangeBody(x, width)...)
}

// exchangeRow is an exchange on one row of a timeline: how it ended, the model
// or the server, how long it took, what it says.
func exchangeRow(x *exchange, room int) line {
	said, t := x.outcome()
	name := x.Told.Model
	if name == "" {
		name, _ = x.place()
	}
	took := "open"
	if x.Told.Took >= 0 {
		took = lasting(x.Told.Took)
	}
	rt := toneAsk
	if t == toneError {
		rt = toneError
	}
	l := line{{"⇄ ", toneDim}}.pad(rt, name, 17).add(toneDim, fmt.Sprintf("%6s ", took))
	if x.Of > 1 {
		said = strings.TrimSpace(said + fmt.Sprintf(" try %d/%d", max(x.Head.Attempt, 1), x.Of))
	}
	l = l.add(t, said+" ")
	if u := x.Told.Usage; u.Known {
		l = l.add(toneDim, fmt.Sprintf("%d→%d ", u.Input, u.Output))
	}
	return l.add(tonePlain, visibleCut(exchangeSummary(x), max(room, maxRow)))
}

// exchangeFacts are the parts of the line that an exchange is told in, the
// places at its front first.
func exchangeFacts(x *exchange) line {
	host, path := x.place()
	l := line{{x.Head.Method + " ", toneDim}, {host, toneStrong}, {" " + visibleCut(path, 80), toneDim}}
	said, t := x.outcome()
	if m := x.Told.Model; m != "" {
		l = l.add(tonePlain, "  "+visibleCut(m, 40))
	}
	l = l.add(t, "  "+said)
	for _, s := range exchangeNumbers(x) {
		l = l.add(toneDim, "  "+s)
	}
	return l
}

// exchangeNumbers says when and how much: what is known of it.
func exchangeNumbers(x *exchange) []string {
	r := &x.Told
	var list []string
	if r.FirstByte >= 0 && x.Head.Status > 0 {
		list = append(list, "ttfb "+lasting(r.FirstByte))
	}
	if r.Took >= 0 {
		list = append(list, lasting(r.Took))
	}
	if u := tokens(r.Usage); u != "" {
		list = append(list, u)
	}
	switch {
	case r.Vectors > 0:
		list = append(list, fmt.Sprintf("%s of %d", count(r.Vectors, "vector"), r.Dimensions))
	case len(r.Models) > 0:
		list = append(list, count(len(r.Models), "model"))
	case r.Wire == llm.WireNone:
		list = append(list, size(x.Head.Sent)+" → "+size(x.Head.Received))
	}
	if x.Of > 1 {
		list = append(list, fmt.Sprintf("attempt %d of %d", max(x.Head.Attempt, 1), x.Of))
	}
	return list
}

// tokens says what usage tells: "900 in (850 cached), 45 out, cost 0.002".
func tokens(u llm.Usage) string {
	if !u.Known {
		return ""
	}
	text := strconv.FormatInt(u.Input, 10) + " in"
	if u.Cached > 0 {
		text += fmt.Sprintf(" (%d cached)", u.Cached)
	}
	text += fmt.Sprintf(", %d out", u.Output)
	if u.Cost > 0 {
		text += ", cost " + strconv.FormatFloat(u.Cost, 'g', 4, 64)
	}
	return text
}

// exchangeSummary is what an exchange says on one line: its answer, its calls
// or its error.
func exchangeSummary(x *exchange) string {
	r := &x.Told
	switch {
	case r.Error != "" || r.ErrorKind != "":
		return oneLine(errorText(r))
	case x.Head.Error != "":
		return oneLine(x.Head.Error)
	}
	var parts []string
	if r.Text != "" {
		parts = append(parts, r.Text)
	}
	for _, c := range r.Calls {
		parts = append(parts, "call "+dash(c.Name)+" "+c.Args)
	}
	if len(parts) == 0 && len(r.Models) > 0 {
		parts = r.Models
	}
	return oneLine(strings.Join(parts, "  "))
}

func errorText(r *llm.Reading) string {
	if r.ErrorKind == "" || r.Error == "" {
		return r.Error + r.ErrorKind
	}
	return r.ErrorKind + ": " + r.Error
}

// exchangeBody is what an exchange says besides its head: what is new in the
// request, then the answer.
func exchangeBody(x *exchange, width int) []line {
	var out []line
	r := &x.Told
	if n := len(r.Tools); n > 0 && x.firstTools() {
		out = append(out, body(toneDim, "tools     ", toolNames(r.Tools), width)...)
	}
	for _, m := range r.Messages {
		out = append(out, messageLines(m, width)...)
	}
	out = append(out, body(toneThought, "thinks    ", r.Thought, width)...)
	out = append(out, body(toneOut, "answer    ", r.Text, width)...)
	for _, c := range r.Calls {
		out = append(out, line{{margin + "call      ", toneDim}, {dash(c.Name), toneCall}})
		for _, l := range arguments(c.Args, width-10*min(max(width, 0), 1)) {
			out = append(out, line{{strings.Repeat(" ", 10), tonePlain}}.and(l))
		}
	}
	out = append(out, body(toneError, "error     ", errorText(r), width)...)
	out = append(out, body(toneError, "error     ", x.Head.Error, width)...)
	if note := exchangeNotes(x); note != "" {
		out = append(out, body(toneAsk, "          ", note, width)...)
	}
	return out
}

// firstTools reports whether the request is the one that the tools are told
// with: one that begins a conversation.
func (x *exchange) firstTools() bool { return len(x.Fresh) > 0 && x.Fresh[0] == 0 }

func toolNames(list []llm.Tool) string {
	names := make([]string, 0, len(list))
	for _, t := range list[:min(len(list), 40)] {
		names = append(names, t.Name)
	}
	if len(list) > 40 {
		names = append(names, fmt.Sprintf("and %d more", len(list)-40))
	}
	return strings.Join(names, ", ")
}

// exchangeNotes says what is odd about an exchange.
func exchangeNotes(x *exchange) string {
	var list []string
	r := &x.Told
	if r.Unfinished && x.Head.End != "" {
		list = append(list, "the stream has no end")
	}
	if f := r.Finish; f != "" && !plainFinish[f] {
		list = append(list, "finish: "+f)
	}
	if r.Choices > 1 {
		list = append(list, fmt.Sprintf("the first of %d answers", r.Choices))
	}
	if x.Head.Omitted > 0 {
		list = append(list, size(x.Head.Omitted)+" were not kept")
	}
	if m := r.AnswerModel; m != "" && m != r.Model && !strings.HasPrefix(m, r.Model) {
		list = append(list, "answered by "+m)
	}
	return strings.Join(list, "; ")
}

// plainFinish are the reasons to end that say nothing a reader does not see.
var plainFinish = map[string]bool{
	"stop": true, "STOP": true, "end_turn": true, "tool_calls": true, "tool_use": true, "completed": true, "done": true, "function_call": true,
}

// messageLines is a message of a request in a list.
func messageLines(m dialect.Message, width int) []line {
	t := roleTone(m)
	mark := fit(visible(m.Role), 9, true) + " "
	text := m.Text
	if m.Tool != "" || m.CallID != "" {
		name := m.Tool
		if name == "" {
			name = m.CallID
		}
		mark = "result    "
		text = name + ": " + text
	}
	var bytesToo []string
	for _, p := range m.Parts {
		if p.Binary != nil || p.Text == "" {
			bytesToo = append(bytesToo, p.String())
		}
	}
	if len(bytesToo) > 0 {
		text = strings.TrimLeft(text+"\n"+strings.Join(bytesToo, " "), "\n")
	}
	tt := tonePlain
	if m.Failed {
		tt = toneError
	}
	var out []line
	out = append(out, body(toneThought, "thinks    ", m.Reasoning, width)...)
	for i, l := range body(tt, mark, text, width) {
		if i == 0 {
			l[0].Tone = t
		}
		out = append(out, l)
	}
	for _, c := range m.Calls {
		out = append(out, line{{margin + fit(visible(m.Role), 9, true) + " ", t}, {"call ", toneDim}, {visibleCut(dash(c.Name), 60), toneCall}, {" " + visibleCut(oneLine(c.Args), maxRow), toneDim}})
	}
	return out
}
