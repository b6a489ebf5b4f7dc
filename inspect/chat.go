package inspect

import (
	"fmt"
	"sort"
	"strings"

	"agentrec/internal/transcript"
)

// chat is a session as a conversation: what was said, asked and done, without
// the machinery of the protocol.
type chat struct {
	story  *story
	shown  []int // indexes of items
	seen   int   // items looked at so far
	blocks memo[[]line]
}

// newChat returns the conversation view of a derived story.
func newChat(s *story) *chat {
	c := &chat{story: s}
	c.grow()
	return c
}

// grow takes up the items that have come since.
func (c *chat) grow() {
	t := c.story.t
	for ; c.seen < t.Len(); c.seen++ {
		it := t.Item(c.seen)
		switch it.Kind {
		case transcript.KindRequest, transcript.KindLog:
			if !it.Failed {
				continue
			}
		case transcript.KindExchange, transcript.KindCancel, transcript.KindRaw, transcript.KindEnd, transcript.KindPrompt, transcript.KindText, transcript.KindThought,
			transcript.KindCall, transcript.KindPlan, transcript.KindPermission, transcript.KindAnswer, transcript.KindError, transcript.KindGreeting, transcript.KindStderr:
		case transcript.KindEvent:
			if _, tn := event(it.Event); tn != toneError && it.Event.Exit == nil {
				continue
			}
		default:
			continue
		}
		c.shown = append(c.shown, c.seen)
	}
}

// Len returns the number of items on show.
func (c *chat) Len() int { return len(c.shown) }

// index returns the item in row i.
func (c *chat) index(i int) int { return c.shown[i] }

// rowOf returns the row of item index, or of the last one on show before it.
func (c *chat) rowOf(index int) int { return max(sort.SearchInts(c.shown, index+1)-1, 0) }

// Item returns an item as a block of the conversation.
func (c *chat) Item(i, width int) []line {
	index := c.shown[i]
	it := c.story.t.Item(index)
	out := c.blocks.get(index, it, width, func() []line { return c.render(c.story.item(index, maxBlock), width) })
	if loose(it) && i+1 < len(c.shown) && !loose(c.story.t.Item(c.shown[i+1])) {
		return append(out[:len(out):len(out)], nil)
	}
	return out
}

// loose reports whether an item is a line among others of its kind, with no
// blank line after it.
func loose(it transcript.Item) bool {
	return it.Kind == transcript.KindStderr || it.Kind == transcript.KindRaw || it.Kind == transcript.KindExchange
}

// speaker is who speaks in an item.
func speaker(it transcript.Item) string {
	switch it.Kind {
	case transcript.KindPrompt, transcript.KindAnswer:
		return "You"
	case transcript.KindText:
		return "Agent"
	case transcript.KindThought:
		return "Agent thinks"
	case transcript.KindPlan:
		return "Plan"
	case transcript.KindPermission:
		return "Agent asks"
	case transcript.KindError:
		return "Error"
	}
	return ""
}

func (c *chat) render(it item, width int) []line {
	tn := toneOf(it.Item)
	if it.Failed {
		tn = toneError
	}
	width = min(width, 120)
	switch it.Kind {
	case transcript.KindExchange:
		return []line{exchangeRow(it.LLM, width)}
	case transcript.KindEvent:
		text, tn := event(it.Event)
		return []line{{{"· " + text, tn}}, nil}
	case transcript.KindStderr, transcript.KindRaw:
		return hang(line{{it.Kind.String() + "  ", toneDim}}, it.Said.Text, tn, width)
	case transcript.KindGreeting:
		return append(hang(line{{"· ", toneDim}}, it.Said.Text, toneDim, width), nil)
	case transcript.KindEnd:
		return []line{c.turnEnd(it), nil}
	case transcript.KindCancel:
		return []line{{{"Cancel", toneError}}, nil}
	case transcript.KindRequest, transcript.KindLog:
		out := []line{{{it.Label, tn}, {"  " + facts(it.Item), toneDim}}}
		text := it.Said.Answer
		if text == "" {
			text = it.Said.Text
		}
		return append(append(out, body(tn, "", text, width)...), nil)
	case transcript.KindCall:
		return append(c.call(it, tn, width), nil)
	}
	out := []line{{{speaker(it.Item), tn}, {"  " + clock(it.Time), toneDim}}}
	if it.Took > 0 && it.Frames > 1 {
		out[0] = out[0].add(toneDim, ", in "+lasting(it.Took))
	}
	switch {
	case it.Kind == transcript.KindPlan && it.Said.Text == "":
		out = append(out, plan(it.Said.Args, width)...)
	case it.Kind == transcript.KindText:
		out = append(out, markdown(it.Said.Text, width)...)
	default:
		out = append(out, body(bodyTone(it, tn), "", it.Said.Text, width)...)
	}
	if it.Said.Answer != "" {
		out = append(out, body(toneIn, "= ", it.Said.Answer, width)...)
	} else if it.Kind == transcript.KindPermission && it.Took < 0 {
		out = append(out, line{{margin + "no answer", toneError}})
	}
	return append(c.cut(out, it), nil)
}

