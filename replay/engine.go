package replay

import (
	"fmt"
	"slices"

	"agentrec/internal/dialect"
	"agentrec/internal/transcript"
	"agentrec/store"
)

// engine decides what is sent: a pure state machine. Its input is live frames,
// EOF, signals and stalls; its output is a queue of frames, each with the epoch
// of its bindings. It does no I/O but to fetch recorded in frames, and knows no
// clock, so the same input always gives the same output.
type engine struct {
	s        *script
	o        matching
	fetch    func(item int32) []byte // payload of a recorded frame
	log      bindings
	now      *view
	done     []bool  // in: matched; out: released
	queued   []bool  // in the heap
	watch    []int32 // first of the frames that wait for an item
	follow   []int32 // the next that waits for the same item
	anyOf    map[int32][]int32
	ready    heap
	out      []outgoing
	left     int                  // out frames not released, of those that the script has
	counted  int                  // out frames that left has counted
	pooled   int                  // in frames in pools
	seen     int32                // items before it have been looked at
	led      bool                 // an out frame has been
	grow     func(all bool) error // makes a script longer that is not whole
	owed     map[int32][]byte     // matched requests whose response the script does not have yet
	pools    map[poolKey]*gateList
	pairer   transcript.Pairer // agent requests in flight
	live     map[int32][]byte  // matched requests whose response is due
	ending   []int32           // cut recording: matched requests without a response
	convs    map[int32]string  // recorded conversation -> live
	unconvs  map[string]int32
	known    map[string]int32 // recorded conversations by name
	liveRefs map[string]int32 // the recorded request that a live id or handle stands for, latest
	verdict  *verdict
	frames   int64 // live frames so far
	last     int32 // the last out frame released
	closed   bool
	index    map[poolKey]map[string][]int32 // recorded frames by what they say; see alike
	lookup   *lookup                        // nil but in lookup mode
	changed  map[int32][]byte               // recorded in frames whose live partner says something else
}

type poolKey struct {
	role  dialect.Role
	label string
}

// outgoing is a frame to send: a recorded one with the epoch of its release, or
// other. A million of them may be queued, so it is small.
type outgoing struct {
	item  int32
	epoch int32
	other *other
}

// other is what is sent besides recorded frames: bytes with their terminator (a
// refusal, or what was read before the script was made).
type other struct {
	raw   []byte
	begin func(*writer) // sets the writer up; runs in its goroutine
}

func newEngine(s *script, o matching, v *verdict, fetch func(int32) []byte) *engine {
	e := &engine{
		s: s, o: o, fetch: fetch, verdict: v, seen: 1,
		anyOf: map[int32][]int32{}, index: map[poolKey]map[string][]int32{}, owed: map[int32][]byte{},
		pools: map[poolKey]*gateList{}, live: map[int32][]byte{},
		convs: map[int32]string{}, unconvs: map[string]int32{}, known: map[string]int32{}, liveRefs: map[string]int32{}, changed: map[int32][]byte{},
	}
	e.now = newView(&e.log)
	if o.lookup != "" {
		e.lookup = &lookup{exhausted: o.lookup, used: map[int32]int{}, asked: map[int32]*play{}}
	}
	for i, name := range s.convs[1:] {
		e.known[name] = int32(i + 1)
	}
	e.admit()
	return e
}

func (e *engine) addBinding(b binding) {
	e.log.add(b)
	e.now.advance(e.now.epoch + 1)
}

// start releases what waits for nothing.
func (e *engine) start() []outgoing {
	if e.lookup != nil {
		for i := int32(1); i < int32(len(e.s.items)) && e.s.items[i].stream != store.In; i++ {
			if e.s.items[i].stream == store.Out {
				e.emit(i)
			}
		}
		return e.settle()
	}
	e.look()
	return e.settle()
}

// eof takes note that the client closed the agent's stdin.
func (e *engine) eof() []outgoing {
	e.rest()
	e.closed = true
	return e.happened(func(ev store.Event) bool { return ev.Kind == store.EventEOF })
}

