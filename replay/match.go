package replay

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"

	"agentrec/internal/dialect"
	"agentrec/internal/transcript"
	"agentrec/store"
)

// Level is how well a live frame fits a recorded one.
type Level int

// The levels, each including the ones above it. Kind is a frame of equal role,
// label and lane; Shape has the same keys and types; Content is equal less
// volatile and ignored places; Exact is equal but for ids.
const (
	None Level = iota
	Kind
	Shape
	Content
	Exact
)

var levelNames = map[string]Level{"exact": Exact, "content": Content, "shape": Shape, "kind": Kind}

func (l Level) String() string {
	for name, level := range levelNames {
		if level == l {
			return name
		}
	}
	return "none"
}

// matching is how live frames are compared with recorded ones.
type matching struct {
	least    Level
	ignore   dialect.Paths
	values   []*regexp.Regexp // differences between two values that both match are accepted
	labels   map[string]LabelRule
	update   bool    // --update: every level fits
	recorded bool    // --order recorded
	lookup   string  // "", or what to do when answers are exhausted
	token    tokener // nil when the key behind the recording's tokens is not at hand
}

// How many recorded frames a live one is compared with before the best so far
// is taken, and how many more once one fits.
const (
	maxCandidates = 256
	moreWhenFound = 16
)

// frame takes a live frame of the client and returns what it releases.
func (e *engine) frame(raw []byte) []outgoing {
	e.frames++
	r := e.s.dialect.Read(store.In, raw)
	if e.lookup != nil {
		return e.looked(raw, &r)
	}
	if r.Role == dialect.Response {
		e.answer(raw, &r)
	} else {
		e.ask(raw, &r)
	}
	return e.settle()
}

// answer matches a response to an agent request with the recorded one, whatever
// it says.
func (e *engine) answer(raw []byte, r *dialect.Reading) {
	links := e.pairer.Next(e.frames, store.In, r)
	if len(links) == 0 || slices.ContainsFunc(links, func(l transcript.Link) bool { return !e.hasPair(int32(l.Request.Seq)) }) {
		e.rest() // the answer may come later in the recording
	}
	if len(links) == 0 {
		if i := e.first(r, func(i int32) bool { return e.s.items[i].pair == 0 }); i != 0 {
			e.take(i, raw, r)
			return
		}
		e.verdict.extra(e, raw, r)
		return
	}
	var taken int32
	for _, l := range links {
		a := e.s.items[l.Request.Seq].pair
		switch {
		case a == taken && a != 0:
		case a == 0:
			e.verdict.note(e, Answered, "the recording has no answer to this request of the agent", r)
		case e.done[a]:
			e.verdict.note(e, Answered, fmt.Sprintf("answers a request of the agent that frame %d answers together with others", e.s.items[a].seq), r)
		default:
			taken = a
			e.take(a, raw, r)
		}
	}
}

// take matches a live frame that cannot be refused with the recorded frame i;
// what differs is a divergence.
func (e *engine) take(i int32, raw []byte, r *dialect.Reading) {
	raw = e.inOrder(i, raw, r)
	fit := e.compare(i, raw)
	if fit.level < e.rule(i).least {
		e.verdict.differs(e, i, raw, r, fit.differences)
	} else {
		e.verdict.inexact(e, i, raw, r, fit)
	}
	e.match(i, raw, r, fit)
}

// fit is how a live frame compares with a recorded one.
type fit struct {
	level       Level
	strange     int // values of the client that are to be bound to something else, and secrets other than recorded
	differences []transcript.Difference
	tokens      map[string]string // redaction tokens and what stands in their place
}

