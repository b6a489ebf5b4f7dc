package tape

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"time"

	"agentrec/store"
)

// commitEvery is how often frames are committed while data flows: larger
// transactions cost the hot path less, and a live view is that far behind.
const commitEvery = 200 * time.Millisecond

// flood is a rate, in bytes a second, at which a tape grows faster than any drain
// can take it in.
const flood = 200 << 20

// firstLook is how long the database waits while the agent starts.
const firstLook = 50 * time.Millisecond

// reclaimEvery is how much of the tape is given back at a time.
const reclaimEvery = 64 << 20

// mostFailures is how often in a row a commit may fail before the database is
// opened again.
const mostFailures = 5

// Follower brings a running recorder's tape into the database.
type Follower struct {
	tape    *Tape
	open    func(context.Context, string) (*store.DB, error)
	db      *store.DB
	info    os.FileInfo // of the database file as opened
	drain   *Drain
	err     error      // the last one, nil once a commit worked
	failed  int        // commits in a row
	torn    error      // the tape cannot be read on
	adopted bool       // all that dead recorders had left was taken over
	tried   time.Time  // when that was last worked on
	last    checkpoint // of the last commit
	punched int64      // the tape is gone up to here, but for its start
	look    struct {
		time   time.Time
		length int64
	} // at the tape
}

// Follower returns the one that drains t.
func (t *Tape) Follower() *Follower {
	f := &Follower{tape: t, open: store.Open}
	f.look.time = t.began
	return f
}

// Run follows the tape until ctx ends, whatever happens to the database: a
// failed open or commit is tried again, for ever. It is called on a thread of
// low priority, and not again; what it leaves Complete takes in.
func (f *Follower) Run(ctx context.Context) {
	if f.tape.file == nil {
		return
	}
	f.tried = time.Now()
	for f.pause(ctx, firstLook) {
		if err := f.turn(ctx); err != nil {
			f.err = err
			if !f.pause(ctx, commitEvery/2+rand.N(commitEvery)) {
				return
			}
		}
	}
}

// turn brings the database up to the tape and waits until there is more.
func (f *Follower) turn(until context.Context) error {
	ctx := context.WithoutCancel(until) // a commit at work is not worth breaking off
	if err := f.ready(ctx); err != nil {
		return err
	}
	last := time.Now()
	for {
		flooded, next := f.flooded(), last.Add(commitEvery)
		if flooded {
			next = time.Now().Add(commitEvery / 20) // so that who follows it live sees something
		}
		err := f.step(next)
		if err != nil && !errors.Is(err, io.EOF) {
			f.Close() // a record may be half taken: resume from the last commit
			return err
		}
		if err == nil || time.Since(last) >= commitEvery {
			if err := f.commit(ctx); err != nil {
				return err
			}
			last = time.Now()
		}
		switch {
		case until.Err() != nil:
			return nil
		case err == nil && !f.adopted && time.Since(f.tried) >= adoptAtLatest:
			f.adopt(until)
		case err == nil && flooded:
			f.giveWay(until)
			last = time.Now()
		case err == nil:
		case f.drain.dirty:
			f.pause(until, time.Until(last.Add(commitEvery)))
		default:
			if !f.adopt(until) && !f.await(until) {
				return errReplaced
			}
			last = time.Now()
		}
	}
}

// flooded reports whether the tape grew by a flood since the last call.
func (f *Follower) flooded() bool {
	was := f.look
	f.look.time, f.look.length = time.Now(), f.tape.length.Load()
	return f.look.length-was.length > int64(f.look.time.Sub(was.time).Seconds()*flood)
}

// giveWay leaves the processor to a flood until it ends, for a second at most.
// What a drain takes in of a flood is little, and the stream pays for it: on two
// cores, frames of 2 KB pass at 0.7 of their speed when the drain goes on.
func (f *Follower) giveWay(ctx context.Context) {
	const look = 10 * time.Millisecond
	for range time.Second / look {
		if f.flooded(); !f.pause(ctx, look) || !f.flooded() {
			return
		}
	}
}

// The tapes of dead recorders are taken over when there is nothing else to do,
// but at the latest adoptAtLatest after that was last worked on: a recorder that
// never keeps up with its agent does it too. One go is adoptSlice long, for the
// session at hand waits, and its tape grows.
const (
	adoptAtLatest = time.Minute
	adoptSlice    = time.Second
)

// adopt takes over tapes of dead recorders for adoptSlice, and reports whether
// some are left. Those that cannot be taken over are not ours to report: the
// next command tries again.
func (f *Follower) adopt(until context.Context) (more bool) {
	if f.adopted {
		return false
	}
	ctx, cancel := context.WithTimeout(until, adoptSlice)
	defer cancel()
	_ = takeOver(ctx, f.db, f.tape.db)
	if f.adopted, f.tried = ctx.Err() == nil, time.Now(); f.adopted {
		sweep(f.tape.db)
		sweepKeys()
	}
	return !f.adopted
}

