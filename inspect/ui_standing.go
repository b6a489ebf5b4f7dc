package inspect

import (
	"context"
	"sync"

	"agentrec/store"
)

// Causes reads a session as a replay does and returns what says of one of its
// frames what a replay waits for before it sends it: "" for a frame that it does
// not send. table is the dialect as --dialect names it.
type Causes func(ctx context.Context, s *store.Session, table string) (func(seq int64) string, error)

// script is a session as a replay reads it, made when it is asked for first.
type script struct {
	mu     sync.Mutex
	frames int64 // of the session that it was made of
	say    func(seq int64) string
}

// keptScript is up to how many frames the script of a session is kept: it takes
// memory for each.
const keptScript = 200_000

// causes returns what a replay waits for before it sends a frame.
func (su *sessionUI) causes(ctx context.Context, s *store.Session, seq int64) (string, error) {
	if su.u.causes == nil {
		return "", nil
	}
	k := &su.script
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.say == nil || k.frames < seq {
		say, err := su.u.causes(ctx, s, su.u.dialect)
		if err != nil {
			return "", err
		}
		if s.Count() > keptScript {
			return say(seq), nil
		}
		k.say, k.frames = say, s.Count()
	}
	return k.say(seq), nil
}

// showIDs shows where the frame stands, and looks for what only other frames
// tell.
func (d *detail) showIDs() {
	s := d.su.story
	d.pane.rows = hanging(idLines(s.look.Dialect, s.t, d.frame, d.standing))
	if d.standing != nil || d.looking == d.frame.Seq {
		return
	}
	d.looking = d.frame.Seq
	frame, session := d.frame, *s.look.Session
	d.su.u.workers.Go(func() {
		k := &standing{}
		k.firstSeen(s.ctx, &session, s.look.Dialect, frame)
		k.waits, k.err = d.su.causes(s.ctx, &session, frame.Seq)
		d.su.u.post(func() {
			if s.ctx.Err() != nil || d.frame.Seq != frame.Seq {
				return
			}
			if d.standing = k; d.mode == "ids" {
				d.showIDs()
			}
		})
	})
}