func bodyTone(it item, tn tone) tone {
	if it.Kind == transcript.KindPrompt {
		return tonePlain
	}
	return tn
}

func (c *chat) cut(out []line, it item) []line {
	if it.Said.Cut {
		out = append(out, line{{margin + fmt.Sprintf("... %s in all; v opens all of it", size(it.Size)), toneDim}})
	}
	return out
}

func (c *chat) call(it item, tn tone, width int) []line {
	head := line{{"Call ", toneDim}}.add(tn, dash(it.Name)).add(toneDim, "  "+clock(it.Time))
	switch {
	case it.Failed:
		head = head.add(toneError, "  failed")
		if it.Took > 0 {
			head = head.add(toneDim, " after "+lasting(it.Took))
		}
	case it.Took < 0:
		head = head.add(toneError, "  no result")
	default:
		head = head.add(toneDim, ", took "+lasting(it.Took))
	}
	out := append([]line{head}, arguments(it.Said.Args, width)...)
	if it.Answer > 0 {
		rt := tonePlain
		if it.Failed {
			rt = toneError
		}
		out = append(out, body(rt, "= ", it.Said.Text, width)...)
	}
	return c.cut(out, it)
}

// turnEnd says how a turn went.
func (c *chat) turnEnd(it item) line {
	l := line{{"── ", toneDim}}
	text := "end of turn"
	if it.Turn >= 0 && it.Turn < len(c.story.t.Turns) {
		turn := c.story.t.Turns[it.Turn]
		text = fmt.Sprintf("turn %d %s after %s, %s", it.Turn+1, turn.Outcome, lasting(turn.Took()), count(turn.Calls, "call"))
		if u := usageText(turn.Usage); u != "" {
			text += ", " + u
		}
	} else if it.Said.Text != "" {
		text = it.Said.Text
	}
	tn := toneDim
	if it.Failed {
		tn = toneError
	}
	return l.add(tn, text).add(toneDim, " "+strings.Repeat("─", 8))
}

// hang renders a text after a head, continuation lines indented.
func hang(head line, text string, tn tone, width int) []line {
	n := len([]rune(head.String()))
	var out []line
	for i, l := range wrap(text, max(width-n, 8)) {
		if i == 0 {
			out = append(out, append(head, span{l, tn}))
			continue
		}
		out = append(out, line{{strings.Repeat(" ", n), tonePlain}, {l, tn}})
	}
	return out
}

// markdown renders the little markdown that agents write: headings, fenced
// code, lists, bold and code in a line. Marks that mean nothing stay.
func markdown(text string, width int) []line {
	var out []line
	fenced := false
	for para := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		trimmed := strings.TrimSpace(para)
		switch {
		case strings.HasPrefix(trimmed, "```"):
			fenced = !fenced
			if lang := strings.Trim(trimmed, "` "); fenced && lang != "" {
				out = append(out, line{{margin + lang, toneDim}})
			}
		case fenced:
			for _, l := range wrap(para, max(width-len(margin)-2, 8)) {
				out = append(out, line{{margin + "│ ", toneDim}, {l, toneCall}})
			}
		case strings.HasPrefix(trimmed, "#"):
			for _, l := range wrap(strings.TrimLeft(trimmed, "# "), max(width-len(margin), 8)) {
				out = append(out, line{{margin, tonePlain}, {l, toneStrong}})
			}
		default:
			for _, l := range wrap(para, max(width-len(margin), 8)) {
				out = append(out, append(line{{margin, tonePlain}}, inline(l)...))
			}
		}
	}
	return out
}

// inline renders **bold** and `code` of one line.
func inline(s string) line {
	var l line
	for s != "" {
		mark, tn := "", tonePlain
		i := len(s)
		for _, m := range []struct {
			mark string
			tone tone
		}{{"**", toneStrong}, {"`", toneCall}} {
			if at := strings.Index(s, m.mark); at >= 0 && at < i {
				i, mark, tn = at, m.mark, m.tone
			}
		}
		if mark == "" {
			return append(l, span{s, tonePlain})
		}
		end := strings.Index(s[i+len(mark):], mark)
		if end <= 0 {
			return append(l, span{s, tonePlain})
		}
		l = append(l, span{s[:i], tonePlain}, span{s[i+len(mark) : i+len(mark)+end], tn})
		s = s[i+2*len(mark)+end:]
	}
	return l
}
