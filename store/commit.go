package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// ErrEnded is returned by Resume for a session that was closed or cut.
var ErrEnded = errors.New("the session has ended")

var errTaken = errors.New("another writer changed the session, or it was deleted")

// Begin starts a new session and commits its row. ErrExists when there is one
// with its UID.
func (db *DB) Begin(ctx context.Context, s Start) (*Writer, error) {
	if db.write == nil {
		return nil, fmt.Errorf("beginning a session: %s is open for reading only", db.path)
	}
	if s.UID == "" {
		s.UID = ulid.Make().String()
	}
	if s.Started.IsZero() {
		s.Started = time.Now()
	}
	if s.Argv == nil {
		s.Argv = []string{}
	}
	argv, err := json.Marshal(s.Argv)
	if err != nil {
		return nil, fmt.Errorf("beginning a session: %w", err)
	}
	w := &Writer{db: db, turn: 1, dialect: s.Dialect}
	err = db.change(ctx, func(tx *sql.Tx) error {
		r, err := tx.ExecContext(ctx, `INSERT INTO session (id, uid, name, started, host, cwd, argv, version, dialect, parent,
			unredacted, edited, state, reason, ended, last_seq, chains, wire_in, wire_out, wire_err, turn)
			VALUES (nullif(?, 0), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, '', 0, 0, ?, -1, -1, -1, 1)`,
			s.ID, s.UID, s.Name, s.Started.UnixMicro(), s.Host, s.Cwd, string(argv), s.Version, s.Dialect, s.Parent,
			s.Unredacted, s.Edited, Recording, packChains(w.chains))
		if err != nil {
			return err
		}
		if w.id, err = r.LastInsertId(); err != nil {
			return err
		}
		if w.id > maxSession {
			return errors.New("the database has used up its session numbers")
		}
		for k, v := range s.Tags {
			if _, err := tx.ExecContext(ctx, "INSERT INTO tag (session, key, value) VALUES (?, ?, ?)", w.id, k, v); err != nil {
				return err
			}
		}
		if err := insertFolders(ctx, tx, w.id, s.Folders); err != nil {
			return err
		}
		return w.load(ctx, tx)
	})
	var failed *sqlite.Error
	if errors.As(err, &failed) && failed.Code() == sqlite3.SQLITE_CONSTRAINT_UNIQUE {
		err = ErrExists
	}
	if err != nil {
		return nil, fmt.Errorf("beginning session %s in %s: %w", s.UID, db.path, err)
	}
	return w, nil
}

func insertFolders(ctx context.Context, tx *sql.Tx, session int64, folders map[string]string) error {
	for name, path := range folders {
		if _, err := tx.ExecContext(ctx, "INSERT INTO folder (session, name, path) VALUES (?, ?, ?)", session, name, path); err != nil {
			return err
		}
	}
	return nil
}

// load reads the session's row as it is now.
func (w *Writer) load(ctx context.Context, q queryer) error {
	list, err := w.db.loadSessions(ctx, q, "WHERE s.id = ?", w.id)
	if err != nil {
		return err
	}
	if len(list) != 1 {
		return errTaken
	}
	w.seen = list[0]
	return nil
}

// Resume goes on with the session uid that another writer left open, and
// returns the checkpoint of its last Commit. ErrNotFound when there is none,
// ErrEnded when it is not open any more. Two writers of one session do not mix:
// the Commit of the one that comes second fails.
func (db *DB) Resume(ctx context.Context, uid string) (*Writer, []byte, error) {
	if db.write == nil {
		return nil, nil, fmt.Errorf("resuming session %s: %s is open for reading only", uid, db.path)
	}
	w := &Writer{db: db}
	var checkpoint []byte
	err := db.change(ctx, func(tx *sql.Tx) error {
		err := tx.QueryRowContext(ctx, "SELECT id, last_seq, turn, checkpoint FROM session WHERE uid = ?", uid).
			Scan(&w.id, &w.seq, &w.turn, &checkpoint)
		if errors.Is(err, sql.ErrNoRows) {
			return ErrNotFound
		}
		if err != nil {
			return err
		}
		if err := w.load(ctx, tx); err != nil {
			return err
		}
		if w.seen.State != Recording {
			return ErrEnded
		}
		w.chains, w.until, w.dialect = w.seen.Chains, w.seen.Ended, w.seen.Dialect
		if err := tx.QueryRowContext(ctx, "SELECT coalesce(max(n), 0) FROM event WHERE session = ?", w.id).Scan(&w.lastEvent); err != nil {
			return err
		}
		if err := w.loadGiants(ctx, tx); err != nil {
			return err
		}
		if err := w.loadExchanges(ctx, tx); err != nil {
			return err
		}
		return w.loadOpen(ctx, tx)
	})
	if err != nil {
		return nil, nil, fmt.Errorf("resuming session %s of %s: %w", uid, db.path, err)
	}
	return w, checkpoint, nil
}

