package replay

import (
	"slices"

	"agentrec/internal/dialect"
	"agentrec/store"
)

// finish decides the lanes and then, in one pass in order of seq, what every
// out frame waits for. Every condition points at a lower item.
func (b *builder) finish(state store.State) *script {
	b.s.cut = state != store.Closed // one that is being recorded ends here, too
	b.assign()
	c := newConditions(b)
	for i := int32(1); i < int32(len(b.s.items)); i++ {
		c.one(i)
	}
	s := b.s
	s.known, s.whole = int32(len(s.items)), true
	b.facts = nil
	return s
}

func newConditions(b *builder) conditions {
	return conditions{builder: b, spoken: map[int32]int32{}}
}

// one writes down the conditions of item i.
func (c *conditions) one(i int32) {
	it := &c.s.items[i]
	switch {
	case it.flags&fEvent != 0:
		c.s.all.add(i)
		c.events = append(c.events, i)
	case it.stream == store.In:
		c.in(i, it)
	case it.stream == store.Out:
		c.out(i, it)
	}
}

// assign gives every frame its lane.
func (b *builder) assign() {
	s := b.s
	one := s.dialect.OneLane()
	byConv := make([]int32, len(s.convs))
	newLane := func() int32 {
		s.lanes = append(s.lanes, lane{})
		return int32(len(s.lanes) - 1)
	}
	if one {
		newLane()
	}
	for i := int32(1); i < int32(len(s.items)); i++ {
		it, fc := &s.items[i], &b.facts[i]
		lane := int32(0)
		switch response := it.role == dialect.Response && it.pair != 0 && it.pair < i; {
		case one:
			lane = 1
		case it.flags&fEvent != 0 || it.stream == store.Err:
		case fc.conv != 0:
			if byConv[fc.conv] == 0 {
				byConv[fc.conv] = newLane()
				s.lanes[byConv[fc.conv]].opener = b.opener[fc.conv].request
			}
			lane = byConv[fc.conv]
		case response:
			lane = s.items[it.pair].lane
		case fc.about != 0:
			lane = s.items[fc.about].lane
		case it.stream == store.In && it.role == dialect.Request:
			lane = newLane()
		case fc.alone != 0:
			lane = s.items[fc.alone].lane
			it.flags |= fAttached
			it.need = fc.alone
		}
		b.place(i, lane)
	}
	if !one {
		b.opens(byConv)
	}
	for q := range s.shared {
		s.shared[q] = b.candidates(q)
	}
}

// place puts a frame into its lane.
func (b *builder) place(i, lane int32) {
	it := &b.s.items[i]
	if it.flags&fEvent != 0 || it.stream == store.Err {
		return
	}
	it.lane = lane
	if it.stream == store.Out {
		l := &b.s.lanes[lane]
		l.outs = append(l.outs, i)
	}
}

// opens makes the response that introduces a conversation one of that lane's.
func (b *builder) opens(byConv []int32) {
	for conv, o := range b.opener {
		if byConv[conv] == 0 {
			delete(b.opener, conv)
			continue
		}
		if s := b.s; s.items[o.request].flags&fGate == 0 {
			o.response = 0
			b.opener[conv] = o
		}
	}
}

// candidates are the open requests that may have caused the shared agent
// request q: those whose lane is silent until q is answered, or else all.
func (b *builder) candidates(q int32) []int32 {
	s := b.s
	all := s.shared[q]
	end := s.items[q].pair
	if end == 0 {
		return all
	}
	var silent []int32
	for _, r := range all {
		outs := s.lanes[s.items[r].lane].outs
		at, _ := slices.BinarySearch(outs, q+1)
		if at == len(outs) || outs[at] >= end {
			silent = append(silent, r)
		}
	}
	if len(silent) == 0 {
		return all
	}
	return silent
}

// conditions walks the items in order and writes down what each waits for.
type conditions struct {
	*builder
	events []int32 // EOF and signals so far
	// the state of frames without a lane
	lastUnlaned, unlanedAll int32
	openings                map[int32][]int32 // lanes that a response opens
	spoken                  map[int32]int32   // of a request: the last frame that speaks of it
}

func (c *conditions) in(i int32, it *item) {
	s := c.s
	l := &s.lanes[it.lane]
	if it.flags&fSwallowed != 0 {
		if it.pair == 0 {
			it.flags &^= fGate | fAct
		}
		l.crossing = append(l.crossing, i)
		return
	}
	c.acts(i, it)
}

// acts lets an in frame hold back what is recorded after it. One that the agent
// reads only when its turn has ended does so from the end of that turn on.
func (c *conditions) acts(i int32, it *item) {
	s := c.s
	l := &s.lanes[it.lane]
	if it.role == dialect.Request && it.flags&fAct != 0 {
		l.answered = false // a new turn
	}
	if it.lane != 0 && (it.flags&fAct != 0 || it.flags&(fCancel|fGate) == fCancel|fGate) {
		l.acts.add(i)
	}
	if it.flags&fFirst != 0 {
		if l.answered {
			it.flags &^= fGate
		}
		l.answered = true
	}
	if it.flags&fGate == 0 {
		return
	}
	s.all.add(i)
	if it.role == dialect.Response && it.pair != 0 && s.items[it.pair].flags&fShared != 0 {
		seen := map[int32]bool{}
		for _, r := range s.shared[it.pair] {
			if n := s.items[r].lane; !seen[n] {
				seen[n] = true
				s.lanes[n].gates.add(i)
			}
		}
		return
	}
	l.gates.add(i)
}

