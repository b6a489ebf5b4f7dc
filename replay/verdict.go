package replay

import (
	"fmt"
	"slices"
	"strings"

	"agentrec/internal/dialect"
	"agentrec/internal/llm"
	"agentrec/internal/transcript"
	"agentrec/store"
)

// Kinds of what a report lists.
const (
	Different = "different"    // a live frame took the place of a recorded one that says something else
	Refused   = "refused"      // a live request that the recording does not hold; the client got an error
	Extra     = "extra"        // another live frame that the recording does not hold
	Unsent    = "unsent"       // a recorded frame that the client did not send
	Stalled   = "stalled"      // the client and the replay waited for each other
	Early     = "early"        // a frame was matched although an act recorded before it was not sent yet
	Inexact   = "inexact"      // a frame was accepted at a level below exact
	Missing   = "missing"      // of a rerun: what the agent did when it was recorded and does not do now
	Unknown   = "unknown call" // a request of the live agent that the recording does not hold
	Again     = "again"        // a recorded answer of a model was sent once more
	Answered  = "answered"     // an answer that the recording leaves open
	LeftOver  = "left over"    // recorded frames of the agent that were not sent
	Updated   = "updated"      // changed frames went into the recording
	Faulted   = "fault"        // damage that was asked for
	Stranger  = "stranger"     // a label in the options that no recorded frame of the client has
	Ended     = "ended"        // how the replay ended, where it is not as recorded
)

// Entry is one thing a report lists: a divergence or a note.
type Entry struct {
	Kind        string                  `json:"kind"`
	Seq         int64                   `json:"seq,omitempty"`      // recorded frame
	Live        int64                   `json:"live,omitempty"`     // number of the live frame, from 1
	Exchange    int64                   `json:"exchange,omitempty"` // recorded exchange with a model; of a refused request the nearest
	Request     int                     `json:"request,omitempty"`  // number of the live request to a model, from 1
	Label       string                  `json:"label,omitempty"`    // of the live frame, or of the recorded one where there is none
	Nearest     int64                   `json:"nearest,omitempty"`
	Differences []transcript.Difference `json:"differences,omitempty"`
	More        int                     `json:"more_differences,omitempty"` // how many differences are not listed
	Holds       []int64                 `json:"holds,omitempty"`            // frames of the agent that waited for it
	Message     string                  `json:"message"`
	Accept      string                  `json:"accept,omitempty"`  // flag that would accept it
	Follows     bool                    `json:"follows,omitempty"` // came after the first divergence, so it may only follow from it
	Runs        int                     `json:"runs,omitempty"`    // of several reruns: in how many it was found
}

// verdict collects what a replay finds out.
type verdict struct {
	allow   bool // --allow-unsent
	matched int  // in frames
	last    int32
	diverge []Entry
	notes   []Entry
	dropped int // entries beyond maxEntries
	quiet   int // unsent frames after the first divergence
	loud    func(Entry)
	mask    func(live string, whole bool) string // hides secrets in a live value, or whole frame
}

// Bounds of a report: entries of each list, differences of an entry.
const (
	maxEntries     = 1000
	maxDifferences = 20
	maxValue       = 2000 // bytes of a value
	maxLoud        = 3    // unsent frames that are told one by one after the first divergence
)

func (v *verdict) diverged(n Entry) Entry {
	n.Follows = len(v.diverge) > 0
	n = v.tidy(n)
	if len(v.diverge) >= maxEntries {
		v.dropped++
	} else {
		v.diverge = append(v.diverge, n)
	}
	if n.Kind == Unsent && n.Follows {
		v.quiet++
	}
	if v.loud != nil && v.quiet <= maxLoud {
		v.loud(n)
	}
	return n
}

func (v *verdict) noted(n Entry) {
	if len(v.notes) < maxEntries {
		v.notes = append(v.notes, v.tidy(n))
	}
}

// tidy bounds an entry and hides secrets in it.
func (v *verdict) tidy(n Entry) Entry {
	if len(n.Differences) > maxDifferences {
		n.More = len(n.Differences) - maxDifferences
		n.Differences = n.Differences[:maxDifferences]
	}
	n.Differences = slices.Clone(n.Differences)
	for i := range n.Differences {
		d := &n.Differences[i]
		if v.mask != nil {
			d.Live = v.mask(d.Live, d.Path == "")
		}
		d.Recorded, d.Live = llm.CutAround(d.Recorded, d.Live, maxValue)
	}
	return n
}

func (v *verdict) differs(e *engine, i int32, raw []byte, r *dialect.Reading, d []transcript.Difference) {
	seq := int64(e.s.items[i].seq)
	v.diverged(Entry{
		Kind: Different, Seq: seq, Live: e.frames, Label: r.Label, Differences: e.hide(raw, d), Accept: accepts(d),
		Message: fmt.Sprintf("%s differs from frame %d", e.taken(i, r), seq),
	})
}

