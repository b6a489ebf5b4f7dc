package replay

import (
	"agentrec/internal/dialect"
	"agentrec/internal/transcript"
	"agentrec/store"
)

// mirror plays the recorded client to a live agent: a pure state machine, the
// engine's counterpart. Its input is the agent's frames and silences, its
// output what the client sends. What the client did unasked it does again in
// the recorded order, each act when the agent has answered what it had answered
// by then; the agent's own requests are answered as they come.
type mirror struct {
	s     *script
	fetch func(item int32) []byte
	acts  []act
	next  int // the act that is due
	hard  map[string]bool

	log     bindings
	now     *view
	count   int64           // live frames, both ways
	sent    map[int64]int32 // by count: the recorded client frame that it was
	pairer  transcript.Pairer
	arrived []bool           // by item: recorded responses whose counterpart came
	heard   map[string]int64 // how much came of each label
	lenient map[string]bool  // labels that are waited for no more
	out     []sending
	convs   map[string]string // live conversation -> recorded

	questions map[string][]*question // the agent's recorded requests by label, in order
	answers   map[int32]answer       // by recorded request
	held      []answer               // of questions that came before their time
	decline   string                 // what an unknown call is answered with; "" is an error that says so

	minters map[minter]int32 // recorded frames that bring values into being, other than answers and requests
	mints   map[int32]bool   // all recorded frames that do
	came    map[string]int   // live notifications by key

	open   map[int32][]byte // questions that the recording does not answer, as they came
	report func(Entry)
	last   string // label of the last live frame
	frames int64  // of the agent
}

// act is something the client did unasked, and what had come by then.
type act struct {
	item      int32   // 0 is the end of the recording
	responses []int32 // recorded responses since the act before
	ends      []measure
	progress  []measure // of other frames since the act before: worth waiting for, but not for ever
	inTurn    bool
}

// measure is how much of a label had come: characters of a joined text, else
// frames.
type measure struct {
	label  string
	amount int64
	delta  bool
}

type question struct {
	item  int32
	name  string // of a tool
	conv  string
	taken bool
}

type answer struct {
	item  int32
	after int // how many acts go before it
}

// minter names the nth notification of a label in its conversation.
type minter struct {
	key string
	nth int
}

// sending is something to do for the client: a frame to send, or what a
// recorded event says. None is the end of the recording.
type sending struct {
	item int32 // the recorded frame; 0 for a frame of our own
	raw  []byte
	end  bool
}

// start sends what waits for nothing.
func (m *mirror) start() []sending { return m.release() }

// frame takes a frame of the agent.
func (m *mirror) frame(raw []byte) []sending {
	m.frames++
	m.count++
	r := m.s.dialect.Read(store.Out, raw)
	m.last = r.Label
	for _, l := range m.pairer.Next(m.count, store.Out, &r) {
		if l.Cancels {
			continue
		}
		if o := m.s.items[m.sent[l.Request.Seq]].pair; o != 0 && m.s.items[o].stream == store.Out {
			m.arrived[o] = true
			m.learn(o, raw)
		}
	}
	m.heard[r.Label] += weight(&r)
	switch {
	case r.Role == dialect.Request:
		m.ask(raw, &r)
	case r.Role != dialect.Response:
		key := m.keyOf(&r)
		nth := m.came[key]
		m.came[key]++
		if i := m.minters[minter{key, nth}]; i != 0 {
			m.learn(i, raw)
		}
	}
	return m.release()
}

// keyOf names notifications that are told apart by their order only.
func (m *mirror) keyOf(r *dialect.Reading) string {
	conv := r.Conversation
	if c, ok := m.convs[conv]; ok {
		conv = c
	}
	return r.Label + "\x00" + conv
}

func weight(r *dialect.Reading) int64 {
	if r.Delta {
		return int64(len(r.Text))
	}
	return 1
}

// release does every act that is due, and gives the answers that waited.
func (m *mirror) release() []sending {
	for m.next < len(m.acts) && m.waits(&m.acts[m.next]) == "" && !m.lags(&m.acts[m.next]) {
		a := m.acts[m.next]
		m.next++
		m.give()
		m.do(a.item)
	}
	m.give()
	out := m.out
	m.out = nil
	return out
}

