package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"slices"
)

// rowsAtOnce is how many unpacked frames one query reads, less when they are
// long.
const rowsAtOnce = 512

// unpacked is a chunk read from the database.
type unpacked struct {
	id, last int64
	chains   string // the proof as stored: what identifies the content
	metas    []meta
	starts   []int64 // where each frame begins in payload
	payload  []byte  // nil when only the columns were read
}

func (u *unpacked) first() int64 { return u.id & maxSeq }

// frame returns frame seq, which the chunk holds.
func (u *unpacked) frame(seq int64) Frame {
	i := seq - u.first()
	m := u.metas[i]
	if m.kind.giant() || u.payload == nil {
		return m.frame(seq, nil)
	}
	from := u.starts[i]
	return m.frame(seq, u.payload[from:from+m.size:from+m.size])
}

// chunkAt reads the chunk of a session that holds seq or, when none does, the
// first after it; nil when there is none.
func (db *DB) chunkAt(ctx context.Context, q queryer, session, seq int64, raw bool) (*unpacked, error) {
	u := &unpacked{}
	err := q.QueryRowContext(ctx, `
		SELECT * FROM (SELECT id, last, chains FROM chunk WHERE id BETWEEN ?1 AND ?2 ORDER BY id DESC LIMIT 1) WHERE last >= ?3
		UNION ALL
		SELECT * FROM (SELECT id, last, chains FROM chunk WHERE id > ?2 AND id <= ?4 ORDER BY id LIMIT 1) LIMIT 1`,
		session<<seqBits, session<<seqBits|seq, seq, session<<seqBits|maxSeq).Scan(&u.id, &u.last, &u.chains)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if known := db.known(u, raw); known != nil {
		return known, nil
	}
	var size int64
	// A chunk that was replaced meanwhile is not found.
	query := `SELECT size, iif(length(columns) <= ?3, columns, x''), x'' FROM chunk WHERE id = ?1 AND chains = ?2`
	if raw {
		query = `SELECT size, iif(length(columns) <= ?3, columns, x''), iif(length(payload) <= ?3, payload, x'') FROM chunk
			WHERE id = ?1 AND chains = ?2`
	}
	rows, err := q.QueryContext(ctx, query, u.id, []byte(u.chains), maxPacked)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	if !rows.Next() {
		return nil, cmp.Or(rows.Err(), errMoved)
	}
	var columns, payload sql.RawBytes // not copied: good until the next row
	if err := rows.Scan(&size, &columns, &payload); err != nil {
		return nil, err
	}
	first := u.first()
	if u.last < first || u.last > maxSeq || size < 0 || size > maxPayload {
		return nil, fmt.Errorf("the chunk of frame %d: %w", first, errDamaged)
	}
	if u.metas, err = unpackColumns(db.unpacker, columns, u.last-first+1, size); err != nil {
		return nil, fmt.Errorf("the chunk of frames %d to %d: %w", first, u.last, err)
	}
	if raw {
		if u.payload, err = unpack(db.unpacker, payload, size); err != nil {
			return nil, fmt.Errorf("the chunk of frames %d to %d: %w", first, u.last, err)
		}
		u.starts = make([]int64, len(u.metas))
		at := int64(0)
		for i, m := range u.metas {
			u.starts[i] = at
			at += m.payload()
		}
	}
	db.remember(u)
	return u, nil
}

// errMoved says that the rows changed between two queries; the read is done
// again.
var errMoved = errors.New("changed while it was read")

// recentChunks is how many chunks a database keeps unpacked.
const recentChunks = 4

// known returns the unpacked form of u, if it is still at hand.
func (db *DB) known(u *unpacked, raw bool) *unpacked {
	db.mu.Lock()
	defer db.mu.Unlock()
	for i, k := range db.recent {
		if k.id == u.id && k.last == u.last && k.chains == u.chains && (k.payload != nil || !raw) {
			copy(db.recent[1:i+1], db.recent[:i])
			db.recent[0] = k
			return k
		}
	}
	return nil
}

