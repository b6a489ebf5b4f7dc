package replay

import (
	"bytes"
	"slices"

	"agentrec/internal/dialect"
	"agentrec/internal/transcript"
	"agentrec/store"
)

// builder makes a script from frames in order of seq.
type builder struct {
	s      *script
	pairer transcript.Pairer
	labels map[string]int32
	convs  map[string]int32
	facts  []fact // by item
	minted map[string]int32
	tokens [][]byte // the values in minted, up to one more than maxTokens
	group  map[string]int32
	named  map[int32]bool // conversations that an in frame has named
	opener map[int32]opening
	open   []int32 // open client requests, queries apart
	openAt int     // changes of open, so that equal snapshots are shared
	snap   []int32
	snapAt int

	lastOut   int32 // the last frame of the agent
	grouped   int32 // the first frame of a group that may grow
	swallowed int32 // the first request that came where the agent may not read it
}

// fact is what is known of an item until its conditions are made.
type fact struct {
	conv  int32
	about int32 // the request it speaks of
	alone int32 // the only client request open at that time
	query bool  // a request that has its own response only
}

type opening struct{ request, response int32 }

// newBuilder makes a builder for about that many frames.
func newBuilder(d *dialect.Dialect, free []string, frames int64) *builder {
	s := &script{
		dialect: d, items: make([]item, 1, frames+8), lanes: make([]lane, 1),
		labels: []string{""}, convs: []string{""},
		more: map[int32][]int32{}, shared: map[int32][]int32{}, also: map[int32][]int32{},
		refs: map[int32][]reference{}, asks: map[int32]ask{}, members: map[int32]int32{},
		events: map[int32]store.Event{}, cancels: map[int32][]int32{}, free: map[string]bool{},
	}
	s.named = map[string][]int32{}
	for _, label := range free {
		s.free[label] = true
	}
	return &builder{
		s: s, facts: make([]fact, 1, frames+8),
		labels: map[string]int32{"": 0}, convs: map[string]int32{"": 0},
		minted: map[string]int32{}, group: map[string]int32{},
		named: map[int32]bool{}, opener: map[int32]opening{}, snapAt: -1,
	}
}

func intern(index map[string]int32, names *[]string, name string) int32 {
	if i, ok := index[name]; ok {
		return i
	}
	i := int32(len(*names))
	name = string(append([]byte(nil), name...))
	*names = append(*names, name)
	index[name] = i
	return i
}

// event adds stdin EOF or a signal; other events gate nothing.
func (b *builder) event(e store.Event) {
	if e.Kind == store.EventExit && e.Exit != nil {
		b.s.exit = e.Exit
		return
	}
	if !isGate(e) || b.s.exit != nil { // after the end nothing waits
		return
	}
	self := int32(len(b.s.items))
	b.s.items = append(b.s.items, item{stream: store.In, flags: fEvent | fGate})
	b.facts = append(b.facts, fact{})
	b.s.events[self] = e
	b.s.ending = append(b.s.ending, self)
}

// isGate reports whether an event is one that frames wait for.
func isGate(e store.Event) bool {
	return e.Kind == store.EventSignal || e.Kind == store.EventEOF && e.Stream == store.In
}

// frame adds the next frame with what the dialect says about it.
func (b *builder) frame(f store.Frame) {
	s := b.s
	raw := f.Raw
	if raw == nil && f.Size > 0 {
		raw = []byte(giantWord) // as a live one is read
	}
	r := s.dialect.Read(f.Stream, raw)
	self := int32(len(s.items))
	it := item{seq: int32(f.Seq), stream: f.Stream, role: r.Role}
	s.last = it.seq
	if r.JSON {
		it.flags |= fJSON
	}
	fc := fact{}
	if f.Stream == store.Err {
		s.items, b.facts = append(s.items, it), append(b.facts, fc)
		return
	}
	fc.conv = b.conversation(&r)
	s.items, b.facts = append(s.items, it), append(b.facts, fc)
	target := b.links(self, f.Stream, &r)
	if f.Stream == store.In {
		b.in(self, target, &r)
	} else {
		s.outs++
		b.lastOut = self
		b.out(self, target, &r)
	}
	if len(f.Raw) > 0 && r.JSON && (f.Stream == store.In || b.maySlot(&r, f.Raw)) {
		b.slots(self, f)
	}
}

func (b *builder) conversation(r *dialect.Reading) int32 {
	if r.Conversation != "" {
		return intern(b.convs, &b.s.convs, r.Conversation)
	}
	for i := range r.Members {
		if c := r.Members[i].Conversation; c != "" {
			return intern(b.convs, &b.s.convs, c)
		}
	}
	return 0
}

