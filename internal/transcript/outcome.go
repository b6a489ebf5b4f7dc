package transcript

import (
	"fmt"
	"strings"
	"time"

	"agentrec/store"
)

// maxNamed is how many frames a line of the outcome names.
const maxNamed = 3

// Outcome says in a few lines how a session went.
type Outcome struct {
	State    store.State `json:"state"`
	Ended    string      `json:"ended"`               // how, for people
	LastIn   *Place      `json:"last_in,omitempty"`   // the last frame from the client
	LastOut  *Place      `json:"last_out,omitempty"`  // the last frame from the agent
	OpenTurn *Place      `json:"open_turn,omitempty"` // the prompt of a turn that never ended
	Open     []Place     `json:"open"`                // requests without a response
	Errors   []Place     `json:"errors"`              // frames that report a failure
	Findings int         `json:"findings"`            // that check has; -1 when nobody looked
}

// Place is a frame named for people.
type Place struct {
	Seq   int64         `json:"seq"`
	Label string        `json:"label"`
	Time  time.Duration `json:"time_ns"` // since the session's start
}

// Outcome returns how the session went so far. findings is the number of
// findings of the protocol, -1 when nobody looked.
func (t *Transcript) Outcome(findings int) Outcome {
	o := Outcome{
		State: t.Session.State, Ended: Ended(t.Session), Findings: findings,
		LastIn: t.last(store.In), LastOut: t.last(store.Out), Open: t.places(t.Open()), Errors: t.places(t.Errors),
	}
	for i := len(t.Turns) - 1; i >= 0; i-- {
		if t.Turns[i].Last == 0 {
			p := t.place(t.Turns[i].First)
			o.OpenTurn = &p
			break
		}
	}
	return o
}

func (t *Transcript) place(seq int64) Place {
	e := t.Entries[seq-1]
	return Place{Seq: seq, Label: t.Label(e), Time: e.Time}
}

func (t *Transcript) places(seqs []int64) []Place {
	list := make([]Place, len(seqs))
	for i, seq := range seqs {
		list[i] = t.place(seq)
	}
	return list
}

func (t *Transcript) last(stream store.Stream) *Place {
	for i := len(t.Entries) - 1; i >= 0; i-- {
		if t.Entries[i].Stream == stream && !t.Entries[i].Flags.Has(Missing) {
			p := t.place(int64(i + 1))
			return &p
		}
	}
	return nil
}

// Ended says how a session ended, for people: "exit status 0", "ended by
// SIGTERM", "still being recorded", "cut: the recorder was killed".
func Ended(s *store.Session) string {
	switch {
	case s.State == store.Recording:
		return "still being recorded"
	case s.State == store.Cut && s.Reason != "":
		return "cut: " + s.Reason
	case s.State == store.Cut:
		return "cut"
	case s.Exit == nil:
		return "closed, exit status unknown"
	}
	return s.Exit.Error()
}

// Line is one line of an outcome.
type Line struct {
	Name   string // "ended", "last in", "last out", "open", "errors", "findings"
	Text   string
	Filter string // shows what the line speaks of; "" when the line has nothing to show or check shows it
	Bad    bool   // something to look at
}

// Lines returns the six lines of an outcome.
func (o Outcome) Lines() []Line {
	ended := Line{Name: "ended", Text: o.Ended, Filter: "event", Bad: o.State == store.Cut}
	if o.OpenTurn != nil {
		ended.Text += fmt.Sprintf(", inside the turn that #%d began", o.OpenTurn.Seq)
		ended.Bad = ended.Bad || o.State != store.Recording
	}
	lines := []Line{ended, lastLine("last in", o.LastIn), lastLine("last out", o.LastOut)}
	lines = append(lines, listLine("open", "request", "open", o.Open), listLine("errors", "error", "failed", o.Errors))
	findings := Line{Name: "findings", Text: "none", Bad: o.Findings > 0}
	switch {
	case o.Findings < 0 && o.State == store.Recording:
		findings.Text = "not checked while it is being recorded"
	case o.Findings < 0:
		findings.Text = "not checked yet"
	case o.Findings > 0:
		findings.Text = count(o.Findings, "finding")
	}
	return append(lines, findings)
}

func lastLine(name string, p *Place) Line {
	if p == nil {
		return Line{Name: name, Text: "none"}
	}
	return Line{
		Name: name, Text: fmt.Sprintf("#%d %s at %s", p.Seq, p.Label, p.Time.Round(time.Millisecond)),
		Filter: fmt.Sprintf("seq = %d", p.Seq),
	}
}

func listLine(name, thing, filter string, list []Place) Line {
	if len(list) == 0 {
		return Line{Name: name, Text: "none"}
	}
	named := make([]string, 0, maxNamed)
	for _, p := range list[:min(len(list), maxNamed)] {
		named = append(named, fmt.Sprintf("#%d %s", p.Seq, p.Label))
	}
	text := count(len(list), thing) + ": " + strings.Join(named, ", ")
	if len(list) > maxNamed {
		text += ", ..."
	}
	return Line{Name: name, Text: text, Filter: filter, Bad: true}
}

func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