func (db *DB) remember(u *unpacked) {
	if u.payload == nil {
		return
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	db.recent = slices.Insert(db.recent, 0, u)
	if len(db.recent) > recentChunks {
		db.recent[recentChunks] = nil
		db.recent = db.recent[:recentChunks]
	}
}

// batch is what one read step of an iteration found.
type batch struct {
	chunk *unpacked
	rows  []Frame
}

// next reads what follows from seq on: the chunk that holds it, or else rows.
// Both come from one moment, so that a writer that packs the rows meanwhile
// hides nothing.
func (db *DB) next(ctx context.Context, session, seq, to int64, raw bool) (b batch, err error) {
	err = db.read(ctx, func(pool *pool) error {
		for try := 0; ; try++ {
			b, err = db.nextOnce(ctx, pool, session, seq, to, raw)
			if !errors.Is(err, errMoved) || try == 10 {
				return err
			}
		}
	})
	return b, err
}

func (db *DB) nextOnce(ctx context.Context, pool *pool, session, seq, to int64, raw bool) (b batch, err error) {
	if b.chunk, err = db.chunkAt(ctx, pool, session, seq, raw); err != nil {
		return b, err
	}
	if b.chunk != nil && b.chunk.first() <= seq {
		return b, nil
	}
	after := b.chunk
	b.chunk = nil
	if b.rows, err = openRows(ctx, pool, session, seq, to, raw); err != nil {
		return b, err
	}
	if len(b.rows) > 0 && b.rows[0].Seq == seq {
		return b, nil
	}
	// Nothing stands at seq itself. Rows may have been packed between the two
	// queries; otherwise this is the end or a hole.
	again, err := db.chunkAt(ctx, pool, session, seq, raw)
	switch {
	case err != nil:
		return b, err
	case (again == nil) != (after == nil) || again != nil && (again.id != after.id || again.last != after.last):
		return b, errMoved
	case len(b.rows) == 0 && again == nil:
		return b, nil
	}
	found := int64(maxSeq)
	if len(b.rows) > 0 {
		found = b.rows[0].Seq
	}
	if again != nil {
		found = min(found, again.first())
	}
	if found > to {
		return batch{}, nil
	}
	return b, fmt.Errorf("frames %d to %d are missing: %w", seq, found-1, errDamaged)
}

func openRows(ctx context.Context, q queryer, session, from, to int64, raw bool) ([]Frame, error) {
	most := -1 // of payload bytes
	if raw {
		most = MaxRaw
	}
	rows, err := q.QueryContext(ctx, `SELECT id, kind, time, size, iif(length(raw) <= ?, raw, NULL) FROM frame
		WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ?`, most, session<<seqBits|from, session<<seqBits|to, rowsAtOnce)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []Frame
	var bytes int64
	for rows.Next() && bytes < 2*MaxRaw {
		var id int64
		var m meta
		var b []byte
		if err := rows.Scan(&id, &m.kind, &m.time, &m.size, &b); err != nil {
			return nil, err
		}
		seq := id & maxSeq
		if !m.kind.valid() || m.time < 0 || m.size < 0 || raw && !m.kind.giant() && int64(len(b)) != m.size {
			if len(list) > 0 {
				break // reported when it is reached
			}
			return nil, fmt.Errorf("frame %d: %w", seq, errDamaged)
		}
		if raw && !m.kind.giant() && b == nil {
			b = []byte{}
		}
		if m.kind.giant() {
			b = nil
		}
		if len(list) > 0 && list[len(list)-1].Seq+1 != seq {
			break // a hole; likewise
		}
		bytes += int64(len(b))
		list = append(list, m.frame(seq, b))
	}
	return list, rows.Err()
}

func (db *DB) frames(ctx context.Context, id, from, to int64, raw bool) iter.Seq2[Frame, error] {
	return func(yield func(Frame, error) bool) {
		seq := max(from, 1)
		last := int64(maxSeq)
		if to > 0 {
			last = min(to, maxSeq)
		}
		for seq <= last {
			b, err := db.next(ctx, id, seq, last, raw)
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				yield(Frame{}, fmt.Errorf("reading session %d: %w", id, err))
				return
			}
			if b.chunk != nil {
				tell(ctx, int(min(b.chunk.last, last)-seq)+1)
				for ; seq <= min(b.chunk.last, last); seq++ {
					f := b.chunk.frame(seq)
					if !raw {
						f.Raw = nil
					}
					if !yield(f, nil) {
						return
					}
				}
				continue
			}
			if len(b.rows) == 0 {
				return
			}
			tell(ctx, len(b.rows))
			for _, f := range b.rows {
				if !yield(f, nil) {
					return
				}
			}
			seq = b.rows[len(b.rows)-1].Seq + 1
		}
	}
}
