package store

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"hash"
	"io"
	"time"
)

// giant is a frame that comes in parts, while a writer has to do with it.
type giant struct {
	n      int64 // its number among the session's giants
	stream Stream
	seq    int64 // 0 until it ends
	size   int64
	hash   hash.Hash
	tail   []byte // not in a part yet
	parts  int64  // made so far
	fresh  []part // of these, the ones not committed
}

type part struct {
	n, size int64
	data    []byte
}

// Part adds bytes to the giant frame that is open on stream, opening one if
// there is none. A giant gets its seq when it ends. data is copied. What is
// added stays in memory, compressed, until Commit.
func (w *Writer) Part(stream Stream, data []byte) error {
	if stream > Err {
		return fmt.Errorf("adding to a giant frame: there is no stream %d", stream)
	}
	w.part(stream, data)
	return nil
}

func (w *Writer) part(stream Stream, data []byte) {
	g := w.giants[stream]
	if g == nil {
		w.lastGiant++
		g = &giant{n: w.lastGiant, stream: stream, hash: w.chains[stream].begin()}
		w.giants[stream] = g
	}
	g.hash.Write(data)
	g.size += int64(len(data))
	for len(data) > 0 {
		n := min(len(data), partRaw-len(g.tail))
		g.tail = append(g.tail, data[:n]...)
		data = data[n:]
		if len(g.tail) == partRaw {
			w.cutPart(g)
		}
	}
}

// cutPart makes a part of the giant's tail.
func (w *Writer) cutPart(g *giant) {
	if len(g.tail) == 0 {
		return
	}
	g.fresh = append(g.fresh, part{n: g.parts, size: int64(len(g.tail)), data: w.db.packer.pack(nil, g.tail)})
	g.parts++
	g.tail = g.tail[:0]
}

// EndParts ends the giant frame open on stream and returns its seq.
func (w *Writer) EndParts(stream Stream, t time.Duration, term Terminator) (int64, error) {
	if stream > Err || w.giants[stream] == nil {
		return 0, fmt.Errorf("ending a giant frame: none is open on %s", stream)
	}
	return w.endParts(stream, t, term), nil
}

func (w *Writer) endParts(stream Stream, t time.Duration, term Terminator) int64 {
	g := w.giants[stream]
	w.cutPart(g)
	finish(g.hash, &w.chains[stream], g.size, term)
	w.giants[stream] = nil
	g.seq = w.add(meta{kind: kindOf(stream, term) | giantBit, size: g.size, time: w.stamp(t)}, nil)
	w.ended = append(w.ended, g)
	return g.seq
}

// commitGiants stores the new parts of all giants, open and ended.
func (w *Writer) commitGiants(ctx context.Context, tx *sql.Tx) error {
	for _, g := range w.giants {
		if g != nil {
			w.cutPart(g)
			if err := w.commitGiant(ctx, tx, g); err != nil {
				return err
			}
		}
	}
	for _, g := range w.ended {
		if err := w.commitGiant(ctx, tx, g); err != nil {
			return err
		}
	}
	return nil
}

func (w *Writer) commitGiant(ctx context.Context, tx *sql.Tx, g *giant) error {
	var seq, state any
	if g.seq != 0 {
		seq = g.seq
	} else {
		state = saveHash(g.hash)
	}
	_, err := tx.ExecContext(ctx, `INSERT INTO giant (session, n, stream, seq, size, parts, state) VALUES (?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (session, n) DO UPDATE SET seq = excluded.seq, size = excluded.size, parts = excluded.parts, state = excluded.state`,
		w.id, g.n, g.stream, seq, g.size, g.parts, state)
	if err != nil {
		return err
	}
	for _, p := range g.fresh {
		_, err := tx.ExecContext(ctx, "INSERT INTO part (session, giant, n, size, data) VALUES (?, ?, ?, ?, ?)",
			w.id, g.n, p.n, p.size, p.data)
		if err != nil {
			return err
		}
	}
	return nil
}