// give sends the answers whose time has come.
func (m *mirror) give() {
	held := m.held[:0]
	for _, a := range m.held {
		if a.after > m.next {
			held = append(held, a)
			continue
		}
		m.do(a.item)
	}
	m.held = held
}

// do sends a recorded frame, or does what an event says.
func (m *mirror) do(i int32) {
	if i == 0 || m.s.items[i].flags&fEvent != 0 {
		m.out = append(m.out, sending{item: i, end: true})
		return
	}
	raw := m.s.render(m.now, i, m.fetch(i))
	m.count++
	m.sent[m.count] = i
	r := m.s.dialect.Read(store.In, raw)
	m.pairer.Next(m.count, store.In, &r)
	m.out = append(m.out, sending{item: i, raw: raw})
}

// waits returns what an act must wait for, "" for nothing: responses, greetings
// and ends of turns.
func (m *mirror) waits(a *act) string {
	for _, o := range a.responses {
		if !m.arrived[o] {
			return "the response to " + m.labelOf(m.s.items[o].pair)
		}
	}
	for _, e := range a.ends {
		if m.heard[e.label] < e.amount {
			return e.label
		}
	}
	return ""
}

// lags reports whether less has come of anything than had come before an act.
func (m *mirror) lags(a *act) bool {
	for _, p := range a.progress {
		if m.short(a, p) {
			return true
		}
	}
	return false
}

func (m *mirror) short(a *act, p measure) bool {
	return m.heard[p.label] < p.amount && !m.lenient[p.label] && (a.inTurn || !p.delta)
}

// patient reports whether the act that is due waits only for frames that may
// never come. Such a wait is given up with hurry.
func (m *mirror) patient() bool {
	return m.next < len(m.acts) && m.waits(&m.acts[m.next]) == ""
}

// hurry gives up waiting for frames that the agent no longer sends.
func (m *mirror) hurry() []sending {
	a := &m.acts[m.next]
	for _, p := range a.progress {
		if m.short(a, p) {
			m.lenient[p.label] = true
		}
	}
	return m.release()
}

// stuck returns what the agent never sent, and gives answers that were held
// back for something that does not come; "" when nothing is waited for.
func (m *mirror) stuck() (string, []sending) {
	if len(m.held) > 0 {
		for i := range m.held {
			m.held[i].after = 0
		}
		return "", m.release()
	}
	if m.next == len(m.acts) {
		return "", nil
	}
	return m.waits(&m.acts[m.next]), nil
}

// over reports that everything was done.
func (m *mirror) over() bool { return m.next == len(m.acts) }

// unsent returns the recorded frames that were not sent.
func (m *mirror) unsent() []int32 {
	var out []int32
	for _, a := range m.acts[min(m.next, len(m.acts)):] {
		if a.item != 0 && m.s.items[a.item].flags&fEvent == 0 {
			out = append(out, a.item)
		}
	}
	return out
}

func (m *mirror) labelOf(i int32) string {
	if i == 0 {
		return "nothing"
	}
	return m.s.labels[m.s.ins[m.s.items[i].need].label]
}

// learn binds the values that a live frame brings into being to those of its
// recorded counterpart.
func (m *mirror) learn(i int32, live []byte) {
	if !m.mints[i] {
		return
	}
	used := map[int]bool{}
	recorded := m.fetch(i)
	liveSlots := m.s.dialect.Slots(store.Out, live)
	for _, slot := range m.s.dialect.Slots(store.Out, recorded) {
		if slot.ByClient || slot.Ref && !slot.Mints {
			continue
		}
		for n, other := range liveSlots {
			if used[n] || !sameSlot(slot, other) {
				continue
			}
			used[n] = true
			b := binding{space: slot.Namespace, recorded: string(recorded[slot.Start:slot.End]), live: string(live[other.Start:other.End])}
			if slot.Ref {
				b.request = i
			} else {
				m.convs[unquoted(b.live)] = unquoted(b.recorded)
			}
			m.bind(b)
			break
		}
	}
}

func (m *mirror) bind(b binding) {
	m.log.add(b)
	m.now.advance(m.now.epoch + 1)
}
