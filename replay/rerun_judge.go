package replay

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"agentrec/internal/dialect"
	"agentrec/internal/transcript"
	"agentrec/store"
)

// judge turns the differences of two sessions into entries. What the agent's
// version says of itself and how often kinds of frames came are notes.
func (r *rerun) judge(d *transcript.SessionDiff) {
	calls := r.v.diverge // those that were unknown
	r.v.diverge = nil
	var unasked []Entry // exchanges: they follow from all that went otherwise
	if r.model != nil {
		r.refused = refusedEntries(r.model.front.Refused())
		for _, n := range r.refused {
			r.v.noted(n)
		}
	}
	if r.model != nil && r.model.mock != nil {
		seen := r.model.mock.Report()
		diverged, notes := modelEntries(&seen, r.o.Unsent)
		isUnasked := func(n Entry) bool { return n.Kind == Unsent }
		unasked = slices.DeleteFunc(slices.Clone(diverged), func(n Entry) bool { return !isUnasked(n) })
		calls = append(slices.DeleteFunc(diverged, isUnasked), calls...)
		for _, n := range notes {
			r.v.noted(n)
		}
		r.exchanges = &ReportCount{seen.Recorded, seen.Served}
	}
	for _, n := range calls {
		r.v.diverged(n)
	}
	unsent := map[int64]bool{}
	for _, i := range r.m.unsent() {
		unsent[int64(r.m.s.items[i].seq)] = true
	}
	var follow []Entry // of the agent's silence
	for _, turn := range d.Turns {
		for i := 0; i < len(turn.Items); {
			n := i + 1
			for n < len(turn.Items) && turn.Items[n].SeqA == turn.Items[i].SeqA && turn.Items[n].SeqB == turn.Items[i].SeqB {
				n++
			}
			entry := r.entryOf(turn.Items[i:n])
			switch {
			case unsent[entry.Seq], entry.Kind == Extra && r.v.known(entry):
			case turn.Items[i].Kind == transcript.KindGreeting && entry.Kind == Different:
				entry.Kind = Inexact
				r.v.noted(entry)
			case entry.Kind == Missing && len(r.stalls) > 0:
				follow = append(follow, entry)
			default:
				r.v.diverged(entry)
			}
			i = n
		}
		if turn.Differences() == 0 || len(turn.Items) > 0 {
			continue
		}
		for _, l := range turn.Labels {
			r.v.noted(Entry{Kind: Inexact, Label: l.Label, Message: fmt.Sprintf("%s came %s, recorded %s", l.Label, times(int(l.B)), times(int(l.A)))})
		}
	}
	for _, n := range slices.Concat(r.stalls, follow, unasked) {
		r.v.diverged(n)
	}
	for _, i := range r.m.unsent() {
		seq := int64(r.m.s.items[i].seq)
		label := r.m.labelOf(i)
		r.v.diverged(Entry{Kind: Unsent, Seq: seq, Label: label, Message: fmt.Sprintf("%s (frame %d) could not be sent", label, seq)})
	}
}

// known reports whether a call that only the live side made was reported as an
// unknown one; that then gets its number.
func (v *verdict) known(extra Entry) bool {
	for i := range v.diverge {
		n := &v.diverge[i]
		if n.Kind == Unknown && n.Live == 0 && n.Differences[0].Live == extra.Differences[0].Live {
			n.Live = extra.Live
			return true
		}
	}
	return false
}

// blind reports whether the dialect knows of no frame of the agent what it says.
func (r *rerun) blind() bool {
	return !slices.ContainsFunc(r.dialect.Rules(), func(rule *dialect.Rule) bool {
		return rule.Stream == store.Out && rule.Shows() != dialect.ShowsNothing
	})
}

// entryOf makes an entry of the differences of one item.
func (r *rerun) entryOf(list []transcript.ItemDiff) Entry {
	x := list[0]
	what := x.Kind.String()
	if x.Kind == transcript.KindEvent {
		what = "the end of the agent"
	}
	if x.Name != "" && x.Name != what {
		what += " " + x.Name
	}
	n := Entry{Seq: x.SeqA, Live: x.SeqB, Label: x.Name}
	switch {
	case x.SeqB == 0:
		n.Kind, n.Message = Missing, fmt.Sprintf("%s (frame %d) did not come", what, x.SeqA)
		n.Differences = []transcript.Difference{{Recorded: asJSON(x.A)}}
		return n
	case x.SeqA == 0:
		n.Kind, n.Message = Extra, what+" is not in the recording"
		n.Differences = []transcript.Difference{{Live: asJSON(x.B)}}
		return n
	}
	n.Kind, n.Message = Different, fmt.Sprintf("%s differs from frame %d", what, x.SeqA)
	var flags []string
	for _, d := range list {
		path := d.Part
		if d.Path != "" {
			path += " " + d.Path
			flags = append(flags, "--ignore '"+d.Path+"'")
		}
		n.Differences = append(n.Differences, transcript.Difference{Path: strings.TrimSpace(path), Recorded: asJSON(d.A), Live: asJSON(d.B)})
	}
	if len(flags) == len(list) && len(flags) <= 3 {
		n.Accept = strings.Join(flags, " ")
	}
	return n
}

// asJSON returns JSON as it is and any other text as a JSON string.
func asJSON(text string) string {
	if text == "" || json.Valid([]byte(text)) && len(text) < 1<<20 {
		return text
	}
	b, err := json.Marshal(text)
	if err != nil { // a string always encodes
		return ""
	}
	return string(b)
}

// report says how the rerun went.
func (r *rerun) report() *Report {
	out := &Report{
		Format: 1, Command: "rerun", File: r.file, State: "done", Verdict: "pass", Dialect: r.dialect.Name(),
		Session: ReportSession{r.session.ID, r.session.UID, r.session.Name},
		Process: os.Getpid(), Started: r.started, Took: float64(time.Since(r.started).Microseconds()) / 1000,
		In:          ReportCount{len(r.m.s.ins), r.sent},
		Out:         ReportCount{r.m.s.outs, int(r.outs)},
		Divergences: append([]Entry{}, r.v.diverge...), Notes: append([]Entry{}, r.v.notes...), Dropped: r.v.dropped,
		Exit: r.m.s.exit, Exchanges: r.exchanges,
	}
	switch {
	case r.exit == nil:
	case r.exit.Signal != "":
		out.Ended = r.exit.Signal
	default:
		out.Ended = "exit"
	}
	if out.Failed() > 0 {
		out.Verdict = "fail"
	}
	return out
}
