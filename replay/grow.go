package replay

import (
	"fmt"
	"iter"

	"agentrec/internal/dialect"
	"agentrec/store"
)

// growth makes a script while it is played, a step at a time: the first answers of
// a recording of a million frames need not wait for the last. It gives the same
// answers as the whole script does, so it goes as far as what the client does next
// could matter, and to the end where that cannot be told from what has been read;
// the rest is made while nothing else is to be done.
//
// It is for recordings with one lane. There an act that has not been sent holds
// back all frames recorded after it but the responses to requests that have been
// sent. So the script reaches far enough when it has such an act and the responses
// to all that was sent. With lanes for conversations or requests a frame far behind
// may wait for nothing that stands before it, so such a script is made whole.
type growth struct {
	b      *builder
	c      conditions
	frames func(from, to int64) iter.Seq2[store.Frame, error]
	events []store.Event // that have not been taken
	next   int64         // seq of the next frame to be read
	count  int64         // frames that there are
	step   int64         // how many are read at once
}

// growthStep is how many frames are read at once, which others wait for.
const growthStep = 512

// grows reports whether a script that is played so may be made while it is.
func (o *Options) grows(d *dialect.Dialect) bool {
	return d.OneLane() && o.Order != "recorded" && !o.Lookup && !o.Update && len(o.Free)+len(o.Labels) == 0
}

// newGrowth begins a script of nothing.
func newGrowth(b *builder, count int64, events []store.Event, frames func(from, to int64) iter.Seq2[store.Frame, error]) *growth {
	b.assign()
	b.s.known = 1
	return &growth{b: b, c: newConditions(b), frames: frames, events: events, next: 1, count: count, step: growthStep}
}

// read takes the next frames into the script, or all that are left.
func (g *growth) read(all bool) error {
	from, to := g.next, int64(0)
	if !all {
		to = from + g.step - 1
	}
	for f, err := range g.frames(from, to) {
		if err != nil {
			return fmt.Errorf("reading the session's frames: %w", err)
		}
		for len(g.events) > 0 && g.events[0].After < f.Seq {
			g.add(func() { g.b.event(g.events[0]) })
			g.events = g.events[1:]
		}
		g.add(func() { g.b.frame(f) })
		g.next = f.Seq + 1
	}
	if all || g.next <= to || g.next > g.count {
		for _, e := range g.events {
			g.add(func() { g.b.event(e) })
		}
		g.b.s.whole = true
	}
	g.know()
	return nil
}

// add changes what the writer reads, too.
func (g *growth) add(change func()) {
	g.b.s.mu.Lock()
	defer g.b.s.mu.Unlock()
	change()
}

// know gives the frames their conditions that cannot change any more by what
// follows: not the last one of the agent, whose stderr may go on, nor one of a
// group that may have another member, nor, once there is a request that the agent
// may have swallowed, any later one.
func (g *growth) know() {
	s := g.b.s
	limit := int32(len(s.items))
	if !s.whole {
		limit = g.b.lastOut
		for _, first := range []int32{g.b.grouped, g.b.swallowed} {
			if first != 0 {
				limit = min(limit, first)
			}
		}
	}
	for ; s.known < limit; s.known++ {
		g.b.place(s.known, 1)
		g.c.one(s.known)
	}
	if s.whole {
		g.b.facts = nil
	}
}

// farEnough reports whether the script reaches as far as what the client does
// next could matter.
func (e *engine) farEnough() bool {
	if e.s.whole {
		return true
	}
	gates := &e.s.lanes[1].gates
	return len(e.owed) == 0 && gates.next(0, int32(len(gates.items)), e.done) != 0
}

// reach makes the script longer by one step and releases what is ready in it.
func (e *engine) reach() []outgoing {
	e.read(false)
	return e.settle()
}

// rest makes the script whole.
func (e *engine) rest() {
	if !e.s.whole {
		e.read(true)
	}
}

func (e *engine) read(all bool) {
	if err := e.grow(all); err != nil {
		e.s.whole = true // as far as it can be read; the caller of grow knows why
	}
	e.admit()
	e.look()
}

// admit makes room for what the script has grown by: its frames of the client can
// be matched from now on.
func (e *engine) admit() {
	n := len(e.s.items)
	e.done = append(e.done, make([]bool, n-len(e.done))...)
	e.queued = append(e.queued, make([]bool, n-len(e.queued))...)
	e.watch = append(e.watch, make([]int32, n-len(e.watch))...)
	e.follow = append(e.follow, make([]int32, n-len(e.follow))...)
	e.left += e.s.outs - e.counted
	e.counted = e.s.outs
	for ; e.pooled < len(e.s.ins) && e.s.ins[e.pooled].item < e.s.known; e.pooled++ {
		in := e.s.ins[e.pooled]
		key := poolKey{e.s.items[in.item].role, e.s.labels[in.label]}
		if e.pools[key] == nil {
			e.pools[key] = &gateList{}
		}
		e.pools[key].add(in.item)
	}
	for r, raw := range e.owed {
		if e.s.whole || e.hasPair(r) {
			delete(e.owed, r)
			e.owe(r, raw)
		}
	}
}

// look finds, for the frames of the agent that the script has grown by, what they
// wait for.
func (e *engine) look() {
	for ; e.seen < e.s.known; e.seen++ {
		i := e.seen
		it := &e.s.items[i]
		switch {
		case it.stream == store.Out && (it.flags&fFollows == 0 || e.o.recorded):
			e.led = true
			e.check(i)
		case it.stream == store.Out:
			e.led = true
		case it.stream == store.Err && !e.led:
			e.out = append(e.out, outgoing{item: i, epoch: int32(e.now.epoch)})
		}
	}
}

// hasPair reports whether the script goes as far as the response to item i.
func (e *engine) hasPair(i int32) bool {
	pair := e.s.items[i].pair
	return pair != 0 && pair < e.s.known
}

// owe notes a live request whose response is to come, or that it will not.
func (e *engine) owe(i int32, raw []byte) {
	it := &e.s.items[i]
	switch {
	case !e.s.whole && !e.hasPair(i):
		e.owed[i] = raw
	case it.pair != 0 && !e.done[it.pair]:
		e.live[i] = raw
	case it.pair == 0 && e.s.cut && len(e.s.cancels[i]) == 0 && it.flags&fSwallowed == 0:
		e.live[i] = raw
		e.ending = append(e.ending, i)
	}
}
