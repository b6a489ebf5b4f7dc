package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
)

// Copy copies whole sessions, also of other databases, into db, all of them or
// none, and returns the copies. They keep their UIDs: one that db holds already
// is ErrExists. A session that is being recorded is copied as far as it is
// committed, as cut.
func (db *DB) Copy(ctx context.Context, sessions ...*Session) ([]*Session, error) {
	if db.write == nil {
		return nil, fmt.Errorf("copying sessions: %s is open for reading only", db.path)
	}
	var copies []*Session
	err := db.durably(ctx, func() error {
		return db.change(ctx, func(tx *sql.Tx) error {
			copies = nil
			for _, s := range sessions {
				id, err := copySession(ctx, tx, s)
				if err != nil {
					return fmt.Errorf("session %s: %w", s.UID, err)
				}
				list, err := db.loadSessions(ctx, tx, "WHERE s.id = ?", id)
				if err != nil {
					return err
				}
				copies = append(copies, list...)
			}
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("copying sessions into %s: %w", db.path, err)
	}
	return copies, nil
}

// table says which rows of a table belong to a session.
type table struct {
	name    string
	columns []string // all, in any order; that of the session, or its row id, first
	packed  bool     // the first is a row id made of the session's number and a seq
	since   int      // the schema version that brought it
}

// tables are all that hold what belongs to a session, besides its own row.
var tables = []table{
	{"chunk", []string{"id", "last", "size", "chains", "columns", "payload"}, true, 1},
	{"frame", []string{"id", "kind", "time", "size", "raw"}, true, 1},
	{"event", []string{"session", "n", "after", "time", "kind", "stream", "signal", "exit_code", "exit_signal", "bytes", "detail"}, false, 1},
	{"giant", []string{"session", "n", "stream", "seq", "size", "parts", "state"}, false, 1},
	{"part", []string{"session", "giant", "n", "size", "data"}, false, 1},
	{"exchange", exchangeColumns, true, exchangeVersion},
	{"body", []string{"session", "exchange", "side", "n", "size", "data"}, false, exchangeVersion},
	{"tag", []string{"session", "key", "value"}, false, 1},
	{"folder", []string{"session", "name", "path"}, false, folderVersion},
}

// where is the condition for the rows of a session, and its arguments.
func (t table) where(session int64) (string, []any) {
	if t.packed {
		return t.columns[0] + " BETWEEN ? AND ?", []any{session << seqBits, session<<seqBits | maxSeq}
	}
	return "session = ?", []any{session}
}

// insert is the statement that adds a row with the columns in their order.
func insert(table string, columns []string) string {
	return "INSERT INTO " + table + " (" + strings.Join(columns, ", ") + ") VALUES (?" + strings.Repeat(", ?", len(columns)-1) + ")"
}

// kept are the columns of a session's row that a copy keeps.
var kept = []string{
	"uid", "name", "started", "host", "cwd", "argv", "version", "dialect", "parent", "unredacted", "edited", "state", "reason",
	"ended", "exit_code", "exit_signal", "last_seq", "chains", "original", "wire_in", "wire_out", "wire_err",
}

// copySession copies s into the database of tx and returns its number there.
func copySession(ctx context.Context, tx *sql.Tx, s *Session) (id int64, err error) {
	var taken int
	if err := tx.QueryRowContext(ctx, "SELECT count(*) FROM session WHERE uid = ?", s.UID).Scan(&taken); err != nil {
		return 0, err
	}
	if taken > 0 {
		return 0, ErrExists
	}
	// The read may be done again, and begins again then.
	if _, err := tx.ExecContext(ctx, "SAVEPOINT copy"); err != nil {
		return 0, err
	}
	err = s.db.read(ctx, func(pool *pool) error {
		if _, err := tx.ExecContext(ctx, "ROLLBACK TO copy"); err != nil {
			return err
		}
		from, err := pool.BeginTx(ctx, nil) // one moment of the source
		if err != nil {
			return err
		}
		defer from.Rollback()
		id, err = copyRows(ctx, tx, from, s.ID)
		return err
	})
	if err != nil {
		return 0, err
	}
	_, err = tx.ExecContext(ctx, "RELEASE copy")
	return id, err
}

func copyRows(ctx context.Context, to, from *sql.Tx, session int64) (id int64, err error) {
	err = eachRow(ctx, from, "SELECT "+strings.Join(kept, ", ")+" FROM session WHERE id = ?", []any{session}, len(kept), func(row []any) error {
		r, err := to.ExecContext(ctx, insert("session", append([]string{"turn"}, kept...)), append([]any{0}, row...)...)
		if err != nil {
			return err
		}
		id, err = r.LastInsertId()
		return err
	})
	switch {
	case err != nil:
		return 0, err
	case id == 0:
		return 0, ErrNotFound
	case id > maxSession:
		return 0, errors.New("the database has used up its session numbers")
	}
	_, err = to.ExecContext(ctx, `UPDATE session SET state = 'cut', reason = 'it was still being recorded when it was copied'
		WHERE id = ? AND state = 'recording'`, id)
	if err != nil {
		return 0, err
	}
	return id, copyTables(ctx, to, from, session, id)
}

// copyTables copies the rows of a session as those of session id.
func copyTables(ctx context.Context, to, from *sql.Tx, session, id int64) error {
	have, err := version(ctx, from)
	if err != nil {
		return err
	}
	for _, t := range tables {
		if t.since > have {
			continue
		}
		put, err := to.PrepareContext(ctx, insert(t.name, t.columns))
		if err != nil {
			return err
		}
		cond, args := t.where(session)
		query := "SELECT " + strings.Join(t.columns, ", ") + " FROM " + t.name + " WHERE " + cond
		err = eachRow(ctx, from, query, args, len(t.columns), func(row []any) error {
			if n, ok := row[0].(int64); ok && t.packed {
				row[0] = n&maxSeq | id<<seqBits
			} else {
				row[0] = id
			}
			_, err := put.ExecContext(ctx, row...)
			return err
		})
		if err := errors.Join(err, put.Close()); err != nil {
			return fmt.Errorf("table %s: %w", t.name, err)
		}
	}
	return nil
}

// eachRow calls fn with the n values of each row that query finds.
func eachRow(ctx context.Context, q queryer, query string, args []any, n int, fn func(row []any) error) error {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	row, places := make([]any, n), make([]any, n)
	for i := range row {
		places[i] = &row[i]
	}
	for rows.Next() {
		if err := rows.Scan(places...); err != nil {
			return err
		}
		if err := fn(row); err != nil {
			return err
		}
	}
	return rows.Err()
}
