package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"
)

// ErrRecording is returned for what cannot be done to a session while it is
// being recorded.
var ErrRecording = errors.New("it is still being recorded")

// alter runs fn in a transaction that finds s there, and reads s again.
func (db *DB) alter(ctx context.Context, s *Session, what string, fn func(tx *sql.Tx) error) error {
	err := db.writable()
	if err == nil {
		err = db.change(ctx, func(tx *sql.Tx) error {
			if err := fn(tx); err != nil {
				return err
			}
			list, err := db.loadSessions(ctx, tx, "WHERE s.id = ? AND s.uid = ?", s.ID, s.UID)
			if err == nil && len(list) == 0 {
				err = ErrNotFound
			}
			if err == nil {
				*s = *list[0]
			}
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("%s session %d of %s: %w", what, s.ID, db.path, err)
	}
	return nil
}

func (db *DB) writable() error {
	if db.write == nil {
		return errors.New("it is open for reading only")
	}
	return nil
}

// Rename gives the session another name; "" takes its name away.
func (db *DB) Rename(ctx context.Context, s *Session, name string) error {
	return db.alter(ctx, s, "renaming", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "UPDATE session SET name = ? WHERE id = ?", name, s.ID)
		return err
	})
}

// SetUnredacted notes that the session's secrets were meant to stay in it.
func (db *DB) SetUnredacted(ctx context.Context, s *Session) error {
	return db.alter(ctx, s, "marking", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "UPDATE session SET unredacted = 1 WHERE id = ?", s.ID)
		return err
	})
}

// SetTag sets one of the session's tags.
func (db *DB) SetTag(ctx context.Context, s *Session, key, value string) error {
	return db.alter(ctx, s, "tagging", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO tag (session, key, value) SELECT id, ?, ? FROM session WHERE id = ?
			ON CONFLICT (session, key) DO UPDATE SET value = excluded.value`, key, value, s.ID)
		return err
	})
}

// Untag takes one of the session's tags away; it need not be there.
func (db *DB) Untag(ctx context.Context, s *Session, key string) error {
	return db.alter(ctx, s, "untagging", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "DELETE FROM tag WHERE session = ? AND key = ?", s.ID, key)
		return err
	})
}

// Delete deletes sessions, all of them or none. One that is being recorded is
// ErrRecording. The file keeps its size and maybe the bytes; Compact makes it
// smaller, Scrub makes sure.
func (db *DB) Delete(ctx context.Context, sessions ...*Session) error {
	for _, s := range sessions {
		if s.db != db {
			return fmt.Errorf("deleting session %d: it is not one of %s", s.ID, db.path)
		}
	}
	err := db.writable()
	if err == nil {
		err = db.change(ctx, func(tx *sql.Tx) error {
			for _, s := range sessions {
				if err := deleteSession(ctx, tx, s); err != nil {
					return fmt.Errorf("session %d: %w", s.ID, err)
				}
			}
			return nil
		})
	}
	if err != nil {
		return fmt.Errorf("deleting from %s: %w", db.path, err)
	}
	return nil
}

func deleteSession(ctx context.Context, tx *sql.Tx, s *Session) error {
	if err := settled(ctx, tx, s); err != nil {
		return err
	}
	if err := deleteRows(ctx, tx, s.ID, tables); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, "DELETE FROM session WHERE id = ?", s.ID)
	return err
}

// settled sees that s is there and not being recorded.
func settled(ctx context.Context, tx *sql.Tx, s *Session) error {
	var state State
	err := tx.QueryRowContext(ctx, "SELECT state FROM session WHERE id = ? AND uid = ?", s.ID, s.UID).Scan(&state)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return ErrNotFound
	case err != nil:
		return err
	case state == Recording && s.db.over.marks[s.UID] == "":
		return ErrRecording
	}
	return nil
}

// deleteRows deletes the session's rows from the tables in list.
func deleteRows(ctx context.Context, tx *sql.Tx, session int64, list []table) error {
	for _, t := range list {
		cond, args := t.where(session)
		if _, err := tx.ExecContext(ctx, "DELETE FROM "+t.name+" WHERE "+cond, args...); err != nil {
			return err
		}
	}
	return nil
}

// Prunable returns which of the sessions of list, oldest first, may go when the
// newest keep of them and all that began at or after since are to stay. What is
// being recorded stays.
func Prunable(list []*Session, keep int, since time.Time) []*Session {
	var old []*Session
	for i, s := range list {
		if s.State != Recording && i < len(list)-keep && s.Started.Before(since) {
			old = append(old, s)
		}
	}
	return slices.Clip(old)
}

// Compact gives the space of what was deleted back to the file system.
func (db *DB) Compact(ctx context.Context) error {
	err := db.writable()
	if err == nil {
		_, err = db.write.ExecContext(ctx, "VACUUM")
	}
	if err != nil {
		return fmt.Errorf("compacting %s: %w", db.path, err)
	}
	return nil
}

// Scrub makes sure that no byte of what was deleted or replaced is left in the
// database or its log: it writes the database anew and empties the log. It
// fails while another program is reading.
func (db *DB) Scrub(ctx context.Context) error {
	err := db.writable()
	if err == nil {
		err = db.scrub(ctx)
	}
	if err != nil {
		return fmt.Errorf("removing old bytes from %s: %w", db.path, err)
	}
	return nil
}

func (db *DB) scrub(ctx context.Context) error {
	for _, stmt := range []string{"PRAGMA secure_delete = ON", "VACUUM"} {
		if _, err := db.write.ExecContext(ctx, stmt); err != nil {
			return err
		}
	}
	var busy, inLog, moved int
	if err := db.write.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &inLog, &moved); err != nil {
		return err
	}
	if busy != 0 || inLog > 0 {
		return errors.New("another program is using the database, so they still stand in its log; try again when it is done")
	}
	return nil
}