// signal takes note of a signal from the client's side.
func (e *engine) signal(name string) []outgoing {
	e.rest()
	return e.happened(func(ev store.Event) bool { return ev.Kind == store.EventSignal && ev.Signal == name })
}

func (e *engine) happened(is func(store.Event) bool) []outgoing {
	if e.lookup != nil {
		return nil
	}
	for i := range e.s.items {
		if e.s.items[i].flags&fEvent != 0 && !e.done[i] && is(e.s.events[int32(i)]) {
			e.meet(int32(i))
			break
		}
	}
	return e.settle()
}

// unmet returns an item that the out frame i still waits for, 0 when there is
// none; any reports that one of several candidates is waited for.
func (e *engine) unmet(i int32) (item int32, any bool) {
	it := &e.s.items[i]
	if e.o.recorded {
		return e.before(i), false
	}
	if it.prev != 0 && !e.done[it.prev] {
		return it.prev, false
	}
	if it.need != 0 && !e.done[it.need] {
		return it.need, false
	}
	for _, m := range e.s.more[i] {
		if !e.done[m] {
			return m, false
		}
	}
	l := &e.s.lanes[it.lane]
	gates := &l.gates
	switch {
	case it.flags&fAll != 0:
		gates = &e.s.all
	case it.flags&fLane0 != 0:
		gates = &e.s.lanes[0].gates
	}
	if g := gates.next(it.gateLo, it.gateHi, e.done); g != 0 {
		return g, false
	}
	for n := it.respLo; n < it.respHi; n++ {
		if !e.done[l.resps[n]] {
			return l.resps[n], false
		}
	}
	if it.flags&fShared != 0 {
		for _, c := range e.s.shared[i] {
			if e.done[c] {
				return 0, false
			}
		}
		return 0, true
	}
	return 0, false
}

// before returns what the out frame i waits for in recorded order: the nearest
// frame before it that is not done.
func (e *engine) before(i int32) int32 {
	for j := i - 1; j > 0; j-- {
		it := &e.s.items[j]
		if it.stream == store.Err {
			continue
		}
		if !e.done[j] {
			return j
		}
		if it.stream == store.Out {
			return 0 // it waited for all before it
		}
	}
	return 0
}

// check moves a frame to the heap, or lets it watch what it waits for.
func (e *engine) check(i int32) {
	if e.done[i] || e.queued[i] {
		return
	}
	item, any := e.unmet(i)
	switch {
	case any:
		for _, c := range e.s.shared[i] {
			e.anyOf[c] = append(e.anyOf[c], i)
		}
	case item != 0:
		e.follow[i] = e.watch[item]
		e.watch[item] = i
	default:
		e.queued[i] = true
		e.ready.push(i)
	}
}

// meet marks an item as matched or released and checks what waited for it.
func (e *engine) meet(i int32) {
	e.done[i] = true
	w := e.watch[i]
	e.watch[i] = 0
	for w != 0 {
		next := e.follow[w]
		e.follow[w] = 0
		e.check(w)
		w = next
	}
	for _, w := range e.anyOf[i] {
		e.check(w)
	}
	delete(e.anyOf, i)
}

// settle releases all that is ready, in order of seq, and hands out the queue.
func (e *engine) settle() []outgoing {
	for len(e.ready) > 0 {
		e.release(e.ready.pop())
	}
	e.ending = slices.DeleteFunc(e.ending, func(r int32) bool {
		l := &e.s.lanes[e.s.items[r].lane]
		if n := len(l.xs); n > 0 && !e.done[l.xs[n-1]] {
			return false
		}
		e.refuse(e.live[r], cutMessage(e.s.last))
		delete(e.live, r)
		return true
	})
	out := e.out
	e.out = nil
	return out
}