// await sleeps until the tape grows and reports whether the database file is
// still the one that was opened.
func (f *Follower) await(ctx context.Context) bool {
	t := f.tape
	t.idle.Store(true)
	if t.length.Load() > f.drain.reader.next && t.idle.CompareAndSwap(true, false) {
		return true
	}
	look := time.NewTicker(time.Second)
	defer look.Stop()
	for {
		select {
		case <-t.wake:
			return true
		case <-ctx.Done():
			return true
		case <-look.C:
			if !sameFile(f.info, t.db) && t.idle.CompareAndSwap(true, false) {
				return false
			}
		}
	}
}

// errReplaced is why the tape goes into another file from now on.
var errReplaced = errors.New("the database was deleted or replaced")

// step takes records; a tape that cannot be read on is reported once and then
// counts as drained.
func (f *Follower) step(until time.Time) error {
	if f.torn != nil {
		return io.EOF
	}
	err := f.drain.step(f.tape.length.Load(), until)
	if errors.Is(err, errTorn) {
		f.torn = err
		return io.EOF
	}
	return err
}

// ready opens the database and begins the session, or does so again when the
// file was deleted or replaced: the tape still holds the whole session.
func (f *Follower) ready(ctx context.Context) error {
	if f.drain != nil && sameFile(f.info, f.tape.db) {
		return nil
	}
	f.Close()
	db, err := f.open(ctx, f.tape.db)
	if err != nil {
		return err
	}
	f.db = db
	if f.info, err = os.Stat(f.tape.db); err != nil {
		return err
	}
	f.torn = nil
	f.tape.drained.Store(0)
	secret, err := db.Secret(ctx)
	if err != nil {
		return err
	}
	numberEarlier(ctx, db, secret, f.tape.db, f.tape.id)
	d, err := newDrain(ctx, db, secret, newReader(f.tape.file, f.tape.aead), f.tape.length.Load(), 0)
	if err != nil {
		return err
	}
	if f.punched > 0 && d.at.Offset < f.punched {
		d.skipTo(f.last) // the database that had it was deleted
	}
	d.spare = min(d.spare, f.tape.limit.Load()/4)
	f.drain = d
	return nil
}

func (f *Follower) commit(ctx context.Context) error {
	if !sameFile(f.info, f.tape.db) {
		return errReplaced
	}
	if err := f.drain.commit(ctx); err != nil {
		if f.failed++; f.failed >= mostFailures {
			f.Close() // more than a busy database: begin anew at the last commit
		}
		return err
	}
	f.err, f.failed = nil, 0
	f.last = f.drain.checkpoint()
	f.tape.drained.Store(f.last.Anchor.Offset)
	f.reclaim()
	return nil
}

// reclaim gives the part of the tape that no drain reads again back to the file
// system, but for its start: a session may be longer than the disk.
func (f *Follower) reclaim() {
	const block = 1 << 20
	from, to := max(f.punched, f.drain.first+block-1)/block*block, f.last.Anchor.Offset/block*block
	if to-from >= reclaimEvery && punch(f.tape.file, from, to) {
		f.punched = to
	}
}

// ErrBehind is a tape that could not be taken in whole in the time given. It
// stays, and the next command that opens the database takes it in.
var ErrBehind = errors.New("the session stays on its tape")

// Complete takes in the rest and closes the session, trying until ctx ends;
// then the tape is removed. On error the tape stays. The error is ErrBehind
// when there was too much to do or others held the database, else it says what
// is wrong with it.
func (f *Follower) Complete(ctx context.Context, e End) error {
	if f.tape.file == nil {
		return nil
	}
	for {
		if f.err = f.complete(ctx, e); f.err == nil {
			f.tape.remove()
			return nil
		}
		if f.err == ErrBehind {
			return f.err
		}
		select {
		case <-ctx.Done():
			if store.Busy(f.err) {
				return ErrBehind
			}
			return f.err
		case <-time.After(20*time.Millisecond + rand.N(50*time.Millisecond)):
		}
	}
}

func (f *Follower) complete(deadline context.Context, e End) error {
	ctx := context.WithoutCancel(deadline)
	if err := f.ready(ctx); errors.Is(err, store.ErrEnded) {
		return nil // an earlier try got further than it knew
	} else if err != nil {
		return err
	}
	for {
		if deadline.Err() != nil {
			return ErrBehind
		}
		err := f.step(time.Now().Add(commitEvery))
		if err != nil && !errors.Is(err, io.EOF) {
			f.Close()
			return err
		}
		if err != nil {
			break
		}
		if err := f.commit(ctx); err != nil {
			return err
		}
	}
	cut := ""
	if f.torn != nil {
		cut = "the tape was damaged"
	}
	if err := f.drain.close(ctx, &e, cut); err != nil {
		if !store.Busy(err) {
			f.Close() // it may have got further than it knows
		}
		return err
	}
	if !sameFile(f.info, f.tape.db) {
		return errReplaced
	}
	return nil
}

// Close releases the database. It may be called again.
func (f *Follower) Close() {
	if f.db != nil {
		f.db.Close()
	}
	f.db, f.drain, f.failed = nil, nil, 0
}

// pause waits and reports whether ctx is still alive.
func (f *Follower) pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
