package replay

import (
	"context"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"agentrec/internal/dialect"
	"agentrec/internal/redact"
	"agentrec/internal/transcript"
	"agentrec/store"
)

// prepare makes the script. What waits for nothing goes out meanwhile.
func (p *player) prepare() error {
	binds, err := p.binds()
	if err != nil {
		return err
	}
	greeted, err := p.greet(binds)
	if err != nil {
		return err
	}
	d, err := p.dialect()
	if err != nil {
		return err
	}
	var gaps []time.Duration
	var last time.Duration
	s, grow, err := p.script(d, func(f store.Frame) {
		if p.o.Pace > 0 {
			gaps = append(gaps, f.Time-last)
			last = f.Time
		}
	})
	if err != nil {
		return err
	}
	secrets := p.redactor(d)
	p.e = newEngine(s, p.matching, p.v, p.fetcher())
	p.e.grow = grow
	for _, n := range binds {
		p.e.addBinding(n)
	}
	p.strangers(s)
	p.v.mask = func(live string, whole bool) string { return masker(secrets())(live, whole) }
	p.v.loud = func(n Entry) { p.say(human(n)) }
	p.w.push([]outgoing{{other: &other{begin: func(w *writer) {
		w.script, w.view, w.greeted = s, newView(&p.e.log), greeted
		if len(p.o.Faults) > 0 {
			w.faulty = p.faulty(d)
		}
		w.pace = pace{speed: p.o.Pace, limit: p.o.PaceCap}
		if p.o.Pace > 0 {
			w.pace.gaps = func(seq int64) time.Duration { return gaps[seq-1] }
			return
		}
		w.pace.drain = drainer(p.o.Stdout)
		if queue, _ := d.Pacing(); queue > 0 {
			w.pace.burst, w.pace.rest = queue/4, time.Millisecond
		}
	}}}})
	p.w.push(p.e.start())
	return nil
}

// greet sends what the agent says before all else: that waits for nothing, so not
// for the script either, nor for the table to read it by. It returns the seq of the
// last frame of the agent that has been sent.
func (p *player) greet(binds []binding) (int64, error) {
	last := p.o.greeted
	if p.o.Pace > 0 || len(p.o.Faults) > 0 || p.o.Lookup {
		return last, nil
	}
	events, err := p.session.Events(p.data)
	if err != nil {
		return last, fmt.Errorf("reading the session's events: %w", err)
	}
	until := int64(maxOpening)
	if i := slices.IndexFunc(events, isGate); i >= 0 {
		until = min(until, events[i].After)
	}
	if until < 1 {
		return last, nil
	}
	start := startView(binds)
	size := 0
	for f, err := range p.session.Frames(p.data, 1, until) {
		if err != nil {
			return last, fmt.Errorf("reading the session's frames: %w", err)
		}
		if f.Stream != store.Out || f.Raw == nil || size >= writeSize {
			break
		}
		if f.Seq > p.o.greeted {
			p.w.push([]outgoing{{other: &other{raw: start.greeting(f)}}})
			last = f.Seq
			size += len(f.Raw)
		}
	}
	return last, nil
}

// redactor returns what makes, when it is first asked for, what knows secrets:
// their places and shapes, and the values of secret-looking variables. A replay in
// which nothing differs needs none. With the recording's key, which only a database
// has, live secrets are told by their tokens.
func (p *player) redactor(d *dialect.Dialect) func() *redact.Redactor {
	key, err := p.db.Secret(p.data)
	if err != nil {
		key = nil // a token then fits any value, as in a text file
	}
	secrets := sync.OnceValue(func() *redact.Redactor {
		r, err := redact.New(redact.Options{Key: key, Environ: os.Environ()})
		if err != nil {
			panic("replay: " + err.Error()) // only the rules of a user can be wrong, and there are none
		}
		r.SetDialect(d)
		return r
	})
	if len(key) > 0 {
		p.matching.token = func(kind string, secret []byte) string { return secrets().Token(kind, secret) }
	}
	return secrets
}

// masker returns what hides secrets in the live side of reports.
func masker(r *redact.Redactor) func(live string, whole bool) string {
	return func(live string, whole bool) string {
		if whole {
			return string(r.Frame(store.In, []byte(live)))
		}
		return string(r.Text([]byte(live)))
	}
}

