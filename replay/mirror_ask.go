package replay

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"agentrec/internal/dialect"
	"agentrec/internal/transcript"
	"agentrec/store"
)

// ask answers a request of the agent as the recorded client answered it: the
// recorded request of equal tool and arguments, else the next of its kind. One
// that is not in the recording is a divergence, and is declined.
func (m *mirror) ask(raw []byte, r *dialect.Reading) {
	q := m.like(raw, r)
	if q == nil {
		m.unknown(raw, r)
		return
	}
	q.taken = true
	m.mints[q.item] = true // its id, at least
	m.learn(q.item, raw)
	if a, ok := m.answers[q.item]; ok {
		m.held = append(m.held, a)
	} else {
		m.open[q.item] = append([]byte(nil), raw...)
	}
}

// like returns the recorded request that a live one is, nil for none.
func (m *mirror) like(raw []byte, r *dialect.Reading) *question {
	conv := r.Conversation
	if c, ok := m.convs[conv]; ok {
		conv = c
	}
	var next *question
	for _, q := range m.questions[r.Label] {
		if q.taken || q.name != r.Name || q.conv != "" && conv != "" && q.conv != conv {
			continue
		}
		if m.equal(q.item, raw, r) {
			return q
		}
		if next == nil {
			next = q
		}
	}
	return next
}

// equal compares the arguments of two tool calls, or else two whole requests
// less what the dialect calls volatile and the agent's own ids.
func (m *mirror) equal(i int32, live []byte, r *dialect.Reading) bool {
	recorded := m.fetch(i)
	if r.Args != "" {
		was := m.s.dialect.Read(store.Out, recorded)
		return len(transcript.Compare([]byte(was.Args), []byte(r.Args), dialect.Paths{}, m.same)) == 0
	}
	loose := m.s.dialect.Volatile(store.Out, recorded)
	for _, slot := range m.s.dialect.Slots(store.Out, recorded) {
		if path, err := dialect.ParsePaths(transcript.JoinPath(transcript.PlaceAt(recorded, slot.Start))); err == nil && !slot.ByClient {
			loose = loose.Join(path)
		}
	}
	return len(transcript.Compare(recorded, live, loose, m.same)) == 0
}

// same reports whether a live value is the recorded one with what is bound in
// its place.
func (m *mirror) same(_ []string, recorded, live string) bool {
	return m.live(unquoted(recorded)) == plain(unquoted(live))
}

// live returns a recorded text as it would be in this rerun: with live paths
// and ids in place of recorded ones. Redacted values have no key here and so
// lose their names.
func (m *mirror) live(text string) string {
	edits := texts(m.now.text, text)
	return plain(string(apply([]byte(text), edits)))
}

// plain takes from a text what differs between two runs of its own: what tells
// one redacted secret from another, and where the model was to be found.
func plain(text string) string {
	if strings.Contains(text, "/r/") {
		text = frontForm().ReplaceAllString(text, "<model>")
	}
	return tokenForm().ReplaceAllString(text, "<redacted>")
}

// frontForm is the address that an agent gets for its model's; see llm.Front.
var frontForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`http://127\.0\.0\.1:[0-9]+/r/[0-9a-f]{32}`) })

// unknown declines a request that the recording does not hold.
func (m *mirror) unknown(raw []byte, r *dialect.Reading) {
	name := r.Label
	if r.Name != "" {
		name += " of " + r.Name
	}
	message := name + " is not in the recording"
	n := 0
	for _, q := range m.questions[r.Label] {
		if q.name == r.Name {
			n++
		}
	}
	if n > 0 {
		message = fmt.Sprintf("%s was recorded %s and has now been made once more", name, times(n))
	}
	value := strings.Clone(r.Args)
	if value == "" {
		value = string(raw)
	}
	m.report(Entry{
		Kind: Unknown, Label: strings.Clone(r.Label), Message: message,
		Differences: []transcript.Difference{{Live: asJSON(value)}},
	})
	text := m.decline
	if text == "" {
		text = "Error: agentrec: " + message
	}
	if answer := m.s.dialect.Decline(raw, text); answer != nil {
		m.count++
		reading := m.s.dialect.Read(store.In, answer)
		m.pairer.Next(m.count, store.In, &reading)
		m.out = append(m.out, sending{raw: answer})
	}
}