// ask matches a request, notification, cancel or raw frame with the best of the
// recorded frames of its kind that are left.
func (e *engine) ask(raw []byte, r *dialect.Reading) {
	c := e.choose(raw, r)
	if !c.sure && !e.s.whole {
		e.rest() // there may be a better one
		c = e.choose(raw, r)
	}
	switch {
	case c.best != 0:
		if c.behind {
			e.verdict.early(e, c.best, r)
		}
		raw = e.inOrder(c.best, raw, r)
		e.verdict.inexact(e, c.best, raw, r, c.fit)
		e.match(c.best, raw, r, c.fit)
	case r.Role == dialect.Request || r.Role == dialect.Cancel && (r.ID != "" || r.Key != ""):
		refused := e.verdict.refused(e, c.nearest, raw, r, c.nearestFit.differences)
		e.refuse(raw, refused)
	default:
		if i := e.first(r, nil); i != 0 {
			e.take(i, raw, r)
			return
		}
		e.verdict.extra(e, raw, r)
	}
}

// choice is which recorded frame a live one is taken for, and which one it is
// nearest to.
type choice struct {
	best, nearest   int32
	fit, nearestFit fit
	behind          bool // best stands behind an act that has not been sent
	sure            bool // no later frame can be better
}

func (e *engine) choose(raw []byte, r *dialect.Reading) choice {
	var c choice
	budget := maxCandidates
	e.candidates(r, func(i int32) bool {
		f := e.compare(i, e.inOrder(i, raw, r))
		if c.nearest == 0 || f.level > c.nearestFit.level || f.level == c.nearestFit.level && len(f.differences) < len(c.nearestFit.differences) {
			c.nearest, c.nearestFit = i, f
		}
		if f.level >= e.rule(i).least {
			behind := e.behind(i)
			if c.best == 0 || better(f, behind, c.fit, c.behind) {
				c.best, c.fit, c.behind = i, f, behind
			}
			if c.sure = f.level == Exact && f.strange == 0 && !behind; c.sure {
				return false
			}
			budget = min(budget, moreWhenFound)
		}
		budget--
		return budget > 0
	})
	if c.best != 0 || budget > 0 || !e.s.whole {
		return c
	}
	for _, i := range e.alike(raw, r) { // it may be far ahead of all that was tried
		if e.done[i] || !e.fits(i, r) {
			continue
		}
		if f := e.compare(i, e.inOrder(i, raw, r)); f.level >= e.rule(i).least {
			c.best, c.fit, c.behind = i, f, e.behind(i)
			break
		}
	}
	return c
}

// better reports whether a later candidate beats the best so far: by level, then
// by not standing behind an unsent act, then by fewer new values (of two equal
// requests for two folders each finds its own), then by fewer differences.
func better(f fit, behind bool, best fit, bestBehind bool) bool {
	if f.level != best.level {
		return f.level > best.level
	}
	if behind != bestBehind {
		return bestBehind
	}
	if f.strange != best.strange {
		return f.strange < best.strange
	}
	return len(f.differences) < len(best.differences)
}

// candidates calls try with the unmatched recorded frames that a live frame may
// be, in order of seq.
func (e *engine) candidates(r *dialect.Reading, try func(i int32) bool) {
	pool := e.pools[poolKey{r.Role, r.Label}]
	if pool == nil {
		return
	}
	n := int32(len(pool.items))
	for at := int32(0); at < n; {
		i := pool.next(at, n, e.done)
		if i == 0 {
			return
		}
		if e.fits(i, r) && !try(i) {
			return
		}
		for at < n && pool.items[at] <= i {
			at++
		}
	}
}

// first returns the oldest unmatched recorded frame that a live frame may be.
func (e *engine) first(r *dialect.Reading, also func(i int32) bool) (found int32) {
	e.candidates(r, func(i int32) bool {
		if also != nil && !also(i) {
			return true
		}
		found = i
		return false
	})
	return found
}

// fits reports whether a live frame can belong to the conversation of the
// recorded frame i: a live conversation not seen yet fits any that is not taken.
func (e *engine) fits(i int32, r *dialect.Reading) bool {
	if e.s.dialect.OneLane() {
		return true
	}
	conv := e.s.ins[e.s.items[i].need].conv
	live := conversation(r)
	if conv == 0 || live == "" {
		return (conv == 0) == (live == "")
	}
	if bound, ok := e.convs[conv]; ok {
		return bound == live
	}
	if c, ok := e.unconvs[live]; ok {
		return c == conv
	}
	c, ok := e.known[live]
	return !ok || c == conv
}

