package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"
)

// sessionColumns are what scanSession reads of table session AS s.
const sessionColumns = `s.id, s.uid, s.name, s.started, s.host, s.cwd, s.argv, s.version, s.dialect, s.parent,
	s.unredacted, s.edited, s.state, s.reason, s.ended, s.exit_code, s.exit_signal, s.chains, s.original,
	s.wire_in, s.wire_out, s.wire_err`

// loadSessions reads the sessions that the tail of the query chooses.
func (db *DB) loadSessions(ctx context.Context, q queryer, tail string, args ...any) ([]*Session, error) {
	rows, err := q.QueryContext(ctx, "SELECT "+sessionColumns+" FROM session AS s "+tail, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []*Session
	for rows.Next() {
		s := &Session{db: db, Tags: map[string]string{}, Folders: map[string]string{}}
		if err := scanSession(rows, s); err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	err = loadPairs(ctx, q, "SELECT session, key, value FROM tag", list, func(s *Session, k, v string) { s.Tags[k] = v })
	if err != nil {
		return nil, err
	}
	if have, err := version(ctx, q); err != nil || have < folderVersion {
		return list, err
	}
	return list, loadPairs(ctx, q, "SELECT session, name, path FROM folder", list, func(s *Session, k, v string) { s.Folders[k] = v })
}

// folderVersion is the schema version from which a database has folders.
const folderVersion = 3

// loadPairs reads what a query says of the sessions in list, two texts a row.
func loadPairs(ctx context.Context, q queryer, query string, list []*Session, set func(s *Session, k, v string)) error {
	var args []any
	switch len(list) {
	case 0:
		return nil
	case 1:
		query, args = query+" WHERE session = ?", []any{list[0].ID}
	}
	byID := make(map[int64]*Session, len(list))
	for _, s := range list {
		byID[s.ID] = s
	}
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		var k, v string
		if err := rows.Scan(&id, &k, &v); err != nil {
			return err
		}
		if s := byID[id]; s != nil {
			set(s, k, v)
		}
	}
	return rows.Err()
}

func scanSession(rows *sql.Rows, s *Session) error {
	var started, ended int64
	var argv string
	var chains, original []byte
	var code sql.NullInt64
	var signal sql.NullString
	err := rows.Scan(&s.ID, &s.UID, &s.Name, &started, &s.Host, &s.Cwd, &argv, &s.Version, &s.Dialect, &s.Parent,
		&s.Unredacted, &s.Edited, &s.State, &s.Reason, &ended, &code, &signal, &chains, &original,
		&s.Wire[In], &s.Wire[Out], &s.Wire[Err])
	if err != nil {
		return err
	}
	if s.ID < 1 || s.ID > maxSession {
		return fmt.Errorf("session number %d: %w", s.ID, errDamaged)
	}
	if s.Chains, s.exchangeChain, err = unpackProof(chains); err != nil {
		return fmt.Errorf("session %d: %w", s.ID, err)
	}
	s.Exchanged, s.ExchangedBytes = s.exchangeChain.Frames, s.exchangeChain.Bytes
	if original != nil {
		c, x, err := unpackProof(original)
		if err != nil {
			return fmt.Errorf("session %d: %w", s.ID, err)
		}
		s.Original, s.originalExchanges = &c, &x
	}
	if err := json.Unmarshal([]byte(argv), &s.Argv); err != nil {
		return fmt.Errorf("session %d: its argv: %w", s.ID, errDamaged)
	}
	s.Started = time.UnixMicro(started).UTC()
	s.Ended = micros(ended)
	s.Exit = exitOf(code, signal)
	return nil
}

// micros turns stored microseconds into a duration, clamped to its range.
func micros(us int64) time.Duration {
	return time.Duration(min(max(us, 0), math.MaxInt64/1000)) * time.Microsecond
}

func exitOf(code sql.NullInt64, signal sql.NullString) *Exit {
	if !code.Valid && !signal.Valid {
		return nil
	}
	return &Exit{Code: int(code.Int64), Signal: signal.String}
}

// exitValues is what the columns exit_code and exit_signal hold for e.
func exitValues(e *Exit) (code, signal any) {
	if e == nil {
		return nil, nil
	}
	if e.Signal != "" {
		signal = e.Signal
	}
	return e.Code, signal
}

func (db *DB) refresh(ctx context.Context, s *Session) error {
	var list []*Session
	err := db.read(ctx, func(pool *pool) (err error) {
		list, err = db.loadSessions(ctx, pool, "WHERE s.id = ?", s.ID)
		return err
	})
	if err != nil {
		return fmt.Errorf("reading session %d of %s: %w", s.ID, db.path, err)
	}
	if len(list) == 0 {
		return fmt.Errorf("reading session %d of %s: %w", s.ID, db.path, ErrNotFound)
	}
	*s = *list[0]
	db.mark(s)
	return nil
}

func (db *DB) events(ctx context.Context, id int64) ([]Event, error) {
	var list []Event
	err := db.read(ctx, func(pool *pool) error {
		list = nil
		rows, err := pool.QueryContext(ctx, `SELECT after, time, kind, stream, signal, exit_code, exit_signal, bytes, detail
			FROM event WHERE session = ? ORDER BY n`, id)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var e Event
			var at int64
			var code sql.NullInt64
			var signal sql.NullString
			if err := rows.Scan(&e.After, &at, &e.Kind, &e.Stream, &e.Signal, &code, &signal, &e.Bytes, &e.Detail); err != nil {
				return err
			}
			if e.Stream > Err {
				return errors.New("an event's stream is unknown")
			}
			e.Time, e.Exit = micros(at), exitOf(code, signal)
			list = append(list, e)
		}
		return rows.Err()
	})
	if err != nil {
		return nil, fmt.Errorf("reading the events of session %d: %w", id, err)
	}
	return list, nil
}
