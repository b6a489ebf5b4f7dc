package record

import (
	"context"
	"os"
	"sync/atomic"
	"time"

	"agentrec/internal/child"
	"agentrec/store"
)

// proxy records one agent: a child and three pumps.
type proxy struct {
	*recording
	patience time.Duration // of finish
	signals  *signals
	child    *child.Child
	model    *model
	pumps    [store.Streams]atomic.Pointer[pump]
	asked    atomic.Bool // to end: by a signal, or because the client is gone
	exited   atomic.Bool // the agent
	mute     int         // how often in a row the guard has seen that the agent closed its stderr
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
	p.follow()
	quit, guarded := make(chan struct{}), make(chan struct{})
	go func() { defer close(guarded); p.guard(client, quit) }()

	exit := <-c.Exit()
	p.exited.Store(true)
	p.drainPipes()
	p.model.end(p.patience / 2)
	close(quit)
	<-guarded
	p.tape.Event(store.Event{Kind: store.EventExit, Exit: &exit})
	if err := p.finish(context.Background(), &exit, p.patience); err != nil {
		p.warn.say("%v", err)
	}
	return exit, nil
}

// drainPipes waits until what the agent wrote has been forwarded, or only
// others hold its pipes open. A client that does not read is waited for, unless
// it has asked us to end: of an agent that dies by a signal, too, all is lost that
// does not fit the client's pipe.
func (p *proxy) drainPipes() {
	tick := time.NewTicker(quietAfterExit / 10)
	defer tick.Stop()
	began := time.Now()
	quiet, seen := began, int64(0)
	for {
		var done [2]<-chan struct{} // of the pumps that still run
		slow, chunks := false, int64(0)
		for i, s := range []store.Stream{store.Out, store.Err} {
			pump := p.pump(s)
			chunks += pump.chunks.Load()
			if !pump.ended.Load() {
				done[i] = pump.done
				slow = slow || pump.writing() && !p.asked.Load()
			}
		}
		if done[0] == nil && done[1] == nil {
			return
		}
		now := time.Now()
		if slow || chunks != seen { // the client is slow, not the agent, or more has come
			quiet, seen = now, chunks
		}
		if now.Sub(quiet) >= quietAfterExit || now.Sub(began) >= mostAfterExit && !slow {
			return
		}
		select {
		case <-done[0]:
		case <-done[1]:
		case <-tick.C:
		}
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
				client.look(p)
				p.passMute()
			}
		}
	}
}

// passMute passes on that an agent which goes on has closed its stderr: the guard
// must have seen that twice. Stderr is kept for our own words otherwise, for those at
// the end of an agent come after its last.
func (p *proxy) passMute() {
	if p.exited.Load() || !p.pump(store.Err).ended.Load() {
		p.mute = 0
		return
	}
	if p.mute++; p.mute == 2 {
		putOut(stderr)
	}
}

// guardEvery is how often the guard looks: an append may hang for
// tape.Patience and this.
const guardEvery = 250 * time.Millisecond

// forward passes a signal on to the agent, once, and tells the tape.
func (p *proxy) forward(sig os.Signal) {
	if asksToEnd(sig) {
		p.asked.Store(true)
	}
	name, ok := passOn(sig)
	if !ok {
		return
	}
	if err := p.child.Process.Signal(sig); err == nil {
		p.tape.Event(store.Event{Kind: store.EventSignal, Signal: name})
	}
}
