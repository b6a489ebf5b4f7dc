package replay

import (
	"fmt"
	"slices"
	"strings"

	"agentrec/internal/dialect"
)

// strangers tells of labels in the options that no recorded frame of the client
// has. What settings say of labels is for many recordings, so there only what
// looks like a slip is told.
func (p *player) strangers(s *script) {
	known := slices.Sorted(slices.Values(s.labels[1:]))
	tell := func(flag, label string, shared bool) {
		if slices.Contains(known, label) {
			return
		}
		hint := dialect.Suggest(label, known)
		if shared && !strings.HasPrefix(hint, "did") {
			return
		}
		n := Entry{Kind: Stranger, Label: label, Message: fmt.Sprintf("%s %s: the recorded client sends no such frame; %s", flag, label, hint)}
		if !slices.ContainsFunc(p.v.notes, func(old Entry) bool { return old.Message == n.Message }) {
			p.v.noted(n)
			p.say("agentrec: " + visible(n.Message) + "\n")
		}
	}
	for _, label := range p.o.Free {
		tell("--free", label, false)
	}
	for _, r := range p.o.Labels {
		tell("--label", r.Label, r.shared)
	}
}