// faulty returns what does the faults. A death ends the replay at once: what
// the client has by then is half a frame.
func (p *player) faulty(d *dialect.Dialect) *faulty {
	x := newFaulty(p.o.Faults, p.o.Seed)
	x.label = func(raw []byte) string { return d.Read(store.Out, raw).Label }
	x.report = func(f Fault, seq int64) {
		p.say(fmt.Sprintf("agentrec: fault %s at frame %d\n", f, seq))
		p.w.happened(f, seq)
	}
	x.close = func() {
		switch c := p.o.Stdout.(type) {
		case interface{ CloseWrite() error }: // a socket, of which only our side ends
			c.CloseWrite()
		case io.Closer:
			c.Close()
		}
	}
	x.die = func(status int) { p.w.dead(status) }
	return x
}

// script makes the script, or its beginning and what makes it longer.
func (p *player) script(d *dialect.Dialect, each func(store.Frame)) (*script, func(all bool) error, error) {
	if p.o.Pace > 0 || !p.o.grows(d) { // recorded gaps are looked up by the writer
		b, err := p.build(d, each)
		if err != nil {
			return nil, nil, err
		}
		return b.finish(p.session.State), nil, nil
	}
	events, err := p.session.Events(p.data)
	if err != nil {
		return nil, nil, fmt.Errorf("reading the session's events: %w", err)
	}
	b := newBuilder(d, nil, p.session.Count())
	b.s.cut = p.session.State != store.Closed
	g := newGrowth(b, p.session.Count(), events, func(from, to int64) iter.Seq2[store.Frame, error] { return p.session.Frames(p.data, from, to) })
	return b.s, func(all bool) error {
		err := g.read(all)
		if err != nil && p.problem == nil {
			p.problem = err
		}
		return err
	}, nil
}

// build reads the session into a builder. each sees every frame before it is
// read.
func (p *player) build(d *dialect.Dialect, each func(f store.Frame)) (*builder, error) {
	b := newBuilder(d, p.o.Free, p.session.Count())
	return b, b.session(p.data, p.session, each)
}

// session adds all of a session; each sees every frame before it is added.
func (b *builder) session(ctx context.Context, s *store.Session, each func(f store.Frame)) error {
	events, err := s.Events(ctx)
	if err != nil {
		return fmt.Errorf("reading the session's events: %w", err)
	}
	for f, err := range s.Frames(ctx, 1, 0) {
		if err != nil {
			return fmt.Errorf("reading the session's frames: %w", err)
		}
		for len(events) > 0 && events[0].After < f.Seq {
			b.event(events[0])
			events = events[1:]
		}
		each(f)
		b.frame(f)
	}
	for _, e := range events {
		b.event(e)
	}
	return nil
}

// dialect returns the table to read the session by.
func (p *player) dialect() (*dialect.Dialect, error) {
	return dialectOf(p.data, p.session, p.o.Dialect)
}

// dialectOf returns the table that --dialect names, or chooses from those that
// it names, to read a session by.
func dialectOf(ctx context.Context, s *store.Session, name string) (*dialect.Dialect, error) {
	set, err := dialect.LoadSet(name)
	if err != nil {
		return nil, fmt.Errorf("choosing the dialect: %w", err)
	}
	if s.Dialect != "" && set.Choose(s.Dialect) == nil {
		return nil, fmt.Errorf("choosing the dialect: the session was read by a table named %q, which is not built in; write --dialect FILE", s.Dialect)
	}
	d, err := transcript.Detect(ctx, s, set)
	if err != nil {
		return nil, fmt.Errorf("choosing the dialect: %w", err)
	}
	return d, nil
}

// binds returns the bindings that hold from the start: the folders around, and
// those made by hand.
func (p *player) binds() ([]binding, error) {
	cwd, err := os.Getwd()
	if err != nil {
		cwd = "" // it was removed
	}
	out := surroundings(p.session, cwd)
	for _, b := range p.o.Bind {
		recorded, live, ok := strings.Cut(b, "=")
		if !ok || recorded == "" {
			return nil, fmt.Errorf("%q is no binding; write RECORDED=LIVE", b)
		}
		out = append(out, binding{recorded: recorded, live: live, given: byHand})
	}
	return out, nil
}

// fetcher returns how the engine gets recorded frames.
func (p *player) fetcher() func(int32) []byte {
	data := newPayloads(p.data, p.session)
	return func(i int32) []byte {
		raw, err := data.text(int64(p.e.s.items[i].seq))
		if err != nil && p.problem == nil {
			p.problem = err
		}
		return raw
	}
}
