package replay

import (
	"slices"

	"agentrec/internal/dialect"
	"agentrec/store"
)

// What a lookup does with a request that it has answered as often as it was
// recorded.
const (
	ExhaustedFail  = "fail"  // refuse it
	ExhaustedLast  = "last"  // give the last answer again
	ExhaustedCycle = "cycle" // begin again with the first
)

// lookup answers requests in any order: for servers whose clients call as they
// like. Each request gets the answer that was recorded for an equal one, with
// the frames that belonged to it; equal requests are answered in turn.
type lookup struct {
	exhausted string
	used      map[int32]int
	asked     map[int32]*play // by agent request in flight
}

// play is one request being answered.
type play struct {
	request int32
	binds   []binding // the live ids of this request
	items   []int32   // what is still to be sent
}

// looked matches a live frame in lookup mode and sends what answers it.
func (e *engine) looked(raw []byte, r *dialect.Reading) []outgoing {
	switch {
	case r.Role == dialect.Response:
		e.lookedAnswer(raw, r)
	case r.Role == dialect.Request:
		e.lookedRequest(raw, r)
	default:
		if i := e.first(r, nil); i != 0 {
			e.match(i, raw, r, e.compare(i, raw))
			e.loose(i)
		}
	}
	return e.settle()
}

// loose sends, once, the frames without a lane that followed an in frame.
func (e *engine) loose(i int32) {
	for j := i + 1; j < int32(len(e.s.items)); j++ {
		it := &e.s.items[j]
		if it.stream == store.In {
			return
		}
		if it.stream == store.Out && it.lane == 0 && !e.done[j] && it.flags&fX != 0 {
			e.emit(j)
		}
	}
}

func (e *engine) lookedAnswer(raw []byte, r *dialect.Reading) {
	for _, l := range e.pairer.Next(e.frames, store.In, r) {
		q := int32(l.Request.Seq)
		if a := e.s.items[q].pair; a != 0 && !e.done[a] {
			e.take(a, raw, r)
		}
		if p := e.lookup.asked[q]; p != nil {
			delete(e.lookup.asked, q)
			e.play(p)
		}
	}
}

func (e *engine) lookedRequest(raw []byte, r *dialect.Reading) {
	pool := e.poolOf(r)
	c := e.lookAmong(e.alike(raw, r), raw, r)
	if c.best == 0 {
		c = e.lookAmong(pool, raw, r)
	}
	if c.best == 0 {
		e.refuse(raw, e.verdict.refused(e, c.nearest, raw, r, c.nearestFit.differences))
		return
	}
	best := c.best
	if e.lookup.used[best] > 0 && e.lookup.exhausted == ExhaustedFail {
		e.refuse(raw, e.verdict.refused(e, 0, raw, r, nil))
		return
	}
	raw = e.inOrder(best, raw, r)
	e.lookup.used[best]++
	e.verdict.inexact(e, best, raw, r, c.fit)
	e.done[best] = false // it may be sent again
	from := e.now.epoch
	e.match(best, raw, r, c.fit)
	p := &play{request: best, binds: slices.Clone(e.log.upTo(from, e.now.epoch)), items: e.belongings(best)}
	e.play(p)
}

// lookAmong chooses among recorded requests.
func (e *engine) lookAmong(list []int32, raw []byte, r *dialect.Reading) choice {
	var c choice
	for _, i := range list {
		if !e.fits(i, r) {
			continue
		}
		f := e.compare(i, e.inOrder(i, raw, r))
		least := e.rule(i).least
		if i == e.s.ins[0].item {
			least = Kind // the handshake
		}
		if c.nearest == 0 || f.level > c.nearestFit.level || f.level == c.nearestFit.level && len(f.differences) < len(c.nearestFit.differences) {
			c.nearest, c.nearestFit = i, f
		}
		if f.level >= least && e.prefers(i, f, c.best, c.fit) {
			c.best, c.fit = i, f
		}
	}
	return c
}

func (e *engine) poolOf(r *dialect.Reading) []int32 {
	if p := e.pools[poolKey{r.Role, r.Label}]; p != nil {
		return p.items
	}
	return nil
}

// prefers reports whether the recorded request i answers better than best: by
// level, then the one used least; of those equal the earlier, or with "last" of
// those used the later.
func (e *engine) prefers(i int32, f fit, best int32, bestFit fit) bool {
	if best == 0 || f.level != bestFit.level {
		return best == 0 || f.level > bestFit.level
	}
	a, b := e.lookup.used[i], e.lookup.used[best]
	if e.lookup.exhausted == ExhaustedLast && a > 0 && b > 0 {
		return true
	}
	return a < b
}

// belongings are the out frames that answer a request: its response and what
// was recorded in its lane before that.
func (e *engine) belongings(r int32) []int32 {
	o := e.s.items[r].pair
	var list []int32
	outs := e.s.lanes[e.s.items[r].lane].outs
	at, _ := slices.BinarySearch(outs, r+1)
	for _, i := range outs[at:] {
		if o != 0 && i >= o {
			break
		}
		if e.s.items[i].flags&fX != 0 { // else the response to another request
			list = append(list, i)
		}
	}
	for q, candidates := range e.s.shared {
		if q > r && (o == 0 || q < o) && candidates[0] == r {
			list = append(list, q)
		}
	}
	slices.Sort(list)
	if o != 0 {
		list = append(list, o)
	}
	return list
}

// play sends a request's frames up to the next question to the client.
func (e *engine) play(p *play) {
	for _, b := range p.binds {
		e.addBinding(b) // another play of the same request may have bound others since
	}
	for len(p.items) > 0 {
		i := p.items[0]
		p.items = p.items[1:]
		e.emit(i)
		if _, ok := e.s.asks[i]; ok && e.s.items[i].pair != 0 {
			e.lookup.asked[i] = p
			return
		}
	}
	delete(e.live, p.request)
}

// emit sends an out frame, whether or not it was sent before.
func (e *engine) emit(i int32) {
	if !e.done[i] {
		e.left--
		e.done[i] = true
	}
	e.last = i
	e.out = append(e.out, outgoing{item: i, epoch: int32(e.now.epoch)})
	if a, ok := e.s.asks[i]; ok {
		e.pairer.Next(int64(i), store.Out, &dialect.Reading{Role: dialect.Request, ID: a.id, Key: a.key})
	}
}
