package replay

import (
	"context"
	"fmt"
	"io"
	"time"

	"agentrec/internal/child"
	"agentrec/store"
)

// softWait is how long a silent agent is waited for when only frames are
// missing that may never come.
const softWait = time.Second

// play is the loop of a rerun: it ends when the agent has ended and all that it
// wrote has been read.
func (r *rerun) play(ctx context.Context) error {
	exited := r.agent.child.Exit()
	arrivals := r.agent.arrivals
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	ending := 0 // how often the agent was told to end
	rest := func() {
		switch {
		case exited == nil:
			timer.Reset(quietAfterExit)
		case r.fork.live():
			timer.Stop()
		case ending > 0:
			timer.Reset(graceToTerm)
		case r.m.over() && r.killed():
			timer.Reset(graceToEnd)
		case r.m.patient() && !r.m.over():
			timer.Reset(r.softly())
		default:
			timer.Reset(r.patience())
		}
	}
	r.do(r.m.start())
	done := ctx.Done()
	if r.fork != nil {
		done = nil // signals are the agent's
	}
	for rest(); arrivals != nil || exited != nil; rest() {
		select {
		case a := <-arrivals:
			if a.eof {
				arrivals = nil
				if exited != nil && !r.m.over() && !r.fork.live() && len(r.stalls) == 0 { // an agent that closes its output has nothing more to say
					r.lost("closed its output")
				}
				continue
			}
			if !r.fork.pass(a) {
				r.do(r.m.frame(a.frame))
			}
		case e := <-exited:
			r.exit, exited = &e, nil
		case a := <-r.fork.client():
			r.fork.take(r, a)
		case sig := <-r.fork.signals():
			r.agent.feeder.push(feed{signal: signalName(sig)})
		case <-done:
			done = nil
			child.FamilyOf(r.agent.child.Process.Pid).Kill()
			r.v.diverged(Entry{Kind: Ended, Message: "interrupted"})
		case <-timer.C:
			switch {
			case exited != nil && ending == 0 && r.model.thinks():
			case exited == nil:
				arrivals = nil // others hold the pipe
			case !r.m.over() && ending == 0:
				if r.silent() {
					ending++
					r.agent.feeder.push(feed{eof: true})
				}
			default:
				ending++
				family := child.FamilyOf(r.agent.child.Process.Pid)
				if ending > 2 || r.killed() {
					family.Kill()
				} else {
					family.Terminate()
				}
			}
		}
	}
	if !r.m.over() && len(r.stalls) == 0 {
		r.lost("ended (" + r.exit.Error() + ")")
	}
	return nil
}

// killed reports whether the recorded agent had to be killed.
func (r *rerun) killed() bool { return r.session.Exit != nil && r.session.Exit.Signal == "KILL" }

// softly is how long a silent agent is waited for when only frames are missing
// that may never come: a real model may think before it says the first word.
func (r *rerun) softly() time.Duration {
	if r.o.Model == ModelLive {
		return r.patience()
	}
	return min(softWait, r.patience())
}

// patience is how long an agent may say nothing.
func (r *rerun) patience() time.Duration {
	if r.o.Wait <= 0 {
		return 1 << 62
	}
	return r.o.Wait
}

// silent takes note that the agent says nothing, and reports whether it is to
// be given up.
func (r *rerun) silent() bool {
	if r.m.patient() {
		r.do(r.m.hurry())
		return false
	}
	what, list := r.m.stuck()
	if list != nil {
		r.do(list)
		return false
	}
	r.stall(fmt.Sprintf("the agent never sent %s", what))
	return true
}

func (r *rerun) lost(how string) {
	r.stall("the agent " + how + " before the client had sent everything")
}

// stall notes that the agent keeps the client from going on.
func (r *rerun) stall(message string) {
	n := Entry{Kind: Stalled, Message: message + "; it last received " + orNothing(r.fed)}
	if unsent := r.m.unsent(); len(unsent) > 0 {
		n.Seq = int64(r.m.s.items[unsent[0]].seq)
		n.Label = r.m.labelOf(unsent[0])
		n.Message += fmt.Sprintf("; waiting for it: %s (frame %d)", n.Label, n.Seq)
	}
	r.stalls = append(r.stalls, n)
}

func orNothing(label string) string {
	if label == "" {
		return "nothing"
	}
	return label
}

// do hands over to the agent what the client does.
func (r *rerun) do(list []sending) {
	for _, s := range list {
		switch {
		case s.item == 0 && s.end && r.fork != nil:
			r.fork.begin(r)
		case s.item == 0 && s.end:
			if len(r.m.s.ending) == 0 { // else it was ended as it was when recorded
				r.agent.feeder.push(feed{eof: true})
			}
		case s.end:
			if e := r.m.s.events[s.item]; e.Kind == store.EventSignal {
				r.agent.feeder.push(feed{signal: e.Signal})
			} else if r.fork == nil { // the caller of a fork has something to say
				r.agent.feeder.push(feed{eof: true})
			}
		case s.item == 0:
			r.agent.feeder.push(feed{raw: s.raw, term: store.LF})
		default:
			r.send(s)
		}
	}
}

// send sends a recorded frame with its own terminator.
func (r *rerun) send(s sending) {
	f, err := r.session.Frame(context.Background(), int64(r.m.s.items[s.item].seq))
	if err != nil {
		r.broken = err
		return
	}
	r.sent++
	r.fed = r.m.labelOf(s.item)
	x := feed{raw: s.raw, term: f.Term}
	if f.Raw == nil && f.Size > 0 {
		x.giant = func() (io.ReadCloser, error) { return r.session.Reader(context.Background(), f.Seq) }
	}
	r.agent.feeder.push(x)
}
