package record

import (
	"context"
	"os"
	"sync/atomic"
	"time"

	"agentrec/internal/child"
	"agentrec/internal/tape"
	"agentrec/store"
)

// proxy is one recording: a child, three pumps, a tape and its drain.
type proxy struct {
	patience time.Duration // of finish
	tape     *tape.Tape
	warn     *warner
	signals  *signals
	child    *child.Child
	model    *model
	pumps    [store.Streams]atomic.Pointer[pump]
}

// How long an agent that has ended may keep us: grandchildren can hold its
// pipes open for ever, but what stands in the pipes belongs to the client.
const (
	quietAfterExit = 300 * time.Millisecond // nothing came for this long
	mostAfterExit  = 5 * time.Second        // something still comes
)

func (p *proxy) pump(s store.Stream) *pump { return p.pumps[s].Load() }

// run starts the agent, serves it until it has ended and brings the recording
// into the database.
func (p *proxy) run(path string, argv, environ []string) (store.Exit, error) {
	client := newClient()
	c, err := child.Run(child.Start{Path: path, Argv: argv, Environ: environ})
	if err != nil {
		return store.Exit{}, err
	}
	p.child = c
	p.tape.Event(store.Event{Kind: store.EventStart})
	for s, ends := range map[store.Stream][2]fd{store.In: {stdin, c.Stdin}, store.Out: {c.Stdout, stdout}, store.Err: {c.Stderr, stderr}} {
		p.pumps[s].Store(newPump(p.tape, p.warn, s, ends[0], ends[1]))
	}
	for s := range p.pumps {
		go p.pump(store.Stream(s)).run()
	}
	follower := p.tape.Follower()
	following, stop := context.WithCancel(context.Background())
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		lowerPriority()
		follower.Run(following)
	}()
	quit, guarded := make(chan struct{}), make(chan struct{})
	go func() { defer close(guarded); p.guard(client, quit) }()

	exit := <-c.Exit()
	p.drainPipes()
	p.model.end(p.patience / 2)
	close(quit)
	<-guarded
	p.tape.Event(store.Event{Kind: store.EventExit, Exit: &exit})
	stop()
	p.finish(follower, exit, stopped)
	return exit, nil
}

// drainPipes waits until what the agent wrote has been forwarded, or only
// others hold its pipes open.
func (p *proxy) drainPipes() {
	most := time.After(mostAfterExit)
	tick := time.NewTicker(quietAfterExit / 10)
	defer tick.Stop()
	quiet := time.Now()
	for _, s := range []store.Stream{store.Out, store.Err} {
		for seen := int64(-1); ; {
			if p.pump(s).writing() {
				quiet = time.Now() // the client is slow, not the agent
			}
			if n := p.pump(s).chunks.Load(); n != seen {
				seen, quiet = n, time.Now()
			}
			select {
			case <-p.pump(s).done:
			case <-most:
				if !p.pump(s).writing() {
					return
				}
				most = time.After(quietAfterExit)
				continue
			case <-tick.C:
				if time.Since(quiet) < quietAfterExit {
					continue
				}
				return
			}
			break
		}
	}
}

// finish ends the tape and drains it, within p.patience in all.
func (p *proxy) finish(f *tape.Follower, exit store.Exit, stopped <-chan struct{}) {
	ctx, cancel := context.WithTimeout(context.Background(), p.patience)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		end := p.tape.Finish(&exit)
		<-stopped
		err := f.Complete(ctx, end)
		f.Close() // else the log of the database stays beside it
		if err != nil {
			p.tape.Leave()
		}
		ended <- err
	}()
	select {
	case err := <-ended:
		if err != nil && err != tape.ErrBehind {
			p.warn.say("%v; the session stays on the tape %s", err, p.tape.Path())
		}
	case <-time.After(p.patience + drainAtExit/2):
		// The disk does not answer; the tape has what was recorded. Linux keeps
		// a process until the file system lets its threads go, so we may be
		// seen to leave only then.
	}
}

// guard watches over the recording until quit is closed: it passes signals on,
// gives up appends that do not come back, and ends an agent whose client is
// gone.
func (p *proxy) guard(client *client, quit <-chan struct{}) {
	tick := time.NewTicker(guardEvery)
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-quit:
			return
		case sig := <-p.signals.c:
			p.forward(sig)
		case <-tick.C:
			for s := range p.pumps {
				if next := p.pump(store.Stream(s)).rescue(); next != nil {
					p.pumps[s].Store(next)
					go next.run()
				}
			}
			if n%4 == 0 {
				p.tape.Measure()
				client.look(p)
			}
		}
	}
}

// guardEvery is how often the guard looks: an append may hang for
// tape.Patience and this.
const guardEvery = 250 * time.Millisecond

// forward passes a signal on to the agent, once, and tells the tape.
func (p *proxy) forward(sig os.Signal) {
	name, ok := passOn(sig)
	if !ok {
		return
	}
	if err := p.child.Process.Signal(sig); err == nil {
		p.tape.Event(store.Event{Kind: store.EventSignal, Signal: name})
	}
}
