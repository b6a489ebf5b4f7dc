package replay

import (
	"context"
	"fmt"
	"os"
	"time"

	"agentrec/store"
)

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
	always := make(chan struct{})
	close(always)
	for {
		if p.reach() && wait != nil {
			restart() // that took time in which the client was not heard
		}
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
				p.signalled(sig)
			default:
			}
			return nil
		}
		var spare <-chan struct{} // there is time to make the script longer
		if !p.e.s.whole {
			spare = always
		}
		select {
		case <-spare:
			p.w.push(p.e.reach())
		case a := <-arrivals:
			stalled = false
			restart()
			if p.take(a); a.eof {
				closed, arrivals, wait = true, nil, nil
			}
		case sig := <-p.o.Signals:
			p.sentBefore(arrivals)
			p.signalled(sig)
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

// reach makes the script as long as it must be for what the client does next, and
// reports whether there was something to do.
func (p *player) reach() (grown bool) {
	for !p.e.farEnough() {
		p.w.push(p.e.reach())
		grown = true
	}
	return grown
}

// take hands what came from the client to the engine.
func (p *player) take(a arrival) {
	p.dirty = true
	p.reach()
	if a.eof {
		p.w.push(p.e.eof())
		return
	}
	known := len(p.v.diverge)
	out := p.e.frame(a.frame)
	if p.reporter != nil && (p.e.finished() || len(p.v.diverge) > known) {
		p.reporter.sync(p.report("running"))
		p.reported = time.Now()
	}
	p.w.push(out)
}

// signalled ends the replay as the client's signal does.
func (p *player) signalled(sig os.Signal) {
	p.ended = signalName(sig)
	p.w.push(p.e.signal(p.ended))
	p.flush(flushAfterSignal)
}

// How long the reader must have nothing to read until it is believed that the
// client sent nothing more before its signal, and how long a client that goes on
// after it is listened to.
const (
	quietAfterSignal = 5 * time.Millisecond
	busyAfterSignal  = 200 * time.Millisecond
)

// sentBefore takes what the client sent before its signal. A client that writes
// its last frame and sends TERM in one go does both before we see either.
func (p *player) sentBefore(arrivals <-chan arrival) {
	if arrivals == nil {
		return
	}
	const step = time.Millisecond
	for quiet, waited := time.Duration(0), time.Duration(0); quiet < quietAfterSignal && waited < busyAfterSignal; waited += step {
		select {
		case a := <-arrivals:
			quiet = 0
			if p.take(a); a.eof {
				return
			}
		case <-time.After(step):
			if quiet += step; !p.in.empty() {
				quiet = 0
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
	p.e.rest()
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
		p.say(fmt.Sprintf("agentrec: %d changed frames written to %s\n", len(p.e.changed), where))
	}
	r := p.report("done")
	p.say(summary(r, p.v.quiet-maxLoud))
	if os.Getenv("GITHUB_ACTIONS") == "true" {
		p.say(annotations(r))
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
		if state == "running" && !p.o.AllowUnsent && !p.o.Lookup && (p.v.matched < len(s.ins) || !s.whole) {
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