// giantsCommitted forgets what a commit has stored.
func (w *Writer) giantsCommitted() {
	for _, g := range w.giants {
		if g != nil {
			g.fresh = nil
		}
	}
	w.ended = nil
}

// loadGiants restores the giants that a former writer left open.
func (w *Writer) loadGiants(ctx context.Context, q queryer) error {
	err := q.QueryRowContext(ctx, "SELECT coalesce(max(n), 0) FROM giant WHERE session = ?", w.id).Scan(&w.lastGiant)
	if err != nil {
		return err
	}
	rows, err := q.QueryContext(ctx, "SELECT n, stream, size, parts, state FROM giant WHERE session = ? AND seq IS NULL", w.id)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		g := &giant{}
		var state []byte
		if err := rows.Scan(&g.n, &g.stream, &g.size, &g.parts, &state); err != nil {
			return err
		}
		if g.stream > Err || w.giants[g.stream] != nil {
			return fmt.Errorf("the open giant frames are %w", errDamaged)
		}
		if g.hash, err = loadHash(state); err != nil {
			return fmt.Errorf("an open giant frame is %w: %w", errDamaged, err)
		}
		w.giants[g.stream] = g
	}
	return rows.Err()
}

// reader opens a frame as a stream of bytes.
func (db *DB) reader(ctx context.Context, id, seq int64) (io.ReadCloser, error) {
	if seq < 1 {
		return nil, fmt.Errorf("reading frame %d of session %d: %w", seq, id, ErrNotFound)
	}
	for f, err := range db.frames(ctx, id, seq, seq, true) {
		if err != nil {
			return nil, err
		}
		if f.Raw != nil {
			return io.NopCloser(bytes.NewReader(f.Raw)), nil
		}
		r := &giantReader{ctx: ctx, db: db, session: id, left: f.Size}
		err := db.read(ctx, func(pool *pool) error {
			var size int64
			err := pool.QueryRowContext(ctx, "SELECT n, size FROM giant WHERE session = ? AND seq = ?", id, seq).Scan(&r.giant, &size)
			if errors.Is(err, sql.ErrNoRows) || err == nil && size != f.Size {
				return errDamaged
			}
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("reading frame %d of session %d: %w", seq, id, err)
		}
		return r, nil
	}
	return nil, fmt.Errorf("reading frame %d of session %d: %w", seq, id, ErrNotFound)
}

// giantReader reads the parts of a giant one after the other.
type giantReader struct {
	ctx            context.Context
	db             *DB
	session, giant int64
	n              int64 // the next part
	left           int64 // bytes that are still to come
	part           []byte
	err            error
}

func (r *giantReader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for len(r.part) == 0 && r.err == nil {
		r.err = r.load()
	}
	if len(r.part) == 0 {
		return 0, r.err
	}
	n := copy(p, r.part)
	r.part = r.part[n:]
	return n, nil
}

func (r *giantReader) Close() error {
	r.part, r.err = nil, io.ErrClosedPipe
	return nil
}

// load reads the next part.
func (r *giantReader) load() error {
	if r.left == 0 {
		return io.EOF
	}
	var size int64
	var data []byte
	err := r.db.read(r.ctx, func(pool *pool) error {
		return pool.QueryRowContext(r.ctx, `SELECT size, iif(length(data) <= ?, data, x'') FROM part
			WHERE session = ? AND giant = ? AND n = ?`, maxPacked, r.session, r.giant, r.n).Scan(&size, &data)
	})
	if errors.Is(err, sql.ErrNoRows) {
		err = fmt.Errorf("part %d is missing: %w", r.n, errDamaged)
	}
	if err == nil && (size < 1 || size > partRaw || size > r.left) {
		err = errDamaged
	}
	if err == nil {
		r.part, err = unpack(r.db.unpacker, data, size)
	}
	if err != nil {
		return fmt.Errorf("reading a giant frame of session %d: %w", r.session, err)
	}
	r.n++
	r.left -= size
	return nil
}
