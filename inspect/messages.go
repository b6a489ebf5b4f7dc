package inspect

import (
	"fmt"

	"agentrec/internal/dialect"
	"agentrec/internal/transcript"
)

// messageRows are the LLM messages of a frame, one an item.
type messageRows struct{ list []dialect.Message }

// Len returns the number of messages.
func (r messageRows) Len() int { return len(r.list) }

// Item returns a message: its role, what it says, and its parts and calls;
// bytes stand as their description.
func (r messageRows) Item(i, width int) []line {
	m := r.list[i]
	t := roleTone(m)
	head := line{{dash(m.Role), t}}
	switch {
	case m.Tool != "":
		head = head.add(toneDim, "  result of "+m.Tool)
	case m.CallID != "":
		head = head.add(toneDim, "  result of "+m.CallID)
	}
	if m.Failed {
		head = head.add(toneError, "  failed")
	}
	out := []line{head.add(toneDim, fmt.Sprintf("  %d of %d", i+1, len(r.list)))}
	out = append(out, body(toneThought, "", cutText(m.Reasoning), width)...)
	if len(m.Parts) == 0 {
		out = append(out, body(tonePlain, "", cutText(m.Text), width)...)
	}
	for _, p := range m.Parts {
		pt := toneAsk
		if p.Text != "" && p.Binary == nil {
			pt = tonePlain
		}
		out = append(out, body(pt, "", cutText(p.String()), width)...)
	}
	for _, c := range m.Calls {
		l := line{{margin + "call ", toneDim}, {dash(c.Name), toneCall}}
		if !c.Answered {
			l = l.add(toneDim, "  not answered here")
		}
		out = append(append(out, l), arguments(c.Args, width)...)
	}
	return append(out, nil)
}

func roleTone(m dialect.Message) tone {
	switch {
	case m.Failed:
		return toneError
	case m.Role == "user":
		return toneIn
	case m.Role == "assistant" || m.Role == "model":
		return toneOut
	case m.CallID != "" || m.Tool != "" || m.Role == "tool":
		return toneCall
	}
	return toneAsk
}

// cutText bounds a text for the screen.
func cutText(s string) string {
	if len(s) <= maxBlock {
		return s
	}
	return cutAt(s, maxBlock)
}

// cutAt cuts a text after about n bytes and says how long it was.
func cutAt(s string, n int) string {
	return transcript.Clip(s, n) + "\n... " + size(int64(len(s))) + " in all"
}