// links pairs the frame with what it answers, keeps the list of open client
// requests, and returns the request that a cancel means.
func (b *builder) links(self int32, stream store.Stream, r *dialect.Reading) (target int32) {
	s := b.s
	it := &s.items[self]
	if b.pairer.Swallows(stream, r) {
		it.flags |= fSwallowed
		if b.swallowed == 0 {
			b.swallowed = self
		}
	}
	for _, l := range b.pairer.Next(int64(self), stream, r) {
		other := int32(l.Request.Seq)
		if l.Frame != 0 {
			s.items[l.Frame].pair, s.items[other].pair = other, int32(l.Frame)
			continue
		}
		if l.Cancels {
			s.cancels[other] = append(s.cancels[other], self)
			target = other
			if r.Rule != nil && !r.Rule.Answered {
				b.closed(other)
			}
			continue
		}
		if it.pair == 0 {
			it.pair = other
		} else {
			s.also[self] = append(s.also[self], other)
		}
		if last := s.items[other].pair; last == 0 || s.items[last].pair != other {
			s.items[other].pair = self
		}
		b.closed(other)
	}
	b.request(self, stream, r)
	for i := range r.Members {
		b.request(self, stream, &r.Members[i])
	}
	return target
}

func (b *builder) closed(request int32) {
	for i, q := range b.open {
		if q == request {
			b.open = append(b.open[:i:i], b.open[i+1:]...)
			b.openAt++
			return
		}
	}
}

// request notes a request's id, so that references and frames about it find it.
func (b *builder) request(self int32, stream store.Stream, r *dialect.Reading) {
	if r.Role != dialect.Request && (r.Role != dialect.Cancel || r.ID == "" && r.Key == "") {
		return
	}
	s := b.s
	name := func(space string, token dialect.Token) {
		if token != "" {
			key := naming(space+stream.String(), string(token))
			s.named[key] = append(s.named[key], self)
		}
	}
	name("request:", r.ID)
	name("handle:", r.Handle)
	if r.Inner != nil {
		name("inner/request:", r.Inner.ID)
		name("inner/handle:", r.Inner.Handle)
	}
	switch {
	case stream == store.Out:
		s.asks[self] = ask{dialect.Token(append([]byte(nil), r.ID...)), string(append([]byte(nil), r.Key...))}
	case r.Rule == nil || r.Rule.Class != dialect.Query:
		b.open = append(b.open[:len(b.open):len(b.open)], self)
		b.openAt++
	}
}

// about resolves the id or handle of the request that a frame speaks of.
func (b *builder) about(r *dialect.Reading) int32 {
	if r.About == "" || r.Rule == nil {
		return 0
	}
	for _, space := range []string{"handle:", "request:"} {
		if list := b.s.named[naming(space+r.Rule.AboutOf.String(), string(r.About))]; len(list) > 0 {
			return list[len(list)-1]
		}
	}
	return 0
}

func (b *builder) in(self, target int32, r *dialect.Reading) {
	s := b.s
	it, fc := &s.items[self], &b.facts[self]
	each := r.Members
	if len(each) == 0 {
		each = []dialect.Reading{*r}
	}
	for i := range each {
		it.flags |= b.gates(self, target, &each[i])
		if each[i].Role == dialect.Cancel {
			it.flags |= fCancel
		}
	}
	fc.query = r.Role == dialect.Request && r.Rule != nil && r.Rule.Class == dialect.Query
	fc.about = b.about(r)
	if target != 0 {
		fc.about = target
	}
	if fc.conv != 0 {
		b.named[fc.conv] = true
	}
	it.need = int32(len(s.ins))
	s.ins = append(s.ins, input{item: self, label: intern(b.labels, &s.labels, r.Label), conv: fc.conv})
}

// gates returns the flags of an in frame: whether it is an act and a gate.
func (b *builder) gates(self, target int32, r *dialect.Reading) uint16 {
	class := dialect.Act
	first := false
	if r.Rule != nil {
		class, first = r.Rule.Class, r.Rule.First
		if r.Rule.Turn {
			b.s.items[self].flags |= fTurn
		}
	}
	if b.s.free[r.Label] {
		class = dialect.Free
	}
	switch r.Role {
	case dialect.Request, dialect.Raw:
		if class == dialect.Act {
			return fGate | fAct
		}
	case dialect.Notification:
		if class != dialect.Free {
			return fGate
		}
	case dialect.Cancel:
		if target != 0 && class != dialect.Free {
			return fGate
		}
	case dialect.Response:
		q := b.s.items[self].pair
		if q == 0 || len(b.s.cancels[q]) > 0 || class == dialect.Free {
			return 0 // unpaired, or the agent no longer waits for it
		}
		if first {
			return fGate | fFirst
		}
		return fGate
	}
	return 0
}

