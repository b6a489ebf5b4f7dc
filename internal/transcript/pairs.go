package transcript

import (
	"iter"
	"strings"

	"agentrec/internal/dialect"
	"agentrec/store"
)

// Pairer finds what answers and what cancels what, frame by frame in order of
// seq. A response pairs with the oldest open request of the other direction
// that it answers and that was not cancelled without an answer, nor swallowed;
// if there is none, with the oldest of those. A swallowed request that an answer
// too many shows to have been read after all, when its turn had ended, gets the
// answer that came first, and those after it move on by one.
// The members of a batch pair one by one.
// It keeps open requests only. The zero value is ready; not for concurrent use.
type Pairer struct {
	keys  map[pairKey]*keyQueue
	sides [2]requestList // open requests by the stream they came on
	turns [2]int         // how many of them began a turn that is open
	links []Link
}

// Request is an open request.
type Request struct {
	Seq          int64
	Member       int // place in its batch, 0 outside one
	ID           dialect.Token
	Key          string // of a request without id
	Conversation string
	Class        dialect.Class
	Turn         bool // it begins a turn
	Cancelled    bool // and will not be answered

	stream     store.Stream
	prev, next *Request // in its side, by age
	done       bool
	swallowed  bool // it came in a turn, where the agent does not read it
}

// Link ties the frame given to Next to an earlier one; with Frame set it ties
// that earlier frame, which until now was tied to another.
type Link struct {
	Frame   int64 // seq of the earlier response, 0 for the frame given
	Member  int   // of the frame, 0 outside a batch
	Cancels bool
	Request Request // what it answers or cancels, as it was before
}

type pairKey struct {
	stream store.Stream
	byID   bool
	value  string
}

// keyQueue holds the open requests of one key, oldest first: those that an
// answer is expected for, and those cancelled or swallowed.
type keyQueue struct {
	live, silent []*Request
	passed       []passing // answers since the oldest swallowed request
}

// passing is an answer that went past an older, swallowed request.
type passing struct {
	frame   int64
	member  int
	request Request // that got it
}

// maxPassed bounds how many answers may move; beyond it none do.
const maxPassed = 16

type requestList struct {
	first, last *Request
	count       int
}

// Next takes the next frame and returns its links to earlier requests, valid
// until the next call. Strings of r that are kept are copied.
func (p *Pairer) Next(seq int64, stream store.Stream, r *dialect.Reading) []Link {
	p.links = p.links[:0]
	if stream == store.Err {
		return nil
	}
	if p.keys == nil {
		p.keys = map[pairKey]*keyQueue{}
	}
	if len(r.Members) == 0 {
		p.one(seq, 0, stream, r)
	}
	for i := range r.Members {
		p.one(seq, i, stream, &r.Members[i])
	}
	return p.links
}

// Open yields the open requests that came on stream, oldest first.
func (p *Pairer) Open(stream store.Stream) iter.Seq[*Request] {
	return func(yield func(*Request) bool) {
		for r := p.sides[stream&1].first; r != nil; r = r.next {
			if !yield(r) {
				return
			}
		}
	}
}

// Swallows reports whether a request that comes next on stream finds a turn
// open in which the agent does not read it. Such a request may still be
// answered: it may have been on its way when the turn ended.
func (p *Pairer) Swallows(stream store.Stream, r *dialect.Reading) bool {
	return r.Role == dialect.Request && r.Rule != nil && r.Rule.Idle && p.turns[stream&1] > 0
}

func (p *Pairer) one(seq int64, member int, stream store.Stream, r *dialect.Reading) {
	switch r.Role {
	case dialect.Response:
		if q := p.answered(stream, r); q != nil {
			p.links = append(p.links, Link{Member: member, Request: *q})
			if r.ID == "" {
				p.pass(seq, member, q)
			}
			p.close(q)
		}
	case dialect.Cancel:
		if q := p.target(stream, r); q != nil {
			p.links = append(p.links, Link{Member: member, Cancels: true, Request: *q})
			if !r.Rule.Answered {
				p.cancel(q)
			}
		}
		if r.ID != "" || r.Key != "" {
			p.open(seq, member, stream, r)
		}
	case dialect.Request:
		p.open(seq, member, stream, r)
	}
}

func (p *Pairer) open(seq int64, member int, stream store.Stream, r *dialect.Reading) {
	q := &Request{
		Seq: seq, Member: member, stream: stream,
		ID:           dialect.Token(strings.Clone(string(r.ID))),
		Key:          strings.Clone(r.Key),
		Conversation: strings.Clone(r.Conversation),
		swallowed:    p.Swallows(stream, r),
	}
	if r.Rule != nil {
		q.Class, q.Turn = r.Rule.Class, r.Rule.Turn
	}
	if q.Turn && !q.swallowed {
		p.turns[stream]++
	}
	side := &p.sides[stream]
	if side.last == nil {
		side.first = q
	} else {
		side.last.next, q.prev = q, side.last
	}
	side.last = q
	side.count++
	for _, k := range q.keysOf() {
		queue := p.keys[k]
		if queue == nil {
			queue = &keyQueue{}
			p.keys[k] = queue
		}
		if q.swallowed {
			queue.silent = append(queue.silent, q)
		} else {
			queue.live = append(queue.live, q)
		}
	}
}

