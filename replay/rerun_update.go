package replay

import (
	"context"
	"fmt"
	"io"

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
	if len(secret) > 0 {
		s, err := r.copyInto(ctx, r.file)
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("%s, as session %d", r.file, s.ID), nil
	}
	from, now, err := r.recorded(ctx)
	if err != nil {
		return "", err
	}
	defer from.Close()
	temp, err := store.OpenTemp(ctx)
	if err != nil {
		return "", err
	}
	defer temp.Close()
	if now, err = rewrite(ctx, temp, now, nil, r.session.UID, r.session.Parent); err != nil {
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