func (b *builder) out(self, target int32, r *dialect.Reading) {
	s := b.s
	it, fc := &s.items[self], &b.facts[self]
	response := r.Role == dialect.Response && it.pair != 0
	opens := r.Opens
	ends := r.Ends
	for i := range r.Members {
		m := &r.Members[i]
		response = response || m.Role == dialect.Response && it.pair != 0
		ends = ends || m.Ends
		if opens == "" {
			opens = m.Opens
		}
	}
	if !response {
		it.flags |= fX
	}
	if ends || response && s.items[it.pair].flags&fTurn != 0 {
		it.flags |= fEnds
	}
	if opens != "" && it.pair != 0 {
		c := intern(b.convs, &s.convs, opens)
		if _, twice := b.opener[c]; !twice && !b.named[c] {
			b.opener[c] = opening{it.pair, self}
		}
	}
	fc.about = b.about(r)
	if target != 0 {
		fc.about = target
	}
	if r.Together != "" && !response {
		if before := b.group[r.Together]; before != 0 {
			it.flags |= fFollows
			s.members[before] = self
		}
		b.group[string(append([]byte(nil), r.Together...))] = self
		if b.grouped == 0 {
			b.grouped = self
		}
	}
	if it.flags&fEnds != 0 && s.dialect.OneLane() { // what belongs together belongs to one turn
		clear(b.group)
		b.grouped = 0
	}
	if !response && !s.dialect.OneLane() && fc.conv == 0 && fc.about == 0 {
		switch {
		case len(b.open) == 1:
			fc.alone = b.open[0]
		case len(b.open) > 1 && r.Role == dialect.Request:
			if b.snapAt != b.openAt {
				b.snap, b.snapAt = append([]int32(nil), b.open...), b.openAt
			}
			it.flags |= fShared
			s.shared[self] = b.snap
		}
	}
}

// maySlot reports whether an out frame may hold an id that matters: only a
// reference to a request does, or a value that the client has minted. Most
// frames of a long stream hold neither, and looking costs as much as reading.
func (b *builder) maySlot(r *dialect.Reading, raw []byte) bool {
	if r.ID != "" || r.About != "" || r.Target != "" || r.Inner != nil || len(r.Members) > 0 || len(b.tokens) > maxTokens {
		return true
	}
	for _, token := range b.tokens {
		if bytes.Contains(raw, token) {
			return true
		}
	}
	return false
}

// maxTokens is how many minted values are worth looking for one by one.
const maxTokens = 16

// slots notes what a frame's ids point at and what the client minted.
func (b *builder) slots(self int32, f store.Frame) {
	s := b.s
	for _, slot := range s.dialect.Slots(f.Stream, f.Raw) {
		token := string(f.Raw[slot.Start:slot.End])
		it := &s.items[self]
		it.flags |= fSlots
		switch {
		case slot.Ref:
			q := b.resolve(self, slot.Namespace, token)
			if q == 0 || q == self {
				continue
			}
			s.refs[self] = append(s.refs[self], reference{int32(slot.Start), q})
			if f.Stream == store.Out && s.items[q].stream == store.In && q != it.pair {
				s.more[self] = append(s.more[self], q)
			}
		case slot.ByClient && f.Stream == store.In && slot.Mints:
			key := naming(slot.Namespace, token)
			if b.minted[key] == 0 && len(b.tokens) <= maxTokens {
				b.tokens = append(b.tokens, []byte(token))
			}
			b.minted[key] = self
		case slot.ByClient && f.Stream == store.Out:
			if m := b.minted[naming(slot.Namespace, token)]; m != 0 {
				s.more[self] = append(s.more[self], m)
			}
		}
	}
}

// resolve finds the request that a reference means: for a response its own
// request, else the latest request that the token names.
func (b *builder) resolve(self int32, namespace, token string) int32 {
	list := b.s.named[naming(namespace, token)]
	if len(list) == 0 {
		return 0
	}
	if pair := b.s.items[self].pair; pair != 0 && pair < self {
		for _, q := range append([]int32{pair}, b.s.also[self]...) {
			if _, found := slices.BinarySearch(list, q); found {
				return q
			}
		}
	}
	return list[len(list)-1]
}
