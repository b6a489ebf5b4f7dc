package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"agentrec/internal/dialect"
	"agentrec/internal/redact"
	"agentrec/store"
)

// update rewrites the recording with the client's new frames: a text file in
// place; in a database the session gets a successor that names it. Frames of the
// agent stay as they are, ids too.
func (p *player) update() (string, error) {
	secret, err := p.db.Secret(p.data)
	if err != nil {
		return "", err
	}
	r, err := redact.New(redact.Options{Key: secret, Environ: os.Environ()})
	if err != nil {
		return "", err
	}
	r.SetDialect(p.e.s.dialect)
	frames := map[int64][]byte{}
	for i, live := range p.e.changed {
		frames[int64(p.e.s.items[i].seq)] = r.Frame(store.In, p.e.asRecorded(i, live))
	}
	if len(secret) == 0 { // a text file
		temp, err := store.OpenTemp(p.data)
		if err != nil {
			return "", err
		}
		defer temp.Close()
		s, err := rewrite(p.data, temp, p.session, changed{frames: frames}, p.session.UID, p.session.Parent)
		if err != nil {
			return "", err
		}
		sessions, err := p.db.Sessions(p.data)
		if err != nil {
			return "", err
		}
		return p.o.File, replaceFile(p.o.File, 0o600, func(w io.Writer) error {
			for _, old := range sessions {
				if old.ID == p.session.ID {
					old = s
				}
				if err := store.WriteText(p.data, w, old); err != nil {
					return err
				}
			}
			return nil
		})
	}
	db, err := store.Open(p.data, p.o.File)
	if err != nil {
		return "", err
	}
	s, err := rewrite(p.data, db, p.session, changed{frames: frames}, "", p.session.UID)
	if err = errors.Join(err, db.Close()); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s, as session %d", p.o.File, s.ID), nil
}

// asRecorded returns a live frame with the recorded ids and values in its slots.
func (e *engine) asRecorded(i int32, live []byte) []byte {
	recorded := e.fetch(i)
	var edits []edit
	liveSlots := e.s.dialect.Slots(store.In, live)
	used := map[int]bool{}
	for _, slot := range e.s.dialect.Slots(store.In, recorded) {
		for n, other := range liveSlots {
			if !used[n] && sameSlot(slot, other) {
				used[n] = true
				edits = append(edits, edit{other.Start, other.End, string(recorded[slot.Start:slot.End])})
				break
			}
		}
	}
	return apply(live, sorted(edits))
}

func sameSlot(a, b dialect.Slot) bool {
	return a.Namespace == b.Namespace && a.Mints == b.Mints && a.Ref == b.Ref
}

// How many bytes of frames are added before a commit.
const commitEvery = 4 << 20

// changed is what a copy of a session says otherwise.
type changed struct {
	frames   map[int64][]byte      // by seq
	exchange func(*store.Exchange) // changes each; nil changes none
}

// rewrite copies a session into db with some of it changed.
func rewrite(ctx context.Context, db *store.DB, s *store.Session, change changed, uid, parent string) (*store.Session, error) {
	w, err := db.Begin(ctx, store.Start{
		UID: uid, Name: s.Name, Tags: s.Tags, Started: s.Started, Host: s.Host, Cwd: s.Cwd, Folders: s.Folders, Argv: s.Argv,
		Version: s.Version, Dialect: s.Dialect, Unredacted: s.Unredacted, Edited: s.Edited, Parent: parent,
	})
	if err != nil {
		return nil, err
	}
	events, err := s.Events(ctx)
	if err != nil {
		return nil, err
	}
	end := store.End{State: s.State, Reason: s.Reason, Ended: s.Ended, Exit: s.Exit, Wire: s.Wire}
	end.Wire[store.In] = -1 // no longer what a pump has counted
	size := 0
	for f, err := range s.Frames(ctx, 1, 0) {
		if err != nil {
			return nil, err
		}
		for len(events) > 0 && events[0].After < f.Seq {
			w.Event(events[0])
			events = events[1:]
		}
		if other, ok := change.frames[f.Seq]; ok {
			f.Raw, f.Size = other, int64(len(other))
			end.Wire[f.Stream] = -1
		}
		if f.Raw == nil && f.Size > 0 {
			err = copyGiant(ctx, w, s, f)
		} else {
			w.Frame(f.Stream, f.Time, f.Raw, f.Term)
		}
		if size += len(f.Raw) + 64; err == nil && size > commitEvery {
			size, err = 0, w.Commit(ctx, nil)
		}
		if err != nil {
			return nil, err
		}
	}
	for _, e := range events {
		w.Event(e)
	}
	for x, err := range s.Exchanges(ctx) {
		if err != nil {
			return nil, err
		}
		if change.exchange != nil {
			change.exchange(&x)
		}
		w.Exchange(x)
	}
	if err := w.Commit(ctx, nil); err != nil {
		return nil, err
	}
	if err := w.Close(ctx, end); err != nil {
		return nil, err
	}
	return w.Session(), nil
}

func copyGiant(ctx context.Context, w *store.Writer, s *store.Session, f store.Frame) error {
	r, err := s.Reader(ctx, f.Seq)
	if err != nil {
		return err
	}
	defer r.Close()
	buf := make([]byte, 1<<20)
	for {
		n, err := r.Read(buf)
		if n > 0 {
			if err := w.Part(f.Stream, buf[:n]); err != nil {
				return err
			}
		}
		if err == io.EOF {
			_, err := w.EndParts(f.Stream, f.Time, f.Term)
			return err
		}
		if err != nil {
			return err
		}
	}
}