func (v *verdict) inexact(e *engine, i int32, raw []byte, r *dialect.Reading, f fit) {
	if f.level >= Content {
		return
	}
	seq := int64(e.s.items[i].seq)
	v.noted(Entry{
		Kind: Inexact, Seq: seq, Live: e.frames, Label: r.Label, Differences: e.hide(raw, f.differences),
		Message: fmt.Sprintf("%s was accepted for frame %d by %s only", e.taken(i, r), seq, f.level),
	})
}

func (v *verdict) early(e *engine, i int32, r *dialect.Reading) {
	v.note(e, Early, fmt.Sprintf("took frame %d, which was recorded after an act that has not been sent", e.s.items[i].seq), r)
}

func (v *verdict) note(e *engine, kind, message string, r *dialect.Reading) {
	v.noted(Entry{Kind: kind, Live: e.frames, Label: r.Label, Message: called(r) + ": " + message})
}

// refused notes a request that nothing recorded fits and returns the message
// for the client.
func (v *verdict) refused(e *engine, nearest int32, raw []byte, r *dialect.Reading, d []transcript.Difference) string {
	n := Entry{Kind: Refused, Live: e.frames, Label: r.Label}
	total := e.recordedLike(r)
	switch {
	case nearest != 0:
		n.Nearest = int64(e.s.items[nearest].seq)
		n.Differences, n.Accept = e.hide(raw, d), accepts(d)
		n.Message = fmt.Sprintf("%s is not in the recording; the nearest is frame %d", called(r), n.Nearest)
		if len(d) > 0 {
			n.Message += ", which differs at " + place(d[0].Path)
		}
	case total > 0:
		n.Message, n.Nearest = e.onceMore(r, total)
		if n.Nearest == 0 {
			n.Accept = "--lookup --exhausted last"
		}
	default:
		n.Message = called(r) + " is not in the recording"
		if next := e.expected(); next != 0 {
			n.Nearest = int64(e.s.items[next].seq)
			n.Message += fmt.Sprintf("; it expects %s (frame %d) next", e.labelOf(next), n.Nearest)
		}
	}
	return "agentrec: " + v.diverged(n).Message
}

func (v *verdict) extra(e *engine, raw []byte, r *dialect.Reading) {
	n := Entry{Kind: Extra, Live: e.frames, Label: r.Label}
	total := e.recordedLike(r)
	switch {
	case total > 0 && r.Role == dialect.Response && r.ID != "":
		n.Message = fmt.Sprintf("%s answers id %.60s, which no open request of the agent has", called(r), r.ID)
	case total > 0:
		n.Message, n.Nearest = e.onceMore(r, total)
	default:
		n.Message = called(r) + " is not in the recording"
	}
	if len(raw) > 0 {
		n.Differences = e.hide(raw, []transcript.Difference{{Live: string(raw)}})
	}
	v.diverged(n)
}

func (v *verdict) stalled(e *engine, cause int32) {
	n := Entry{Kind: Stalled, Seq: int64(e.s.items[cause].seq), Label: e.rawLabel(cause)}
	holds := e.holds(cause)
	n.Holds = e.seqs(holds)
	n.Message = fmt.Sprintf("the client never sent %s%s; it last received %s", e.labelOf(cause), at(n.Seq), e.nameOut(e.last))
	if len(n.Holds) > 0 {
		n.Message += "; waiting for it: " + e.nameAll(holds)
	}
	if e.s.items[cause].flags&fEvent == 0 {
		n.Accept = "--free " + shellWord(n.Label) + " --allow-unsent" // the first alone if it comes later
	}
	v.diverged(n)
}

// shellWord quotes a label for a shell where that is needed.
func shellWord(label string) string {
	if strings.ContainsAny(label, " '\"$`\\*?<>|&;()[]{}#~!") {
		return "'" + strings.ReplaceAll(label, "'", `'\''`) + "'"
	}
	return label
}

func (v *verdict) lastStall() string {
	for _, n := range slices.Backward(v.diverge) {
		if n.Kind == Stalled {
			return n.Message
		}
	}
	return ""
}

// close adds what was not sent by either side.
func (v *verdict) close(e *engine, gone bool) {
	for _, in := range e.s.ins {
		if e.done[in.item] {
			continue
		}
		if len(v.diverge) >= maxEntries && !v.allow && e.lookup == nil {
			v.dropped++
			v.quiet++
			continue
		}
		holds := e.holds(in.item)
		n := Entry{Kind: Unsent, Seq: int64(e.s.items[in.item].seq), Label: e.s.labels[in.label], Holds: e.seqs(holds)}
		n.Message = fmt.Sprintf("the client did not send %s (frame %d)", e.labelOf(in.item), n.Seq)
		if len(holds) > 0 {
			n.Message += "; waiting for it: " + e.nameAll(holds)
		}
		n.Accept = "--allow-unsent"
		if !v.allow && e.lookup == nil {
			v.diverged(n)
		} else if v.noted(n); len(v.notes) >= maxEntries {
			break
		}
	}
	if e.left > 0 && e.lookup == nil {
		v.noted(Entry{Kind: LeftOver, Message: fmt.Sprintf("%d of %d frames of the agent were not due and not sent", e.left, e.s.outs)})
	}
	if gone {
		v.noted(Entry{Kind: Ended, Message: "the client stopped reading before it had received everything"})
	}
}