func (c *conditions) out(i int32, it *item) {
	switch {
	case it.flags&fX == 0:
		c.response(i, it)
	case it.flags&fShared != 0:
		it.flags |= fLane0
		it.gateHi = int32(len(c.s.lanes[0].gates.items))
	case it.lane == 0:
		c.unlaned(i, it)
	default:
		c.x(i, it)
	}
}

// response gives the response o of r its conditions: r, what was recorded in
// the lane between r and cut, and every cancel of r.
func (c *conditions) response(o int32, it *item) {
	s := c.s
	r := it.pair
	l := &s.lanes[it.lane]
	it.need = r
	s.more[o] = appendNew(s.more[o], s.also[o]...)
	if c.facts[r].query && c.shares(r) && s.items[r].flags&fSwallowed == 0 {
		it.prev = c.spoken[r]
		s.more[o] = appendNew(s.more[o], s.cancels[r]...)
		if len(s.more[o]) == 0 {
			delete(s.more, o)
		}
		return
	}
	cut := o
	if it.flags&fEnds == 0 {
		at, _ := slices.BinarySearch(l.acts.items, r+1)
		for _, a := range l.acts.items[at:] {
			if a >= o {
				break
			}
			if !slices.Contains(s.cancels[r], a) {
				cut = a
				break
			}
		}
	}
	between := func(list []int32) (lo, hi int) {
		lo, _ = slices.BinarySearch(list, r+1)
		hi, _ = slices.BinarySearch(list, cut)
		return lo, hi
	}
	lo, hi := between(l.gates.items)
	it.gateLo, it.gateHi = int32(lo), int32(hi)
	if lo, hi := between(l.xs); hi > lo {
		it.prev = l.xs[hi-1]
	}
	lo, hi = between(c.events)
	more := append([]int32(nil), c.events[lo:hi]...)
	for _, a := range s.cancels[r] {
		if cut <= a && a < o {
			more = append(more, a)
		}
	}
	s.more[o] = appendNew(s.more[o], more...)
	if len(s.more[o]) == 0 {
		delete(s.more, o)
	}
	if s.items[r].flags&fGate != 0 {
		l.resps = append(l.resps, o)
	}
	if it.flags&fEnds != 0 {
		for _, i := range l.crossing {
			c.acts(i, &s.items[i])
		}
		l.crossing = l.crossing[:0]
	}
	for _, n := range c.openedBy(o) {
		if n != it.lane {
			s.lanes[n].resps = append(s.lanes[n].resps, o)
		}
	}
}

// shares reports whether a request stands in a lane with frames that are not
// its own. What was recorded there before the answer to a query was caused by
// others, so the answer waits for nothing but what speaks of the query. In a
// lane of its own everything is the query's.
func (c *conditions) shares(r int32) bool {
	return c.s.dialect.OneLane() || c.facts[r].conv != 0
}

// openedBy returns the lanes of the conversations that a response introduces.
func (c *conditions) openedBy(o int32) []int32 {
	if c.openings == nil {
		c.openings = map[int32][]int32{}
		if c.s.dialect.OneLane() {
			return nil
		}
		lanes := map[int32]int32{}
		for i := range c.facts {
			if conv := c.facts[i].conv; conv != 0 {
				lanes[conv] = c.s.items[i].lane
			}
		}
		for conv, opening := range c.opener {
			if opening.response != 0 {
				c.openings[opening.response] = append(c.openings[opening.response], lanes[conv])
			}
		}
		for _, list := range c.openings {
			slices.Sort(list)
		}
	}
	return c.openings[o]
}

// x gives a frame that is no response its conditions in its lane.
func (c *conditions) x(i int32, it *item) {
	s := c.s
	l := &s.lanes[it.lane]
	if it.flags&fFollows != 0 {
		return // released with its group: what waits for the group need not wait for it
	}
	if r := c.facts[i].about; r != 0 {
		c.spoken[r] = i
	}
	it.prev = l.lastX
	it.gateLo, it.gateHi = l.lastGate, int32(len(l.gates.items))
	it.respLo, it.respHi = l.lastResp, int32(len(l.resps))
	if opener := l.opener; opener != 0 && opener < i {
		if it.need == 0 {
			it.need = opener
		} else if it.need != opener {
			s.more[i] = appendNew(s.more[i], opener)
		}
	}
	if len(l.gates.items) == 0 && (l.opener == 0 || l.opener > i) {
		it.flags |= fAll
		it.gateLo, it.gateHi = l.lastAll, int32(len(s.all.items))
		l.lastAll = it.gateHi
	}
	if more := c.events[l.lastEvent:]; len(more) > 0 {
		s.more[i] = appendNew(s.more[i], more...)
	}
	l.lastGate, l.lastResp, l.lastEvent = int32(len(l.gates.items)), int32(len(l.resps)), int32(len(c.events))
	l.lastX = i
	l.xs = append(l.xs, i)
}

// unlaned gives a frame without a lane its conditions: all that gates anything.
func (c *conditions) unlaned(i int32, it *item) {
	if it.flags&fFollows != 0 {
		return
	}
	it.flags |= fAll
	it.prev = c.lastUnlaned
	it.gateLo, it.gateHi = c.unlanedAll, int32(len(c.s.all.items))
	c.unlanedAll = it.gateHi
	c.lastUnlaned = i
}

func appendNew(list []int32, more ...int32) []int32 {
	for _, m := range more {
		if !slices.Contains(list, m) {
			list = append(list, m)
		}
	}
	return list
}