func conversation(r *dialect.Reading) string {
	if r.Conversation != "" {
		return r.Conversation
	}
	for i := range r.Members {
		if c := r.Members[i].Conversation; c != "" {
			return c
		}
	}
	return ""
}

// behind reports whether the recorded frame i stands behind an act of its lane
// that the client has not sent.
func (e *engine) behind(i int32) bool {
	it := &e.s.items[i]
	acts := &e.s.lanes[it.lane].acts
	a := acts.next(0, int32(len(acts.items)), e.done)
	return a != 0 && a < i
}

// compare compares a live frame with the recorded frame i as it would look in
// this replay: with live ids and values in its slots.
func (e *engine) compare(i int32, live []byte) fit {
	recorded := e.fetch(i)
	if bytes.Equal(recorded, live) && e.s.items[i].flags&fSlots == 0 {
		return fit{level: Exact}
	}
	wild, bound, values := e.places(i, recorded)
	expected := e.s.render(e.now, i, recorded)
	rule := e.rule(i)
	out := fit{tokens: map[string]string{}}
	loose := wild.Join(e.s.dialect.Volatile(store.In, recorded)).Join(rule.ignore)
	out.differences = transcript.Compare(expected, live, loose, func(_ []string, a, b string) bool { return e.accept(&out, rule.values, a, b) })
	if !values.Empty() {
		for _, d := range transcript.Compare(recorded, live, dialect.Paths{}, nil) {
			if values.Match(splitPath(d.Path)) {
				out.strange++
			}
		}
	}
	if d, ok := e.means(i, recorded, live); !ok {
		out.level, out.differences = Kind, append(out.differences, d)
		return out
	}
	if len(out.differences) == 0 {
		out.level = Content
		if len(transcript.Compare(expected, live, wild, nil)) == 0 {
			out.level = Exact
		}
		return out
	}
	out.level = Shape
	for _, d := range out.differences {
		if !sameShape(d) || !bound.Empty() && bound.Match(splitPath(d.Path)) {
			out.level = Kind
		}
	}
	return out
}

// places returns the places of a recorded frame's slots: wild ones fit anything,
// bound ones must hold their live value; values are the wild ones that hold a
// value, not a request's id.
func (e *engine) places(i int32, recorded []byte) (wild, bound, values dialect.Paths) {
	if e.s.items[i].flags&fSlots == 0 {
		return wild, bound, values
	}
	for _, slot := range e.s.dialect.Slots(store.In, recorded) {
		path, err := dialect.ParsePaths(transcript.JoinPath(transcript.PlaceAt(recorded, slot.Start)))
		if err != nil {
			continue
		}
		_, known := e.s.lookup(e.now, i, slot, string(recorded[slot.Start:slot.End]))
		switch {
		case known && !(slot.Mints && slot.ByClient):
			bound = bound.Join(path)
			continue
		case !slot.ByClient:
			continue
		}
		wild = wild.Join(path)
		if !slot.Ref {
			values = values.Join(path)
		}
	}
	return wild, bound, values
}

// accept accepts a difference of two values that the user takes for noise, or
// that a redaction hides.
func (e *engine) accept(f *fit, values []*regexp.Regexp, recorded, live string) bool {
	for _, re := range values {
		if re.MatchString(unquoted(recorded)) && re.MatchString(unquoted(live)) {
			return true
		}
	}
	return e.now.inFolders(recorded, live) || e.redacted(f, recorded, live)
}

func unquoted(token string) string {
	if quoted(token) {
		return transcript.Unquote([]byte(token))
	}
	return token
}

// sameShape reports whether a difference is only one of values: the same JSON
// type on both sides, or an element more or less in an array.
func sameShape(d transcript.Difference) bool {
	if d.Recorded == "" || d.Live == "" {
		place := splitPath(d.Path)
		if len(place) == 0 {
			return false
		}
		last := place[len(place)-1]
		return last != "" && len(bytes.Trim([]byte(last), "0123456789")) == 0
	}
	return kindOf(d.Recorded[0]) == kindOf(d.Live[0])
}