func (q *Request) keysOf() []pairKey {
	keys := make([]pairKey, 0, 2)
	if q.ID != "" {
		keys = append(keys, pairKey{q.stream, true, string(q.ID)})
	}
	if q.Key != "" {
		keys = append(keys, pairKey{q.stream, false, q.Key})
	}
	return keys
}

// answered finds the request that a response on stream answers.
func (p *Pairer) answered(stream store.Stream, r *dialect.Reading) *Request {
	other := store.In
	if stream == store.In {
		other = store.Out
	}
	if r.ID != "" {
		return p.oldest([]pairKey{{other, true, string(r.ID)}})
	}
	keys := make([]pairKey, 0, len(r.Answers))
	for _, a := range r.Answers {
		keys = append(keys, pairKey{other, false, a})
	}
	return p.oldest(keys)
}

// oldest returns the oldest open request of any of the keys, those cancelled
// without an answer or swallowed last.
func (p *Pairer) oldest(keys []pairKey) *Request {
	var best, silent *Request
	for _, k := range keys {
		queue := p.keys[k]
		if queue == nil {
			continue
		}
		queue.live, queue.silent = trim(queue.live), trim(queue.silent)
		if len(queue.live) > 0 && (best == nil || queue.live[0].Seq < best.Seq) {
			best = queue.live[0]
		}
		if len(queue.silent) > 0 && (silent == nil || queue.silent[0].Seq < silent.Seq) {
			silent = queue.silent[0]
		}
		if len(queue.live)+len(queue.silent) == 0 {
			delete(p.keys, k)
		}
	}
	if best == nil {
		return silent
	}
	return best
}

// pass notes that an answer, the last link, went past a swallowed request. When
// the answer is that request's own, what went past it moves back.
func (p *Pairer) pass(seq int64, member int, q *Request) {
	queue := p.keys[pairKey{q.stream, false, q.Key}]
	if queue == nil {
		return
	}
	if !q.swallowed {
		silent := trim(queue.silent)
		if len(silent) > 0 && silent[0].swallowed && silent[0].Seq < q.Seq && len(queue.passed) <= maxPassed {
			queue.passed = append(queue.passed, passing{seq, member, *q})
		}
		return
	}
	passed := queue.passed
	queue.passed = nil
	if len(passed) == 0 || len(passed) > maxPassed || passed[0].request.Seq < q.Seq {
		return
	}
	p.links = p.links[:len(p.links)-1]
	owner := *q
	for _, one := range passed {
		p.links = append(p.links, Link{Frame: one.frame, Member: one.member, Request: owner})
		owner = one.request
	}
	p.links = append(p.links, Link{Member: member, Request: owner})
}

// trim drops what is closed from the front; what is closed behind it goes when
// it gets there.
func trim(list []*Request) []*Request {
	for len(list) > 0 && list[0].done {
		list[0] = nil
		list = list[1:]
	}
	return list
}

func (p *Pairer) close(q *Request) {
	q.done = true
	if !q.Cancelled { // a cancelled one has left its side already
		p.unlink(q)
	}
}

func (p *Pairer) unlink(q *Request) {
	if q.Turn && !q.swallowed {
		p.turns[q.stream]--
	}
	side := &p.sides[q.stream]
	if q.prev != nil {
		q.prev.next = q.next
	} else {
		side.first = q.next
	}
	if q.next != nil {
		q.next.prev = q.prev
	} else {
		side.last = q.prev
	}
	q.prev, q.next = nil, nil
	side.count--
}

// target finds the open request that a cancel means: the latest with the id it
// names, or the latest open turn (of its conversation), where the dialect marks
// no turns the latest act.
func (p *Pairer) target(stream store.Stream, r *dialect.Reading) *Request {
	if r.Rule == nil || r.Rule.Cancels == dialect.CancelsNothing {
		return nil
	}
	if r.Rule.Cancels == dialect.CancelsID {
		queue := p.keys[pairKey{stream, true, string(r.Target)}]
		if queue == nil {
			return nil
		}
		for i := len(queue.live) - 1; i >= 0; i-- {
			if !queue.live[i].done {
				return queue.live[i]
			}
		}
		return nil
	}
	var act *Request
	for q := p.sides[stream].last; q != nil; q = q.prev {
		if r.Rule.Cancels == dialect.CancelsConversation && q.Conversation != r.Conversation {
			continue
		}
		if q.swallowed {
			continue
		}
		if q.Turn {
			return q
		}
		if act == nil && q.Class == dialect.Act {
			act = q
		}
	}
	return act
}

// cancel marks a request that will not be answered: it is open no more, but a
// late response still finds it.
func (p *Pairer) cancel(q *Request) {
	p.unlink(q)
	ghost := *q
	ghost.Cancelled, ghost.prev, ghost.next = true, nil, nil
	q.done = true
	for _, k := range q.keysOf() {
		if queue := p.keys[k]; queue != nil {
			queue.silent = append(queue.silent, &ghost)
		}
	}
}
