package inspect

import "strings"

// tone is what a piece of text means; a theme turns it into colours. Views and
// commands speak of tones only, so that both look alike and NO_COLOR takes
// nothing away but colour.
type tone uint8

// The tones.
const (
	tonePlain tone = iota
	toneDim        // times, sizes, punctuation
	toneStrong
	toneIn      // the client's side: prompts, requests
	toneOut     // the agent's side: text
	toneThought // the agent's thinking
	toneCall    // tool calls and results
	toneAsk     // permissions, plans
	toneError
	toneGood
	toneErr   // stderr
	toneEvent // lifecycle
	toneMark  // what was searched for
	toneMenu  // what can be chosen
	tones
)

// span is a piece of text in one tone.
type span struct {
	Text string
	Tone tone
}

// line is one line of a view. Its text may be anything: the two places where a
// line is drawn (printer.line and draw) escape what could harm a terminal.
type line []span

func plain(s string) line                { return line{{s, tonePlain}} }
func (l line) add(t tone, s string) line { return append(l, span{s, t}) }
func (l line) and(m line) line           { return append(l, m...) }
func (l line) pad(t tone, s string, n int) line {
	return append(l, span{fit(visible(s), n, true), t})
}

// String returns the text without tones.
func (l line) String() string {
	if len(l) == 1 {
		return l[0].Text
	}
	var b strings.Builder
	for _, s := range l {
		b.WriteString(s.Text)
	}
	return b.String()
}

// sgr is the escape sequence of each tone: the 16 colours that every terminal
// theme makes readable on its own background, light or dark.
var sgr = [tones]string{
	toneDim:     "\x1b[2m",
	toneStrong:  "\x1b[1m",
	toneIn:      "\x1b[36m",
	toneOut:     "\x1b[32m",
	toneThought: "\x1b[2;3m",
	toneCall:    "\x1b[33m",
	toneAsk:     "\x1b[35m",
	toneError:   "\x1b[1;31m",
	toneGood:    "\x1b[32m",
	toneErr:     "\x1b[31m",
	toneEvent:   "\x1b[34m",
	toneMark:    "\x1b[7m",
}