// holds returns the out frames that wait for an item, at most three; its own
// response goes without saying.
func (e *engine) holds(i int32) []int32 {
	var out []int32
	for w := e.watch[i]; w != 0; w = e.follow[w] {
		if e.s.items[w].flags&fX != 0 || e.s.items[w].pair != i {
			out = append(out, w)
		}
	}
	for _, w := range e.anyOf[i] {
		if !e.done[w] {
			out = append(out, w)
		}
	}
	slices.Sort(out)
	return out[:min(3, len(out))]
}

func (e *engine) seqs(items []int32) []int64 {
	var out []int64
	for _, i := range items {
		out = append(out, int64(e.s.items[i].seq))
	}
	return out
}

func (e *engine) nameAll(items []int32) string {
	names := make([]string, len(items))
	for n, i := range items {
		names[n] = e.nameOut(i)
	}
	return strings.Join(names, ", ")
}

// nameOut names a frame of the agent for people.
func (e *engine) nameOut(i int32) string {
	if i == 0 {
		return "nothing"
	}
	it := &e.s.items[i]
	if it.flags&fX == 0 {
		return fmt.Sprintf("the response to %s (frame %d)", e.labelOf(it.pair), it.seq)
	}
	r := e.s.dialect.Read(store.Out, e.fetch(i))
	return fmt.Sprintf("%s (frame %d)", called(&r), it.seq)
}

// labelOf names an in frame, or an event, for people. Where all answers have one
// label, what is answered says more.
func (e *engine) labelOf(i int32) string {
	it, label := &e.s.items[i], e.rawLabel(i)
	if it.role == dialect.Response && it.pair != 0 && label == "response" {
		if q := e.s.dialect.Read(store.Out, e.fetch(it.pair)); q.Label != "" {
			return "the response to " + q.Label
		}
	}
	return dialect.Spoken(label, it.role)
}

// taken names a live frame that was taken for the recorded frame i.
func (e *engine) taken(i int32, r *dialect.Reading) string {
	if r.Label != e.rawLabel(i) {
		return called(r) + " in place of " + e.labelOf(i)
	}
	return e.labelOf(i)
}

func (e *engine) rawLabel(i int32) string {
	it := &e.s.items[i]
	if it.flags&fEvent != 0 {
		if ev := e.s.events[i]; ev.Kind == store.EventSignal {
			return "SIG" + ev.Signal
		}
		return "the end of its input (EOF)"
	}
	return e.s.labels[e.s.ins[it.need].label]
}

func called(r *dialect.Reading) string { return dialect.Spoken(r.Label, r.Role) }

// expected returns the first recorded in frame that has not been sent.
func (e *engine) expected() int32 {
	for _, in := range e.s.ins {
		if !e.done[in.item] {
			return in.item
		}
	}
	return 0
}

// recordedLike returns how many recorded frames have the live frame's label.
func (e *engine) recordedLike(r *dialect.Reading) int {
	if p := e.pools[poolKey{r.Role, r.Label}]; p != nil {
		return len(p.items)
	}
	return 0
}

// onceMore says of a live frame whose like was recorded, total times, why none of
// these can be it: all have been sent, or those that are left, of which the first
// is returned, are of another conversation.
func (e *engine) onceMore(r *dialect.Reading, total int) (message string, other int64) {
	pool := e.pools[poolKey{r.Role, r.Label}]
	if i := pool.next(0, int32(len(pool.items)), e.done); i != 0 && e.lookup == nil {
		other = int64(e.s.items[i].seq)
		which := "no conversation"
		if name := conversation(r); name != "" {
			which = fmt.Sprintf("the conversation %.60q", name)
		}
		return fmt.Sprintf("%s names %s; the recorded ones that have not been sent are of another, the first is frame %d", called(r), which, other), other
	}
	return fmt.Sprintf("%s was recorded %s and has now been sent once more", called(r), times(total)), 0
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

func at(seq int64) string {
	if seq == 0 {
		return ""
	}
	return fmt.Sprintf(" (frame %d)", seq)
}

func place(path string) string {
	if path == "" {
		return "its root"
	}
	return path
}

// accepts returns the flag that would accept the differences.
func accepts(d []transcript.Difference) string {
	if len(d) == 0 {
		return ""
	}
	paths := map[string]bool{}
	for _, one := range d {
		if one.Path != "" {
			paths[one.Path] = true
		}
	}
	if len(paths) > 0 && len(paths) <= 3 && len(paths) == len(d) {
		var flags []string
		for _, one := range d {
			flags = append(flags, "--ignore '"+strings.ReplaceAll(one.Path, "'", `'\''`)+"'")
		}
		return strings.Join(flags, " ")
	}
	for _, one := range d {
		if !sameShape(one) {
			return "--match kind"
		}
	}
	return "--match shape"
}