// loadOpen restores the open end.
func (w *Writer) loadOpen(ctx context.Context, q queryer) error {
	var packed int64
	err := q.QueryRowContext(ctx, "SELECT coalesce((SELECT last FROM chunk WHERE id BETWEEN ? AND ? ORDER BY id DESC LIMIT 1), 0)",
		w.id<<seqBits, w.id<<seqBits|maxSeq).Scan(&packed)
	if err != nil {
		return err
	}
	for at := packed + 1; at <= w.seq; {
		frames, err := openRows(ctx, q, w.id, at, w.seq, true)
		if err != nil {
			return err
		}
		if len(frames) == 0 || frames[0].Seq != at {
			return fmt.Errorf("frame %d is missing: %w", at, errDamaged)
		}
		for _, f := range frames {
			k := kindOf(f.Stream, f.Term)
			if f.Raw == nil {
				k |= giantBit
			}
			w.growing = w.growing || w.repeats(f.Stream, f.Raw)
			w.noteLong(f.Stream, f.Raw)
			w.open = append(w.open, meta{kind: k, size: f.Size, time: f.Time.Microseconds()})
			w.raw = append(w.raw, f.Raw...)
			at++
		}
	}
	w.stored = len(w.open)
	return nil
}

// change runs fn in one immediate transaction on the writing connection.
func (db *DB) change(ctx context.Context, fn func(tx *sql.Tx) error) error {
	tx, err := db.write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := fn(tx); err != nil {
		return err
	}
	return tx.Commit()
}

// Commit stores all that was added since the last one, together with the
// caller's checkpoint, in one transaction. On error nothing of it is stored, it
// stays pending, and Commit may be called again.
func (w *Writer) Commit(ctx context.Context, checkpoint []byte) error {
	err := w.commit(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "UPDATE session SET checkpoint = ? WHERE id = ?", checkpoint, w.id)
		return err
	})
	if err != nil {
		return fmt.Errorf("storing frames of session %d in %s: %w", w.id, w.db.path, err)
	}
	return nil
}

// Close commits what is pending and the session's end, durable against power
// loss when it returns. A giant that is open ends without a terminator. On
// error it may be called again.
func (w *Writer) Close(ctx context.Context, e End) error { return w.end(ctx, ending{End: e}) }

// ending is an End and what only a session from elsewhere has.
type ending struct {
	End
	edited   bool
	original *[Streams]Chain // the recorder's own chains

	originalExchanges Chain
}

func (w *Writer) end(ctx context.Context, e ending) error {
	w.until = max(w.until, e.Ended).Truncate(time.Microsecond)
	for stream, g := range w.giants {
		if g != nil {
			w.endParts(Stream(stream), w.until, None)
		}
	}
	w.seal()
	err := w.db.durably(ctx, func() error {
		return w.commit(ctx, func(tx *sql.Tx) error {
			code, signal := exitValues(e.Exit)
			var original any
			if e.original != nil {
				original = packProof(*e.original, e.originalExchanges)
			}
			_, err := tx.ExecContext(ctx, `UPDATE session SET state = ?, reason = ?, exit_code = ?, exit_signal = ?,
				wire_in = ?, wire_out = ?, wire_err = ?, edited = edited OR ?, original = ?, checkpoint = NULL WHERE id = ?`,
				e.State, e.Reason, code, signal, e.Wire[In], e.Wire[Out], e.Wire[Err], e.edited, original, w.id)
			return err
		})
	})
	if err != nil {
		return fmt.Errorf("closing session %d in %s: %w", w.id, w.db.path, err)
	}
	w.db.giveBack(ctx)
	// Move what the log holds into the database as far as readers allow without
	// waiting for them; a failure costs only space.
	w.db.write.ExecContext(ctx, "PRAGMA wal_checkpoint(PASSIVE)")
	return nil
}

// The open end of a session leaves at most two chunks' worth of free pages,
// which is more than many a session is long.
const (
	fewPages  = 16
	mostPages = 2 * chunkMost / pageSize
)

// giveBack takes pages that are free out of the file, when there are more than a
// few of them and nobody else writes. A failure costs only space.
func (db *DB) giveBack(ctx context.Context) {
	free := 0
	if err := db.write.QueryRowContext(ctx, "PRAGMA freelist_count").Scan(&free); err == nil && free >= fewPages {
		db.write.ExecContext(ctx, fmt.Sprintf("PRAGMA incremental_vacuum(%d)", mostPages))
	}
}

