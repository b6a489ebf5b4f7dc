package replay

import (
	"fmt"
	"strconv"
	"strings"

	"agentrec/internal/llm"
	"agentrec/internal/printable"
)

// maxShown is how much of a value people see, in bytes.
const maxShown = 160

// human writes an entry as people read it on stderr.
func human(n Entry) string {
	var b strings.Builder
	word := n.Kind
	if n.Follows {
		word += " (may follow from the first)"
	}
	live := ""
	if n.Live > 0 {
		live = fmt.Sprintf("live frame %d: ", n.Live)
	}
	fmt.Fprintf(&b, "agentrec: %s: %s%s\n", word, live, visible(n.Message))
	for _, d := range n.Differences {
		recorded, liveValue := llm.CutAround(d.Recorded, d.Live, maxShown)
		one := n.Kind == Extra || n.Kind == Unknown || n.Kind == Missing // side that has it
		if !one || d.Path != "" {
			fmt.Fprintf(&b, "  at %s\n", visible(place(d.Path)))
		}
		if !one || n.Kind == Missing {
			fmt.Fprintf(&b, "    recorded  %s\n", visible(orAbsent(recorded)))
		}
		if n.Kind != Missing {
			fmt.Fprintf(&b, "    live      %s\n", visible(orAbsent(liveValue)))
		}
	}
	if n.More > 0 {
		fmt.Fprintf(&b, "  and %d differences more\n", n.More)
	}
	if n.Accept != "" {
		fmt.Fprintf(&b, "  to accept it: %s\n", visible(n.Accept))
	}
	return b.String()
}

func orAbsent(s string) string {
	if s == "" {
		return "(absent)"
	}
	return s
}

// summary is the last word of a replay on stderr.
func summary(r *Report, quiet int) string {
	more := ""
	if quiet > 0 {
		more = fmt.Sprintf("agentrec: %s not sent\n", count(quiet, "more frame"))
	}
	what := fmt.Sprintf("%d of %d frames matched, %d of %d sent", r.In.Played, r.In.Recorded, r.Out.Played, r.Out.Recorded)
	if n := r.Failed(); n > 0 {
		divergences := "1 divergence"
		if n > 1 {
			divergences = strconv.Itoa(n) + " divergences"
		}
		return more + fmt.Sprintf("agentrec: replay of %s failed: %s; %s\n", visible(reportName(r)), divergences, what)
	}
	return fmt.Sprintf("agentrec: replay of %s passed: %s\n", visible(reportName(r)), what)
}

// say writes lines for people; those of one connection among others begin with
// which it is.
func (p *player) say(text string) {
	if n := p.o.connection; n > 0 {
		text = strings.ReplaceAll("\n"+text, "\nagentrec: ", fmt.Sprintf("\nagentrec: connection %d: ", n))[1:]
	}
	p.side.write([]byte(text))
}

// visible makes recorded content harmless for a terminal.
func visible(s string) string { return printable.Line(s) }
