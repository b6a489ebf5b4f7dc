package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"time"

	"agentrec/internal/dialect"
	"agentrec/internal/redact"
	"agentrec/internal/tape"
	"agentrec/store"
)

// Options says what to replay and how.
type Options struct {
	File    string // database or text form
	Session string // number, name, id, "last" or AnySession; "" is the only one
	Dialect string // instead of the recorded or detected one

	Match       Level    // Content when None
	Ignore      []string // paths
	IgnoreValue []string // regular expressions
	Bind        []string // RECORDED=LIVE
	Free        []string // labels taken out of the gates
	Order       string   // cause (default) or recorded
	AllowUnsent bool
	Lookup      bool   // answer requests in any order
	Exhausted   string // in lookup: fail (default), last or cycle

	Pace    float64       // 0 fast, else the factor of the recorded speed
	PaceCap time.Duration // longest pause, 0 for none
	Wait    time.Duration // until a stall is reported, 0 for never
	Report  string        // file or directory, "" for none
	Update  bool          // accept changed frames of the client and rewrite the recording with them
	Faults  []Fault       // damage done to what is written
	Seed    uint64        // of the faults' random choices

	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer
	Signals <-chan os.Signal // TERM, INT and HUP of the live client; may be nil

	greeted    int // frames of the session that have been sent already
	connection int // number of the connection, 0 on stdio
}

// Run plays the agent's side of a recorded session to the client on Stdin and
// Stdout until the client ends it. It returns nil or store.Exit when all went as
// recorded, Divergence when it did not, and an error that wraps
// store.ErrUnusable when the recording cannot be played.
//
// Data path: read (stdin, one goroutine) -> engine (the caller's goroutine) ->
// writer (one goroutine) -> stdout.
func Run(ctx context.Context, o Options) error {
	data := context.WithoutCancel(ctx)
	db, session, err := find(data, &o, time.Sleep)
	if err != nil {
		return err
	}
	defer db.Close()
	p, err := newPlayer(data, o, session)
	if err != nil {
		return err
	}
	p.db = db
	return p.play(ctx)
}

// maxEnding is how long a replay waits for a recorder that is about to end.
const maxEnding = 500 * time.Millisecond

// find opens the recording and finds the session to play. The caller closes the
// database. A client that kills its agent goes on before the recorder is quite
// dead; until then the session counts as one that is being recorded, and the
// end of its tape is not seen. So such a session is looked at again, with sleep
// in between, before it is played as the cut recording that it then is.
func find(ctx context.Context, o *Options, sleep func(time.Duration)) (*store.DB, *store.Session, error) {
	wait := 10 * time.Millisecond
	for waited := time.Duration(0); ; waited += wait {
		db, err := tape.Open(ctx, o.File)
		if err != nil {
			return nil, nil, err
		}
		var session *store.Session
		if o.Session == AnySession {
			session, err = choose(ctx, db, o)
		} else {
			session, err = db.Find(ctx, o.Session)
		}
		if err != nil {
			db.Close()
			return nil, nil, err
		}
		if session.State != store.Recording || o.Session == AnySession || waited >= maxEnding {
			return db, session, nil
		}
		db.Close()
		sleep(wait)
	}
}

// player is one replay.
type player struct {
	o        Options
	matching matching
	session  *store.Session
	db       *store.DB
	data     context.Context
	side     *sideWriter
	w        *writer
	e        *engine
	v        *verdict
	reporter *reporter
	started  time.Time
	ended    string
	dirty    bool
	reported time.Time
	problem  error
}