func kindOf(c byte) byte {
	switch c {
	case '"', '{', '[', 'n':
		return c
	case 't', 'f':
		return 't'
	}
	return '0'
}

// splitPath is the inverse of transcript.JoinPath.
func splitPath(path string) []string {
	var out []string
	var key []byte
	for i := 0; i < len(path); i++ {
		switch {
		case path[i] == '\\' && i+1 < len(path):
			i++
			key = append(key, path[i])
		case path[i] == '.':
			out, key = append(out, string(key)), nil
		default:
			key = append(key, path[i])
		}
	}
	return append(out, string(key))
}

// match marks the recorded frame i as sent by the client and binds its values.
func (e *engine) match(i int32, raw []byte, r *dialect.Reading, f fit) {
	e.verdict.matched++
	e.verdict.last = i
	if f.level < Content {
		e.changed[i] = raw
	}
	e.pairSlots(i, e.fetch(i), raw, func(slot dialect.Slot, recorded, live string) { e.bindSlot(i, slot, recorded, live) })
	for _, token := range sortedKeys(f.tokens) {
		e.addBinding(binding{space: redactedSpace, recorded: token, live: f.tokens[token]})
	}
	if conv, live := e.s.ins[e.s.items[i].need].conv, conversation(r); conv != 0 && live != "" {
		if _, ok := e.convs[conv]; !ok {
			e.convs[conv] = live
			e.unconvs[live] = conv
		}
	}
	if r.Role == dialect.Request || e.s.items[i].role == dialect.Request {
		e.owe(i, raw)
	}
	e.meet(i)
}

// pairSlots calls do with the slots that both a recorded and a live frame have.
func (e *engine) pairSlots(i int32, recorded, live []byte, do func(slot dialect.Slot, recorded, live string)) {
	if e.s.items[i].flags&fSlots == 0 {
		return
	}
	used := map[int]bool{}
	liveSlots := e.s.dialect.Slots(store.In, live)
	for _, slot := range e.s.dialect.Slots(store.In, recorded) {
		for n, other := range liveSlots {
			if used[n] || !sameSlot(slot, other) {
				continue
			}
			used[n] = true
			do(slot, string(recorded[slot.Start:slot.End]), string(live[other.Start:other.End]))
			break
		}
	}
}

// means reports whether every reference of a live frame may mean the request
// that the recorded one means, and every value of the client is one of the
// recorded type: a live id that stands for another recorded request does not.
func (e *engine) means(i int32, recorded, live []byte) (d transcript.Difference, ok bool) {
	ok = true
	e.pairSlots(i, recorded, live, func(slot dialect.Slot, was, is string) {
		if !ok || !slot.ByClient {
			return
		}
		if !slot.Ref && kindOf(was[0]) != kindOf(is[0]) {
			d, ok = transcript.Difference{Path: transcript.JoinPath(transcript.PlaceAt(recorded, slot.Start)), Recorded: was, Live: is}, false
		}
		if !slot.Ref || slot.Mints {
			return
		}
		if q := e.liveRefs[naming(slot.Namespace, is)]; q != 0 && q != e.s.referred(i, slot) {
			d, ok = transcript.Difference{Path: transcript.JoinPath(transcript.PlaceAt(recorded, slot.Start)), Recorded: was, Live: is}, false
		}
	})
	return d, ok
}

func (e *engine) bindSlot(i int32, slot dialect.Slot, recorded, live string) {
	switch {
	case !slot.ByClient:
	case slot.Ref && slot.Mints:
		e.addBinding(binding{space: slot.Namespace, recorded: recorded, live: live, request: i})
		e.liveRefs[naming(slot.Namespace, live)] = i
	case slot.Ref:
	default:
		old, known := e.now.values[naming(slot.Namespace, recorded)]
		if !known || slot.Mints && old != live {
			e.addBinding(binding{space: slot.Namespace, recorded: recorded, live: live})
		}
	}
}
