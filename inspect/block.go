package inspect

import (
	"fmt"
	"strconv"
	"strings"

	"agentrec/internal/dialect"
	"agentrec/internal/transcript"
	"agentrec/store"

	"github.com/tidwall/gjson"
)

// maxBlock is how much of one text a conversation view shows, in bytes; the
// frames behind it hold the rest.
const maxBlock = 16 << 10

// maxRow is how many characters of a frame or text a list shows.
const maxRow = 200

// toneOf is the tone of an item.
func toneOf(it transcript.Item) tone {
	switch it.Kind {
	case transcript.KindPrompt, transcript.KindAnswer:
		return toneIn
	case transcript.KindText:
		return toneOut
	case transcript.KindThought:
		return toneThought
	case transcript.KindCall:
		return toneCall
	case transcript.KindPlan, transcript.KindPermission:
		return toneAsk
	case transcript.KindError:
		return toneError
	case transcript.KindStderr:
		return toneErr
	case transcript.KindEvent:
		return toneEvent
	case transcript.KindExchange:
		return toneAsk
	}
	return toneStrong
}

// name is what an item is called in a list: its kind, and of a request its
// label.
func name(it transcript.Item) string {
	switch it.Kind {
	case transcript.KindRequest:
		return it.Label
	case transcript.KindCall:
		if it.Name != "" {
			return it.Name
		}
	}
	return it.Kind.String()
}

// way says where a frame went.
func way(s store.Stream) string {
	switch s {
	case store.In:
		return "→"
	case store.Out:
		return "←"
	}
	return "!"
}

// facts says in short what belongs to an item besides its text: how many
// deltas, how long, how large, how it went.
func facts(it transcript.Item) string {
	var list []string
	if it.Frames > 1 {
		list = append(list, "x"+strconv.FormatInt(it.Frames, 10))
	}
	switch {
	case it.Kind == transcript.KindEvent:
		return ""
	case it.Took < 0 && it.Kind == transcript.KindCall:
		list = append(list, "no result")
	case it.Took < 0:
		list = append(list, "no answer")
	case it.Answer > 0:
		list = append(list, "#"+strconv.FormatInt(it.Answer, 10)+" after "+lasting(it.Took))
	case it.Took > 0:
		list = append(list, "in "+lasting(it.Took))
	}
	return strings.Join(append(list, size(it.Size)), ", ")
}

// event says what happened.
func event(e *store.Event) (string, tone) {
	text, t := string(e.Kind), toneEvent
	switch e.Kind {
	case store.EventStart:
		text = "the agent was started"
	case store.EventEOF:
		text = e.Stream.String() + " ended"
	case store.EventHangup:
		text = "the reader of " + e.Stream.String() + " went away"
	case store.EventSignal:
		text = "SIG" + e.Signal + " was passed on to the agent"
	case store.EventExit:
		text = "the agent ended"
		if e.Exit != nil {
			text += ": " + e.Exit.Error()
			if *e.Exit != (store.Exit{}) {
				t = toneError
			}
		}
	case store.EventLost:
		text, t = fmt.Sprintf("%s of %s were not recorded", size(e.Bytes), e.Stream), toneError
	case store.EventCut:
		text, t = "the record ends here", toneError
	}
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	return text, t
}