func (e *engine) release(i int32) {
	if e.done[i] {
		return
	}
	e.left--
	e.last = i
	e.out = append(e.out, outgoing{item: i, epoch: int32(e.now.epoch)})
	for j := i + 1; j < int32(len(e.s.items)) && e.s.items[j].stream != store.Out; j++ {
		if e.s.items[j].stream == store.Err {
			e.out = append(e.out, outgoing{item: j, epoch: int32(e.now.epoch)})
		}
	}
	if a, ok := e.s.asks[i]; ok {
		e.pairer.Next(int64(i), store.Out, &dialect.Reading{Role: dialect.Request, ID: a.id, Key: a.key})
	}
	if e.s.items[i].flags&fX == 0 {
		delete(e.live, e.s.items[i].pair)
	}
	if m := e.s.members[i]; m != 0 && !e.o.recorded {
		e.release(m)
	}
	e.meet(i)
}

// refuse sends the protocol's own error for a live request.
func (e *engine) refuse(request []byte, message string) bool {
	raw := e.s.dialect.Refuse(request, message)
	if raw == nil {
		return false
	}
	e.out = append(e.out, outgoing{other: &other{raw: append(raw, '\n')}})
	return true
}

// finished reports that every out frame has been released.
func (e *engine) finished() bool { return e.left == 0 && e.s.whole }

// leaves reports that the agent ended by itself and all that led to it is done.
func (e *engine) leaves() bool {
	if e.lookup != nil || !e.s.whole || e.s.exit == nil || e.s.exit.Signal != "" || e.left > 0 || len(e.s.ending) > 0 {
		return false
	}
	return e.s.all.next(0, int32(len(e.s.all.items)), e.done) == 0
}

// stall reports that the client seems to wait too, refuses the live requests
// whose response cannot come, and returns false when nothing is held back.
func (e *engine) stall() ([]outgoing, bool) {
	e.rest()
	frame, cause := e.held()
	if frame == 0 || e.lookup != nil || e.verdict.allow && len(e.live) == 0 {
		return nil, false // with --allow-unsent an idle client that asked nothing waits for nothing
	}
	e.verdict.stalled(e, cause)
	requests := make([]int32, 0, len(e.live))
	for r := range e.live {
		requests = append(requests, r)
	}
	slices.Sort(requests)
	for _, r := range requests {
		e.refuse(e.live[r], "agentrec: the replay is stalled: "+e.verdict.lastStall())
		delete(e.live, r)
	}
	return e.settle(), true
}

// held returns the first out frame that is held back and the in frame, or the
// event, that it waits for in the end.
func (e *engine) held() (frame, cause int32) {
	for i := int32(1); i < int32(len(e.s.items)); i++ {
		it := &e.s.items[i]
		if it.stream != store.Out || e.done[i] || it.flags&fFollows != 0 {
			continue
		}
		c, any := e.unmet(i)
		if any {
			c = e.s.shared[i][0]
		}
		for c != 0 && e.s.items[c].stream == store.Out {
			if c, any = e.unmet(c); any {
				c = 0
			}
		}
		if c != 0 {
			return i, c
		}
	}
	return 0, 0
}

// heap is a binary heap of items, the lowest first.
type heap []int32

func (h *heap) push(i int32) {
	*h = append(*h, i)
	a := *h
	for n := len(a) - 1; n > 0; {
		up := (n - 1) / 2
		if a[up] <= a[n] {
			return
		}
		a[up], a[n] = a[n], a[up]
		n = up
	}
}

func (h *heap) pop() int32 {
	a := *h
	top := a[0]
	a[0] = a[len(a)-1]
	a = a[:len(a)-1]
	*h = a
	for n := 0; ; {
		small := n
		for _, c := range []int{2*n + 1, 2*n + 2} {
			if c < len(a) && a[c] < a[small] {
				small = c
			}
		}
		if small == n {
			return top
		}
		a[n], a[small] = a[small], a[n]
		n = small
	}
}

func cutMessage(last int32) string {
	return fmt.Sprintf("agentrec: the recording ends at frame %d, before this was answered", last)
}
