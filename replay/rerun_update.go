package replay

import (
	"context"
	"errors"
	"fmt"
	"io"

	"agentrec/internal/dialect"
	"agentrec/internal/llm"
	"agentrec/internal/tape"
	"agentrec/store"
)

// recorded opens what was recorded of the rerun. The caller closes it.
func (r *rerun) recorded(ctx context.Context) (*store.DB, *store.Session, error) {
	db, err := tape.Open(ctx, r.database())
	if err != nil {
		return nil, nil, err
	}
	s, err := db.Find(ctx, r.uid)
	if err != nil {
		db.Close()
		return nil, nil, err
	}
	return db, s, nil
}

// update puts the rerun in the place of its recording: in a text file, or as
// a session more of the database, which names the one it follows.
func (r *rerun) update(ctx context.Context) (string, error) {
	secret, err := r.db.Secret(ctx)
	if err != nil {
		return "", err
	}
	from, now, err := r.recorded(ctx)
	if err != nil {
		return "", err
	}
	defer from.Close()
	now, change, err := r.asRecorded(ctx, now)
	if err != nil {
		return "", err
	}
	if len(secret) > 0 {
		db, err := store.Open(ctx, r.file)
		if err != nil {
			return "", err
		}
		s, err := rewrite(ctx, db, now, change, now.UID, now.Parent)
		if err = errors.Join(err, db.Close()); err != nil {
			return "", err
		}
		return fmt.Sprintf("%s, as session %d", r.file, s.ID), nil
	}
	temp, err := store.OpenTemp(ctx)
	if err != nil {
		return "", err
	}
	defer temp.Close()
	if now, err = rewrite(ctx, temp, now, change, r.session.UID, r.session.Parent); err != nil {
		return "", err
	}
	if r.o.Onto != nil {
		other, err := store.OpenTemp(ctx)
		if err != nil {
			return "", err
		}
		defer other.Close()
		if now, err = r.o.Onto(ctx, other, now, r.session); err != nil {
			return "", err
		}
	}
	sessions, err := r.db.Sessions(ctx)
	if err != nil {
		return "", err
	}
	return r.file, replaceFile(r.file, 0o600, func(w io.Writer) error {
		for _, s := range sessions {
			if s.ID == r.session.ID {
				s = now
			}
			if err := store.WriteText(ctx, w, s); err != nil {
				return err
			}
		}
		return nil
	})
}

// asRecorded returns a rerun as it would stand had it run in the folders of its
// recording, and what of its content changes by that: a temporary directory is
// gone by now, and another one each time. A directory that was asked for stays.
func (r *rerun) asRecorded(ctx context.Context, now *store.Session) (*store.Session, changed, error) {
	if r.o.Dir != "" || !isFolder(r.session.Cwd) {
		return now, changed{}, nil
	}
	var pairs []textPair
	var paths []llm.PathPair
	for _, b := range surroundings(r.session, r.dir) {
		pairs = append(pairs, textPair{recorded: b.live, live: b.recorded, path: true, known: true})
		paths = append(paths, llm.PathPair{Recorded: b.live, Live: b.recorded})
	}
	pairs = longestFirst(pairs)
	change := changed{frames: map[int64][]byte{}, exchange: func(x *store.Exchange) { llm.Relocate(x, paths) }}
	for f, err := range now.Frames(ctx, 1, 0) {
		if err != nil {
			return nil, change, err
		}
		edits := texts(pairs, string(f.Raw))
		if dialect.Valid(f.Raw) {
			edits = literals(pairs, f.Raw, nil)
		}
		if len(edits) > 0 {
			change.frames[f.Seq] = apply(f.Raw, edits)
		}
	}
	own := *now
	own.Cwd, own.Folders = r.session.Cwd, r.session.Folders
	return &own, change, nil
}
