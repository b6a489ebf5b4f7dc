package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// overlay is what a DB shows besides its own sessions.
type overlay struct {
	from  *DB
	marks map[string]string // reasons, by UID
}

// Overlay makes db show the sessions of from as its own: one with a UID that db
// has takes the place of that session, the others are added. What stands in the
// file is not changed. db closes from when it is closed. It is called once, before db is
// used by several goroutines.
func (db *DB) Overlay(from *DB) { db.over.from = from }

// Mark makes db take its open session uid for cut, for a reason that the file
// does not know. It is called before db is used by several goroutines.
func (db *DB) Mark(uid, reason string) {
	if db.over.marks == nil {
		db.over.marks = map[string]string{}
	}
	db.over.marks[uid] = reason
}

// laidOver returns own with the overlay applied, oldest first.
func (db *DB) laidOver(ctx context.Context, own []*Session) ([]*Session, error) {
	for _, s := range own {
		db.mark(s)
	}
	if db.over.from == nil {
		return own, nil
	}
	more, err := db.over.from.Sessions(ctx)
	if err != nil {
		return nil, err
	}
	for _, s := range more {
		if i := slices.IndexFunc(own, func(o *Session) bool { return o.UID == s.UID }); i >= 0 {
			own[i] = s
		} else {
			own = append(own, s)
		}
	}
	slices.SortStableFunc(own, func(a, b *Session) int { return int(a.ID - b.ID) })
	return own, nil
}

func (db *DB) mark(s *Session) {
	if reason, ok := db.over.marks[s.UID]; ok && s.State == Recording {
		s.State, s.Reason = Cut, reason
	}
}

// Unended returns the sessions that are being recorded by what the file says,
// oldest first.
func (db *DB) Unended(ctx context.Context) ([]*Session, error) {
	var list []*Session
	err := db.read(ctx, func(pool *pool) (err error) {
		list, err = db.loadSessions(ctx, pool, "WHERE s.state = ? ORDER BY s.id", Recording)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading the sessions of %s: %w", db.path, err)
	}
	return list, nil
}

// Empty reports whether err of an open says that there is no recording, but
// also nothing that stands in the way of one: no file, or a database without
// tables, as a recorder leaves it that died while it began.
func Empty(err error) bool { return errors.Is(err, errNew) || errors.Is(err, fs.ErrNotExist) }

// Busy reports whether err says that others hold the database.
func Busy(err error) bool { return isBusy(err) }

// As names the file that a temporary database stands for.
func (db *DB) As(path string) { db.path = path }

// CopyOpen copies a session that is being recorded, with its number and its
// writer's checkpoint, into db, where it can be resumed. db must not hold a
// session of that number.
func (db *DB) CopyOpen(ctx context.Context, s *Session) error {
	columns := append([]string{"id", "turn", "checkpoint"}, kept...)
	err := db.change(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "SAVEPOINT copy"); err != nil {
			return err
		}
		return s.db.read(ctx, func(pool *pool) error {
			if _, err := tx.ExecContext(ctx, "ROLLBACK TO copy"); err != nil {
				return err
			}
			from, err := pool.BeginTx(ctx, nil)
			if err != nil {
				return err
			}
			defer from.Rollback()
			query := "SELECT " + strings.Join(columns, ", ") + " FROM session WHERE id = ?"
			err = eachRow(ctx, from, query, []any{s.ID}, len(columns), func(row []any) error {
				_, err := tx.ExecContext(ctx, insert("session", columns), row...)
				return err
			})
			if err != nil {
				return err
			}
			return copyTables(ctx, tx, from, s.ID, s.ID)
		})
	})
	if err != nil {
		return fmt.Errorf("copying session %d of %s: %w", s.ID, s.db.path, err)
	}
	return nil
}