// durably runs fn, whose transactions are on disk when it returns. The pragma
// reaches the one writing connection.
func (db *DB) durably(ctx context.Context, fn func() error) error {
	var mode int
	if err := db.write.QueryRowContext(ctx, "PRAGMA synchronous").Scan(&mode); err != nil {
		return err
	}
	if _, err := db.write.ExecContext(ctx, "PRAGMA synchronous = FULL"); err != nil {
		return err
	}
	err := fn()
	_, back := db.write.ExecContext(context.WithoutCancel(ctx), fmt.Sprintf("PRAGMA synchronous = %d", mode))
	if err != nil {
		return err
	}
	return back
}

// commit stores what is pending and lets also change the session's row.
func (w *Writer) commit(ctx context.Context, also func(tx *sql.Tx) error) error {
	var now *Session
	err := w.db.change(ctx, func(tx *sql.Tx) error {
		r, err := tx.ExecContext(ctx, `UPDATE session SET turn = turn + 1, last_seq = ?, chains = ?, ended = ?, dialect = ?
			WHERE id = ? AND turn = ? AND state = 'recording'`,
			w.seq, packProof(w.chains, w.exchanges.chain()), w.until.Microseconds(), w.dialect, w.id, w.turn)
		if err != nil {
			return err
		}
		if n, err := r.RowsAffected(); err != nil || n != 1 {
			return errors.Join(err, errTaken)
		}
		if err := w.commitPacked(ctx, tx); err != nil {
			return err
		}
		if err := w.commitOpen(ctx, tx); err != nil {
			return err
		}
		if err := w.commitGiants(ctx, tx); err != nil {
			return err
		}
		if err := w.commitEvents(ctx, tx); err != nil {
			return err
		}
		if err := w.commitExchanges(ctx, tx); err != nil {
			return err
		}
		if err := also(tx); err != nil {
			return err
		}
		was := w.seen
		if err := w.load(ctx, tx); err != nil {
			return err
		}
		now, w.seen = w.seen, was
		return nil
	})
	if err != nil {
		return err
	}
	tell(ctx, int(now.Count()-w.seen.Count()))
	w.seen = now
	w.turn++
	w.packed, w.drop = nil, 0
	w.stored = len(w.open)
	w.lastEvent += int64(len(w.events))
	w.events = nil
	w.giantsCommitted()
	w.exchanges.committed()
	return nil
}

func (w *Writer) commitPacked(ctx context.Context, tx *sql.Tx) error {
	if w.drop > 0 {
		_, err := tx.ExecContext(ctx, "DELETE FROM frame WHERE id BETWEEN ? AND ?", w.id<<seqBits, w.id<<seqBits|w.drop)
		if err != nil {
			return err
		}
	}
	for _, c := range w.packed {
		_, err := tx.ExecContext(ctx, "INSERT INTO chunk (id, last, size, chains, columns, payload) VALUES (?, ?, ?, ?, ?, ?)",
			w.id<<seqBits|c.first, c.last, c.size, c.chains, c.columns, c.payload)
		if err != nil {
			return err
		}
	}
	return nil
}

// rowsPerInsert is how many frames one statement stores; more is no faster.
const rowsPerInsert = 50

func (w *Writer) commitOpen(ctx context.Context, tx *sql.Tx) error {
	at := 0
	for _, m := range w.open[:w.stored] {
		at += int(m.payload())
	}
	first := w.seq - int64(len(w.open)) + 1
	args := make([]any, 0, rowsPerInsert*5)
	for i := w.stored; i < len(w.open); {
		n := min(len(w.open)-i, rowsPerInsert)
		args = args[:0]
		for _, m := range w.open[i : i+n] {
			var raw any
			if !m.kind.giant() {
				end := at + int(m.size)
				raw = w.raw[at:end:end]
				at = end
			}
			args = append(args, w.id<<seqBits|(first+int64(i)), int64(m.kind), m.time, m.size, raw)
			i++
		}
		query := "INSERT INTO frame (id, kind, time, size, raw) VALUES (?, ?, ?, ?, ?)" + strings.Repeat(", (?, ?, ?, ?, ?)", n-1)
		if _, err := tx.ExecContext(ctx, query, args...); err != nil {
			return err
		}
	}
	return nil
}

func (w *Writer) commitEvents(ctx context.Context, tx *sql.Tx) error {
	for i, e := range w.events {
		code, signal := exitValues(e.Exit)
		_, err := tx.ExecContext(ctx, `INSERT INTO event (session, n, after, time, kind, stream, signal, exit_code, exit_signal, bytes, detail)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			w.id, w.lastEvent+int64(i)+1, e.After, e.Time.Microseconds(), e.Kind, e.Stream, e.Signal, code, signal, e.Bytes, e.Detail)
		if err != nil {
			return err
		}
	}
	return nil
}
