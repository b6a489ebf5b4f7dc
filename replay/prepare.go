package replay

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"agentrec/internal/dialect"
	"agentrec/internal/redact"
	"agentrec/internal/transcript"
	"agentrec/store"
)

// prepare makes the script. What waits for nothing goes out meanwhile.
func (p *player) prepare() error {
	d, err := p.dialect()
	if err != nil {
		return err
	}
	binds, err := p.binds()
	if err != nil {
		return err
	}
	greeting := len(binds) == 0 && p.o.Pace == 0 && len(p.o.Faults) == 0 && !p.o.Lookup
	sent, size := 0, 0
	var gaps []time.Duration
	var last time.Duration
	b, err := p.build(d, func(f store.Frame, ending bool) {
		if sent < p.o.greeted {
			sent++
			return
		}
		greeting = greeting && f.Stream == store.Out && !ending && f.Raw != nil && size < writeSize
		if greeting {
			p.w.push([]outgoing{{other: &other{raw: append(append([]byte(nil), f.Raw...), f.Term.Bytes()...)}}})
			sent++
			size += len(f.Raw)
		}
		if p.o.Pace > 0 {
			gaps = append(gaps, f.Time-last)
			last = f.Time
		}
	})
	if err != nil {
		return err
	}
	s := b.finish(p.session.State)
	r, err := p.redactor(d)
	if err != nil {
		return err
	}
	p.e = newEngine(s, p.matching, p.v, p.fetcher())
	for _, n := range binds {
		p.e.addBinding(n)
	}
	p.strangers(s)
	p.v.mask = masker(r)
	p.v.loud = func(n Entry) { p.side.write([]byte(human(n))) }
	p.w.push([]outgoing{{other: &other{begin: func(w *writer) {
		w.script, w.view, w.skip = s, newView(&p.e.log), sent
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

// redactor returns what knows secrets: their places and shapes, and the values
// of secret-looking variables. With the recording's key, which only a database
// has, live secrets are told by their tokens.
func (p *player) redactor(d *dialect.Dialect) (*redact.Redactor, error) {
	key, err := p.db.Secret(p.data)
	if err != nil {
		key = nil // a token then fits any value, as in a text file
	}
	r, err := redact.New(redact.Options{Key: key, Environ: os.Environ()})
	if err != nil {
		return nil, err
	}
	r.SetDialect(d)
	if len(key) > 0 {
		p.matching.token = r.Token
	}
	return r, nil
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
		p.side.write([]byte(fmt.Sprintf("agentrec: fault %s at frame %d\n", f, seq)))
		p.w.happened(f, seq)
	}
	x.close = func() {
		if c, ok := p.o.Stdout.(io.Closer); ok {
			c.Close()
		}
	}
	x.die = func(status int) { p.w.dead(status) }
	return x
}

// build reads the session into a builder. each sees every frame before it is
// read; ending says that EOF or a signal was recorded before it.
func (p *player) build(d *dialect.Dialect, each func(f store.Frame, ending bool)) (*builder, error) {
	b := newBuilder(d, p.o.Free, p.session.Count())
	return b, b.session(p.data, p.session, each)
}

// session adds all of a session; each sees every frame before it is added.
func (b *builder) session(ctx context.Context, s *store.Session, each func(f store.Frame, ending bool)) error {
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
		each(f, len(b.s.ending) > 0)
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
