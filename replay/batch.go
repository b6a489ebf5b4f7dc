package replay

import (
	"bytes"

	"agentrec/internal/dialect"
	"agentrec/internal/transcript"
	"agentrec/store"
)

// maxAligned is how many members a batch may have that is put in order: each is
// held against each.
const maxAligned = 64

// inOrder returns a live batch with its members in the order of those of the
// recorded batch i. JSON-RPC gives the order of a batch no meaning, and clients
// that gather requests as they come send another one each time. What is no batch,
// or one with more or fewer members, comes back as it is. Where the order itself
// counts (--match exact), so does this.
func (e *engine) inOrder(i int32, live []byte, r *dialect.Reading) []byte {
	if len(r.Members) < 2 || len(r.Members) > maxAligned || e.rule(i).least == Exact {
		return live
	}
	recorded := e.fetch(i)
	was := e.s.dialect.Read(store.In, recorded)
	if len(was.Members) != len(r.Members) {
		return live
	}
	a, b := e.bare(recorded), e.bare(live)
	places := dialect.Members(live)
	used := make([]bool, len(places))
	out := make([]byte, 0, len(live))
	for n := range was.Members {
		best, least := -1, 0
		for m := range r.Members {
			if used[m] || was.Members[n].Role != r.Members[m].Role || was.Members[n].Label != r.Members[m].Label {
				continue
			}
			if d := len(transcript.Compare(a[n], b[m], dialect.Paths{}, nil)); best < 0 || d < least {
				best, least = m, d
			}
		}
		if best < 0 {
			return live // another kind of batch
		}
		used[best] = true
		out = append(append(out, ','), live[places[best].Start:places[best].End]...)
	}
	out[0] = '['
	return append(out, ']')
}

// bare returns the members of a batch without the ids that the client makes up.
func (e *engine) bare(batch []byte) [][]byte {
	var out [][]byte
	for _, place := range dialect.Members(batch) {
		member := bytes.Clone(batch[place.Start:place.End])
		var edits []edit
		for _, slot := range e.s.dialect.Slots(store.In, member) {
			if slot.ByClient {
				edits = append(edits, edit{slot.Start, slot.End, "null"})
			}
		}
		out = append(out, apply(member, edits))
	}
	return out
}