// block renders an item for reading: a head line and, indented, what it says.
// width is where text wraps, 0 for not at all.
func block(it transcript.Item, c transcript.Content, width int) []line {
	at := line{}.add(toneDim, fmt.Sprintf("%5d %s %9s  ", it.Seq, way(it.Stream), clock(it.Time)))
	if it.Kind == transcript.KindEvent {
		text, t := event(it.Event)
		at[0].Text = fmt.Sprintf("%5s   %9s  ", "", clock(it.Time))
		return []line{at.add(t, text)}
	}
	t := toneOf(it)
	if it.Failed {
		t = toneError
	}
	head := at.add(t, name(it))
	if it.Kind == transcript.KindCall && it.Name != "" {
		head = at.add(toneDim, "call ").add(t, it.Name)
	}
	if it.Failed {
		head = head.add(toneError, " failed")
	}
	room := func(l line) int {
		if width <= 0 {
			return maxRow
		}
		return max(width-len([]rune(l.String()))-2, 8)
	}
	switch it.Kind {
	case transcript.KindGreeting, transcript.KindEnd, transcript.KindRaw, transcript.KindStderr, transcript.KindLog:
		if c.Cut || len(c.Text) > maxRow {
			head = head.add(toneDim, "  "+size(it.Size))
		}
		return []line{head.add(tonePlain, "  "+visibleCut(c.Text, room(head)))}
	case transcript.KindRequest, transcript.KindCancel:
		head = head.add(toneDim, "  "+facts(it))
		if it.Failed {
			return append([]line{head}, body(toneError, "", c.Answer, width)...)
		}
		return []line{head}
	}
	out := []line{head.add(toneDim, "  "+facts(it))}
	switch it.Kind {
	case transcript.KindCall:
		out = append(out, arguments(c.Args, width)...)
		if it.Answer > 0 {
			rt := tonePlain
			if it.Failed {
				rt = toneError
			}
			out = append(out, body(rt, "= ", c.Text, width)...)
		}
	case transcript.KindPlan:
		out = append(out, body(toneAsk, "", c.Text, width)...)
		if c.Text == "" {
			out = append(out, plan(c.Args, width)...)
		}
	case transcript.KindPermission:
		out = append(out, body(toneAsk, "", c.Text, width)...)
		if c.Answer != "" {
			out = append(out, body(toneIn, "= ", c.Answer, width)...)
		}
	default:
		out = append(out, body(t, "", c.Text, width)...)
	}
	if c.Cut {
		out = append(out, line{{margin, tonePlain}, {"... cut here; the frames hold the rest", toneDim}})
	}
	return out
}

// margin stands before what an item says.
const margin = "      "

// body renders a text under its head line.
func body(t tone, mark, text string, width int) []line {
	if text == "" {
		return nil
	}
	if width > 0 {
		width = max(width-len(margin)-len(mark), 8)
	}
	var out []line
	for _, l := range wrap(text, width) {
		out = append(out, line{{margin + mark, toneDim}, {l, t}})
		mark = strings.Repeat(" ", len(mark))
	}
	return out
}

// maxMembers is how many arguments of a call are shown one a line.
const maxMembers = 8

// arguments renders the arguments of a call: members of a small flat object
// one a line, anything else as JSON.
func arguments(args string, width int) []line {
	if args == "" || args == "{}" {
		return nil
	}
	if !dialect.Valid([]byte(args)) {
		return body(toneCall, "", args, width)
	}
	v := gjson.Parse(args)
	if !v.IsObject() {
		return body(toneCall, "", args, width)
	}
	var out []line
	n := 0
	v.ForEach(func(k, m gjson.Result) bool {
		if n++; n > maxMembers {
			return false
		}
		text := m.Raw
		if m.Type == gjson.String {
			text = m.String()
		}
		out = append(out, body(toneCall, visibleCut(k.String(), 40)+": ", text, width)...)
		return true
	})
	if n > maxMembers {
		return body(toneCall, "", args, width)
	}
	return out
}

// plan renders the steps of a plan: of each its text and its status where the
// usual names are used, else the JSON.
func plan(args string, width int) []line {
	if !dialect.Valid([]byte(args)) || !gjson.Parse(args).IsArray() {
		return body(toneAsk, "", args, width)
	}
	var out []line
	gjson.Parse(args).ForEach(func(_, step gjson.Result) bool {
		text := ""
		for _, k := range []string{"content", "text", "title", "step", "description"} {
			if s := step.Get(k); s.Type == gjson.String {
				text = s.String()
				break
			}
		}
		if text == "" {
			text = step.Raw
			if step.Type == gjson.String {
				text = step.String()
			}
		}
		mark := "- "
		switch step.Get("status").String() {
		case "completed", "done":
			mark = "x "
		case "in_progress", "running":
			mark = "> "
		}
		out = append(out, body(toneAsk, mark, text, width)...)
		return true
	})
	return out
}