func newPlayer(data context.Context, o Options, s *store.Session) (*player, error) {
	p := &player{o: o, session: s, data: data, started: time.Now(), v: &verdict{allow: o.AllowUnsent}}
	if p.o.Match == None {
		p.o.Match = Content
	}
	if p.o.Update {
		p.o.Match = Kind
	}
	ignore, err := dialect.ParsePaths(o.Ignore...)
	if err != nil {
		return nil, fmt.Errorf("reading --ignore: %w", err)
	}
	p.matching = matching{least: p.o.Match, ignore: ignore, recorded: o.Order == "recorded"}
	if o.Lookup {
		if p.matching.lookup = o.Exhausted; o.Exhausted == "" {
			p.matching.lookup = ExhaustedFail
		}
	}
	for _, v := range o.IgnoreValue {
		re, err := regexp.Compile(v)
		if err != nil {
			return nil, fmt.Errorf("reading --ignore-value: %w", err)
		}
		p.matching.values = append(p.matching.values, re)
	}
	if o.Report != "" {
		if p.reporter, err = newReporter(o.Report, processName(s, o.connection)); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// processName is what a report in a directory is called after.
func processName(s *store.Session, connection int) string {
	name := fmt.Sprintf("%s-%d", s.UID, os.Getpid())
	if connection > 0 {
		name += fmt.Sprintf("-%d", connection)
	}
	return name
}

func (p *player) play(ctx context.Context) error {
	p.side = newSideWriter(p.o.Stderr)
	p.w = newWriter(p.o.Stdout, p.side, newPayloads(p.data, p.session))
	stop := make(chan struct{})
	arrivals := make(chan arrival)
	go read(p.o.Stdin, arrivals, stop)
	written := make(chan struct{})
	go func() { defer close(written); p.w.run() }()

	err := p.prepare()
	if err == nil {
		err = p.loop(ctx, arrivals)
	}
	close(stop)
	if p.ended != "stall" && p.ended != "eof" && p.ended != "exit" {
		p.w.close(true)
		select {
		case <-written:
		case <-time.After(100 * time.Millisecond): // the client does not read; its pipe is all it gets
		}
	} else {
		p.w.close(p.ended == "stall")
		<-written
	}
	if err != nil {
		p.side.close()
		if p.reporter != nil {
			err = errors.Join(err, p.reporter.close(p.report("done")))
		}
		return err
	}
	return p.verdict()
}

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
	p.e = newEngine(s, p.matching, p.v, p.fetcher())
	for _, n := range binds {
		p.e.bind(n.recorded, n.live)
	}
	if p.v.mask, err = masker(d); err != nil {
		return err
	}
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

// masker returns what hides secrets in the live side of reports: places and
// shapes of secrets, and the values of secret-looking variables.
func masker(d *dialect.Dialect) (func(live string, whole bool) string, error) {
	r, err := redact.New(redact.Options{Environ: os.Environ()})
	if err != nil {
		return nil, err
	}
	r.SetDialect(d)
	return func(live string, whole bool) string {
		if whole {
			return string(r.Frame(store.In, []byte(live)))
		}
		return string(r.Text([]byte(live)))
	}, nil
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
	b := newBuilder(d, p.o.Free)
	events, err := p.session.Events(p.data)
	if err != nil {
		return nil, fmt.Errorf("reading the session's events: %w", err)
	}
	for f, err := range p.session.Frames(p.data, 1, 0) {
		if err != nil {
			return nil, fmt.Errorf("reading the session's frames: %w", err)
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
	return b, nil
}

// dialect returns the table to read the session by.
func (p *player) dialect() (*dialect.Dialect, error) {
	name := p.o.Dialect
	if name == "" {
		name = p.session.Dialect
	}
	if name != "" {
		d, err := dialect.Load(name)
		if err != nil {
			return nil, fmt.Errorf("loading the dialect %s: %w", name, err)
		}
		return d, nil
	}
	detector := dialect.NewDetector(p.session.Argv)
	for f, err := range p.session.Frames(p.data, 1, 200) {
		if err != nil {
			return nil, fmt.Errorf("reading the session's frames: %w", err)
		}
		if detector.Observe(f.Stream, f.Raw) {
			break
		}
	}
	return detector.Dialect(), nil
}

// binds returns the bindings that hold from the start: the working directory,
// and those made by hand.
func (p *player) binds() ([]textPair, error) {
	var out []textPair
	if cwd, err := os.Getwd(); err == nil && p.session.Cwd != "" && cwd != p.session.Cwd && isPath(p.session.Cwd) {
		out = append(out, textPair{recorded: p.session.Cwd, live: cwd})
	}
	for _, b := range p.o.Bind {
		recorded, live, ok := strings.Cut(b, "=")
		if !ok || recorded == "" {
			return nil, fmt.Errorf("%q is no binding; write RECORDED=LIVE", b)
		}
		out = append(out, textPair{recorded: recorded, live: live})
	}
	return out, nil
}

// fetcher returns how the engine gets recorded frames.
func (p *player) fetcher() func(int32) []byte {
	data := newPayloads(p.data, p.session)
	return func(i int32) []byte {
		f, err := data.lookup(int64(p.e.s.items[i].seq))
		if err == nil && f.Raw == nil && f.Size > 0 {
			f.Raw, err = data.giant(f)
		}
		if err != nil && p.problem == nil {
			p.problem = err
		}
		return f.Raw
	}
}

// How long a client that has sent TERM gets for reading what is due.
const flushAfterSignal = time.Second

func (p *player) loop(ctx context.Context, arrivals <-chan arrival) error {
	var wait <-chan time.Time
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	restart := func() {
		if p.o.Wait > 0 {
			timer.Reset(p.o.Wait)
			wait = timer.C
		}
	}
	restart()
	done := ctx.Done()
	if p.o.Signals != nil {
		done = nil // the signal says more
	}
	closed, stalled := false, false
	for {
		p.tell()
		idle, failed, broken := p.w.state()
		if broken != nil {
			return broken
		}
		if p.w.death() != 0 && idle {
			p.ended = "exit"
			return nil
		}
		if p.problem != nil {
			return p.problem
		}
		if (idle || failed != nil) && (closed || p.e.leaves()) {
			p.ended = "eof"
			if !closed {
				p.ended = "exit"
			}
			if p.o.Signals != nil {
				settled()
			}
			select {
			case sig := <-p.o.Signals:
				p.ended = signalName(sig)
				p.w.push(p.e.signal(p.ended))
				p.flush(flushAfterSignal)
			default:
			}
			return nil
		}
		select {
		case a := <-arrivals:
			stalled = false
			restart()
			switch {
			case a.eof:
				closed, arrivals, wait = true, nil, nil
				p.w.push(p.e.eof())
			default:
				known := len(p.v.diverge)
				out := p.e.frame(a.frame)
				if p.reporter != nil && (p.e.finished() || len(p.v.diverge) > known) {
					p.reporter.sync(p.report("running"))
					p.reported = time.Now()
				}
				p.w.push(out)
			}
			p.dirty = true
		case sig := <-p.o.Signals:
			p.ended = signalName(sig)
			p.w.push(p.e.signal(p.ended))
			p.flush(flushAfterSignal)
			return nil
		case <-done:
			p.ended = "INT"
			return nil
		case <-p.w.idle:
			restart()
			if closed {
				wait = nil
			}
		case <-wait:
			if !idle {
				restart()
				continue
			}
			if stalled {
				p.ended = "stall"
				return nil
			}
			out, held := p.e.stall()
			if held {
				stalled, p.dirty = true, true
				p.w.push(out)
				restart()
			} else {
				wait = nil // all is sent: read on until EOF
			}
		}
	}
}

// flush waits until all is written, but no longer than limit.
func (p *player) flush(limit time.Duration) {
	end := time.After(limit)
	for {
		if idle, failed, broken := p.w.state(); idle || failed != nil || broken != nil {
			return
		}
		select {
		case <-p.w.idle:
		case <-end:
			return
		}
	}
}

// verdict closes the reports and says how to leave.
func (p *player) verdict() error {
	_, failed, _ := p.w.state()
	p.v.close(p.e, failed != nil)
	p.judgeFaults()
	if p.o.Update && len(p.e.changed) > 0 {
		where, err := p.update()
		if err != nil {
			p.side.close()
			return fmt.Errorf("updating %s: %w", p.o.File, err)
		}
		p.v.noted(Entry{Kind: Updated, Message: "updated " + where})
		p.side.write([]byte(fmt.Sprintf("agentrec: %d changed frames written to %s\n", len(p.e.changed), where)))
	}
	r := p.report("done")
	p.side.write([]byte(summary(r, p.v.quiet-maxLoud)))
	if os.Getenv("GITHUB_ACTIONS") == "true" {
		p.side.write([]byte(annotations(r)))
	}
	p.side.close()
	if p.reporter != nil {
		if err := p.reporter.close(r); err != nil {
			return err
		}
	}
	if status := p.w.death(); status != 0 {
		return store.Exit{Code: status}
	}
	if n := r.Failed(); n > 0 {
		return Divergence{Count: n}
	}
	switch p.ended {
	case "eof", "exit":
		if exit := p.e.s.exit; exit != nil && exit.Signal == "" && exit.Code != 0 {
			return *exit
		}
		return nil
	}
	return store.Exit{Signal: p.ended}
}

// judgeFaults notes the faults that were done; one that never was is a
// divergence, for a test that counts on it tests nothing.
func (p *player) judgeFaults() {
	did := map[string]int{}
	for _, n := range p.w.faultNotes() {
		did[n.Message]++
		p.v.noted(n)
	}
	for _, f := range p.o.Faults {
		message := "fault " + f.String()
		if did[message]--; did[message] < 0 {
			p.v.diverged(Entry{Kind: Faulted, Message: message + " was never due: no such frame was sent"})
		}
	}
}

// How often a busy replay writes its report.
const reportEvery = 250 * time.Millisecond

// tell hands the reporter what is known so far.
func (p *player) tell() {
	if p.reporter == nil || !p.dirty && !p.reported.IsZero() {
		return
	}
	if time.Since(p.reported) < reportEvery && !p.e.finished() && len(p.v.diverge) == 0 {
		return
	}
	p.dirty, p.reported = false, time.Now()
	p.reporter.update(p.report("running"))
}

func (p *player) report(state string) *Report {
	r := &Report{
		Format: 1, File: p.o.File, State: state, Verdict: "pass", Ended: p.ended,
		Session: ReportSession{p.session.ID, p.session.UID, p.session.Name},
		Process: os.Getpid(), Started: p.started, Took: float64(time.Since(p.started).Microseconds()) / 1000,
		Divergences: append([]Entry{}, p.v.diverge...), Notes: append([]Entry{}, p.v.notes...), Dropped: p.v.dropped,
	}
	if p.e != nil {
		s := p.e.s
		r.Dialect, r.Exit = s.dialect.Name(), s.exit
		r.In = ReportCount{len(s.ins), p.v.matched}
		r.Out = ReportCount{s.outs, s.outs - p.e.left}
		if state == "running" && !p.o.AllowUnsent && !p.o.Lookup && p.v.matched < len(s.ins) {
			r.Verdict = "fail"
		}
	} else {
		r.Verdict = "fail"
	}
	if r.Failed() > 0 {
		r.Verdict = "fail"
	}
	return r
}
