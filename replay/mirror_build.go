package replay

import (
	"context"
	"slices"

	"agentrec/internal/dialect"
	"agentrec/store"
)

// mirrorBuilder makes a mirror of a session in one pass.
type mirrorBuilder struct {
	*builder
	outs   map[int32]heard
	firsts map[string]int32 // by namespace and token: the agent's frame that brought the value into being
	mint   map[string]bool  // of these: a frame that says so itself
	wanted map[string]bool  // the agent's values that client frames hold
	count  map[string]int
	names  map[int32]question
	asks   map[int32]bool // client frames that begin a turn
}

// heard is what an out frame adds to what had come.
type heard struct {
	measure
	hard bool
	key  string
	nth  int
}

// newMirror reads a session. Frames from the one with number until on, 0 for
// none, are left out: then the end is not played.
func newMirror(ctx context.Context, s *store.Session, d *dialect.Dialect, until int64) (*mirror, error) {
	b := &mirrorBuilder{
		builder: newBuilder(d, nil, 0), outs: map[int32]heard{}, firsts: map[string]int32{},
		mint: map[string]bool{}, wanted: map[string]bool{}, count: map[string]int{}, names: map[int32]question{}, asks: map[int32]bool{},
	}
	err := b.session(ctx, s, func(f store.Frame) {
		if until == 0 || f.Seq < until {
			b.see(int32(len(b.s.items)), f)
		}
	})
	if err != nil {
		return nil, err
	}
	sc := b.finish(s.State)
	sc.mirrored = true
	m := &mirror{
		s: sc, sent: map[int64]int32{}, arrived: make([]bool, len(sc.items)), heard: map[string]int64{},
		lenient: map[string]bool{}, convs: map[string]string{}, questions: map[string][]*question{}, answers: map[int32]answer{},
		minters: map[minter]int32{}, mints: map[int32]bool{}, came: map[string]int{}, report: func(Entry) {}, open: map[int32][]byte{},
	}
	m.now = newView(&m.log)
	b.values(m)
	b.play(m, until)
	return m, nil
}

// see notes what a frame says, before the builder takes it as item self.
func (b *mirrorBuilder) see(self int32, f store.Frame) {
	if f.Stream == store.Err || f.Raw == nil {
		return
	}
	d := b.s.dialect
	if f.Stream == store.In {
		if r := d.Read(store.In, f.Raw); r.Shows == dialect.ShowsPrompt {
			b.asks[self] = true
		}
		for _, slot := range d.Slots(store.In, f.Raw) {
			if !slot.ByClient && !slot.Ref {
				b.wanted[naming(slot.Namespace, string(f.Raw[slot.Start:slot.End]))] = true
			}
		}
		return
	}
	r := d.Read(store.Out, f.Raw)
	h := heard{
		measure: measure{label: string(append([]byte(nil), r.Label...)), amount: weight(&r), delta: r.Delta},
		hard:    r.Shows == dialect.ShowsGreeting || r.Shows == dialect.ShowsEnd || r.Ends,
	}
	if r.Role != dialect.Request && r.Role != dialect.Response {
		h.key = h.label + "\x00" + r.Conversation
		h.nth = b.count[h.key]
		b.count[h.key]++
	}
	b.outs[self] = h
	if r.Role == dialect.Request {
		b.names[self] = question{item: self, name: string(append([]byte(nil), r.Name...)), conv: string(append([]byte(nil), r.Conversation...))}
	}
	for _, slot := range d.Slots(store.Out, f.Raw) {
		if slot.ByClient || slot.Ref {
			continue
		}
		key := naming(slot.Namespace, string(f.Raw[slot.Start:slot.End]))
		if b.firsts[key] == 0 || slot.Mints && !b.mint[key] {
			b.firsts[key], b.mint[key] = self, slot.Mints
		}
	}
}

// values notes which frames bring the values into being that the client sends.
func (b *mirrorBuilder) values(m *mirror) {
	for key := range b.wanted {
		i := b.firsts[key]
		if i == 0 {
			continue
		}
		m.mints[i] = true
		if h := b.outs[i]; h.key != "" {
			m.minters[minter{h.key, h.nth}] = i
		}
	}
}

// play makes the client's acts and answers.
func (b *mirrorBuilder) play(m *mirror, until int64) {
	s := b.s
	total := map[string]*measure{}
	var a act
	var moved []string // labels, in order
	busy, turn := int32(0), false
	put := func(i int32) {
		a.item = i
		a.inTurn = turn || i < busy
		for _, label := range moved {
			t := *total[label]
			if m.hard[label] {
				a.ends = append(a.ends, t)
			} else {
				a.progress = append(a.progress, t)
			}
		}
		m.acts = append(m.acts, a)
		a, moved = act{}, nil
	}
	m.hard = map[string]bool{}
	for _, h := range b.outs {
		m.hard[h.label] = m.hard[h.label] || h.hard
	}
	for i := int32(1); i < int32(len(s.items)); i++ {
		it := &s.items[i]
		if until > 0 && int64(it.seq) >= until {
			break
		}
		switch {
		case it.flags&fEvent != 0:
			put(i)
		case it.stream == store.In && it.role == dialect.Response && it.pair != 0:
			if _, twice := m.answers[it.pair]; !twice {
				m.answers[it.pair] = answer{i, len(m.acts)}
			}
		case it.stream == store.In:
			put(i)
			busy = max(busy, it.pair)
			turn = turn || b.asks[i]
		case it.stream == store.Out && it.flags&fX == 0:
			a.responses = append(a.responses, i)
			turn = turn && it.flags&fEnds == 0
		case it.stream == store.Out:
			h := b.outs[i]
			if total[h.label] == nil {
				total[h.label] = &measure{label: h.label, delta: h.delta}
			}
			total[h.label].amount += h.amount
			if !slices.Contains(moved, h.label) {
				moved = append(moved, h.label)
			}
			turn = turn && !h.hard
			if q, ok := b.names[i]; ok {
				m.questions[h.label] = append(m.questions[h.label], &q)
			}
		}
	}
	put(0)
}
