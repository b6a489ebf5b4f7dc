package record

import (
	"context"
	"errors"
	"fmt"
	"time"

	"agentrec/internal/tape"
	"agentrec/store"
)

// drainAtExit is how long an ending recorder works on what is not in the
// database yet, if nothing else was asked for; the rest stays on the tape for
// the next command.
const drainAtExit = time.Second

// recording is one session on its way: the tape that pumps write to and, from
// follow to finish, the goroutine behind them that brings it into the database.
type recording struct {
	tape     *tape.Tape
	warn     *warner
	follower *tape.Follower
	halt     context.CancelFunc // of what follow has begun
	drained  chan struct{}      // closed when the drain has stopped
}

// record makes the tape of a session. What fills a disk is not the agent's
// affair: then everything is forwarded, nothing kept, and people are told. The
// caller ends with finish or, when nothing was recorded, with the tape's Discard.
func (o *Options) record(start tape.Start, warn *warner) (*recording, error) {
	t, err := tape.Create(o.DB, start)
	if err != nil {
		if !tape.Full(err) {
			return nil, Failure{Status: statusOwn, Err: fmt.Errorf("record into %s: %w", o.DB, pathless(err))}
		}
		t = tape.None(start, err)
		warn.say("nothing is recorded into %s: %v; forwarding goes on", o.DB, pathless(err))
		warn.wait()
	}
	return &recording{tape: t, warn: warn, drained: make(chan struct{})}, nil
}

// follow begins to drain the tape and to watch over it. Where a file system does
// not answer, the watch may end only when that does.
func (r *recording) follow() {
	r.follower = r.tape.Follower()
	following, halt := context.WithCancel(context.Background())
	r.halt = halt
	go func() {
		defer close(r.drained)
		lowerPriority()
		r.follower.Run(following)
	}()
	go r.watch(following)
}

// watchEvery is how often it is looked how much room the disk has.
const watchEvery = time.Second

// watch measures the room for the tape, and says when something is lost.
func (r *recording) watch(ctx context.Context) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			r.tape.Measure()
			r.warn.lost(r.tape)
		}
	}
}

// finish ends the tape and drains it, within patience and half a second in all,
// or within drainAtExit from when hurry ends. What there was no time for, or no
// disk that answers, stays on the tape and is no error.
func (r *recording) finish(hurry context.Context, exit *store.Exit, patience time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	stop := context.AfterFunc(hurry, func() { time.AfterFunc(drainAtExit, cancel) })
	defer stop()
	r.halt()
	r.warn.lost(r.tape)
	ended := make(chan error, 1)
	go func() {
		end := r.tape.Finish(exit)
		<-r.drained
		err := r.follower.Complete(ctx, end)
		r.follower.Close() // else the log of the database stays beside it
		if err != nil {
			err = fmt.Errorf("%w; %s", err, r.tape.Leave())
		}
		ended <- err
	}()
	var err error
	select {
	case err = <-ended:
	case <-ctx.Done():
		select {
		case err = <-ended:
		case <-time.After(drainAtExit / 2):
			// The disk does not answer; the tape has what was recorded. Linux
			// keeps a process until the file system lets its threads go, so we
			// may be seen to leave only then.
		}
	}
	if errors.Is(err, tape.ErrBehind) {
		return nil
	}
	return err
}
