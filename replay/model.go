package replay

import (
	"fmt"
	"strings"

	"agentrec/internal/llm"
	"agentrec/internal/transcript"
)

// modelEntries returns what a mocked model has to report: the divergences and
// the notes.
func modelEntries(r *llm.MockReport, allowUnsent bool) (diverged, notes []Entry) {
	for _, miss := range r.Missed {
		diverged = append(diverged, missEntry(miss))
	}
	for i := range diverged {
		diverged[i].Follows = diverged[i].Follows || i > 0
	}
	for _, u := range r.Unused {
		n := Entry{Kind: Unsent, Exchange: u.Exchange, Label: u.Name, Accept: "--allow-unsent", Message: fmt.Sprintf("nothing asked for exchange %d, %s", u.Exchange, u.Name)}
		if allowUnsent {
			notes = append(notes, n)
			continue
		}
		n.Follows = len(diverged) > 0
		diverged = append(diverged, n)
	}
	for _, tier := range []llm.Tier{llm.Volatile, llm.Normalised} {
		var pairs []string
		for _, x := range r.Inexact {
			if x.Tier == tier {
				pairs = append(pairs, fmt.Sprintf("%d for %d", x.Request, x.Exchange))
			}
		}
		if n := len(pairs); n > 0 {
			if n > maxPairs {
				pairs = append(pairs[:maxPairs], "...")
			}
			notes = append(notes, Entry{Kind: Inexact, Message: fmt.Sprintf("%s accepted for an exchange by %s: %s", count(n, "request"), tierWords[tier], strings.Join(pairs, ", "))})
		}
	}
	if r.Inversions > 0 {
		notes = append(notes, Entry{Kind: Early, Message: fmt.Sprintf("out of order, after one that was recorded later: %s", count(r.Inversions, "exchange"))})
	}
	if r.Repeated > 0 {
		notes = append(notes, Entry{Kind: Again, Message: "sent once more: " + count(r.Repeated, "answer")})
	}
	for _, number := range r.Left {
		notes = append(notes, Entry{Kind: Ended, Exchange: number, Message: fmt.Sprintf("the answer of exchange %d was not taken to its end", number)})
	}
	return diverged, notes
}

// refusedEntries are notes of the hosts that a model's stand-in has refused: what
// an agent does without them may be otherwise.
func refusedEntries(list []llm.Refusal) []Entry {
	var notes []Entry
	for _, r := range list {
		notes = append(notes, Entry{Kind: Refused, Label: r.Host, Message: fmt.Sprintf("%.200s is no host of the recorded model and got 403, %s", r.Host, times(r.Times))})
	}
	return notes
}

// maxPairs is how many requests a note lists.
const maxPairs = 20

// tierWords say what was forgiven.
var tierWords = map[llm.Tier]string{
	llm.Volatile:   "what is not volatile in it",
	llm.Normalised: "what it says less paths, times and ids",
}

// missEntry is a missed request as an entry of a report.
func missEntry(miss llm.Miss) Entry {
	n := Entry{Kind: Refused, Request: miss.Request, Exchange: miss.Nearest, Label: miss.Name, Message: miss.Message, More: miss.More, Accept: miss.Ignore, Follows: miss.Follows > 0}
	if miss.Served {
		n.Kind = Different
	}
	if miss.Follows > 0 {
		n.Message += fmt.Sprintf("; all that differs has been told of request %d", miss.Follows)
	}
	for _, d := range miss.Differences {
		n.Differences = append(n.Differences, transcript.Difference(d))
	}
	return n
}
