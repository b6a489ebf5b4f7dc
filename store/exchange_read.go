package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"iter"
)

// exchangeColumns are what scanExchange reads.
var exchangeColumns = []string{
	"id", "after", "time", "route", "proto", "method", "url", "status", "answered", "ended", "state", "error", "attempt", "omitted",
	"fields", "pieces", "base", "body", "answer", "request", "hash",
}

var replaceExchange = insert("exchange", exchangeColumns) + " ON CONFLICT (id) DO UPDATE SET " + func() (set string) {
	for i, c := range exchangeColumns[1:] {
		if i > 0 {
			set += ", "
		}
		set += c + " = excluded." + c
	}
	return set
}()

// exchangeVersion is the schema version from which a database has exchanges.
const exchangeVersion = 2

// headsAtOnce is how many heads of exchanges one query reads.
const headsAtOnce = 64

// keptExchange is an exchange as it stands in the database.
type keptExchange struct {
	Exchange
	base  int64
	sizes []int64 // of the pieces
	hash  []byte
}

const selectExchanges = `SELECT id, after, time, route, proto, method, url, status, answered, ended, state, error, attempt, omitted,
	iif(length(fields) <= ?3, fields, x''), iif(length(pieces) <= ?3, pieces, x''), base, body, answer, hash
	FROM exchange WHERE id BETWEEN ?1 AND ?2 ORDER BY id LIMIT ?4`

// exchangeRows reads heads of exchanges from number on.
func (db *DB) exchangeRows(ctx context.Context, q queryer, session, number int64, most int) ([]keptExchange, error) {
	if have, err := version(ctx, q); err != nil || have < exchangeVersion {
		return nil, err
	}
	rows, err := q.QueryContext(ctx, selectExchanges, session<<seqBits|number, session<<seqBits|maxSeq, maxPacked, most)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []keptExchange
	for rows.Next() {
		x, err := db.scanExchange(rows)
		if err != nil {
			if len(list) > 0 {
				break // reported when it is reached
			}
			return nil, err
		}
		list = append(list, x)
	}
	return list, rows.Err()
}

func (db *DB) scanExchange(rows *sql.Rows) (x keptExchange, err error) {
	var id, at, answered, ended int64
	var fields, pieces []byte
	err = rows.Scan(&id, &x.After, &at, &x.Route, &x.Proto, &x.Method, &x.URL, &x.Status, &answered, &ended, &x.End, &x.Error,
		&x.Attempt, &x.Omitted, &fields, &pieces, &x.base, &x.Sent, &x.Received, &x.hash)
	if err != nil {
		return x, err
	}
	x.Number = id & maxSeq
	x.Time, x.Answered, x.Ended = micros(at), micros(answered), micros(ended)
	err = unpackFields(db.unpacker, fields, &x.Header, &x.Answer, &x.Trailer)
	if err == nil && (x.Sent < 0 || x.Sent > MaxRequestBody || x.Received < 0 || x.Received > MaxAnswerBody || x.After < 0 || len(x.hash) != sha256.Size) {
		err = errDamaged
	}
	if err == nil {
		x.Pieces, x.sizes, err = unpackPieces(db.unpacker, pieces, x.Time, x.Received)
	}
	if err != nil {
		return x, fmt.Errorf("exchange %d: %w", x.Number, err)
	}
	return x, nil
}

// loadBodies reads the bodies of an exchange.
func (db *DB) loadBodies(ctx context.Context, q queryer, session int64, x *keptExchange, known *knownBodies) error {
	var err error
	if x.Body, err = db.requestBody(ctx, q, session, x.Number, x.base, x.Sent, known, 0); err != nil {
		return fmt.Errorf("exchange %d: its request: %w", x.Number, err)
	}
	known.add(x.Number, x.hash, x.Body)
	answer, err := db.bodyParts(ctx, q, session, x.Number, sideAnswer, x.Received)
	if err != nil {
		return fmt.Errorf("exchange %d: its answer: %w", x.Number, err)
	}
	if answer == nil {
		answer = []byte{}
	}
	at := int64(0)
	for i, n := range x.sizes {
		x.Pieces[i].Bytes = answer[at : at+n : at+n]
		at += n
	}
	return nil
}

// requestBody reads a request body, and those that it is packed with.
func (db *DB) requestBody(ctx context.Context, q queryer, session, number, base, size int64, known *knownBodies, depth int) ([]byte, error) {
	if base == 0 {
		return db.bodyParts(ctx, q, session, number, sideRequest, size)
	}
	if base < 0 || base >= number || depth > mostBases || size > MaxRaw {
		return nil, fmt.Errorf("%w: %w", errDamaged, errBases)
	}
	var next, length int64
	var hash []byte
	err := q.QueryRowContext(ctx, "SELECT base, body, hash FROM exchange WHERE id = ?", session<<seqBits|base).Scan(&next, &length, &hash)
	if errors.Is(err, sql.ErrNoRows) || err == nil && (length < 1 || length > MaxRaw) {
		return nil, fmt.Errorf("%w: %w", errDamaged, errBases)
	}
	if err != nil {
		return nil, err
	}
	under := known.body(base, hash)
	if int64(len(under)) != length {
		if under, err = db.requestBody(ctx, q, session, base, next, length, known, depth+1); err != nil {
			return nil, err
		}
		known.add(base, hash, under)
	}
	var n int64
	var data []byte
	err = q.QueryRowContext(ctx, `SELECT size, iif(length(data) <= ?, data, x'') FROM body WHERE session = ? AND exchange = ? AND side = ? AND n = 0`,
		maxPacked, session, number, sideRequest).Scan(&n, &data)
	if errors.Is(err, sql.ErrNoRows) || err == nil && n != size {
		return nil, fmt.Errorf("%w: it is missing", errDamaged)
	}
	if err != nil {
		return nil, err
	}
	return unpackWith(db.unpacker, under, data, size)
}

// knownBodies are the request bodies that an iteration has read last: the next
// ones build on them.
type knownBodies struct{ list []knownBody }

type knownBody struct {
	number int64
	hash   string // of the exchange: it may be rewritten meanwhile
	body   []byte
}

const mostKnown = 4

func (k *knownBodies) body(number int64, hash []byte) []byte {
	for _, b := range k.list {
		if b.number == number && b.hash == string(hash) {
			return b.body
		}
	}
	return nil
}

func (k *knownBodies) add(number int64, hash, body []byte) {
	if len(body) < shortBody || len(body) > MaxRaw {
		return
	}
	if len(k.list) == mostKnown {
		k.list = append(k.list[:0], k.list[1:]...)
	}
	k.list = append(k.list, knownBody{number, string(hash), body})
}

// bodyParts reads a body that stands for itself.
func (db *DB) bodyParts(ctx context.Context, q queryer, session, number int64, side int, size int64) ([]byte, error) {
	if size == 0 {
		return nil, nil
	}
	rows, err := q.QueryContext(ctx, `SELECT n, size, iif(length(data) <= ?, data, x'') FROM body
		WHERE session = ? AND exchange = ? AND side = ? ORDER BY n`, maxPacked, session, number, side)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var body []byte
	for next := int64(0); rows.Next(); next++ {
		var n, length int64
		var data []byte
		if err := rows.Scan(&n, &length, &data); err != nil {
			return nil, err
		}
		if n != next || length < 1 || length > MaxRaw || length > size-int64(len(body)) {
			return nil, fmt.Errorf("%w: part %d does not fit", errDamaged, next)
		}
		b, err := unpack(db.unpacker, data, length)
		if err != nil {
			return nil, err
		}
		if int64(len(b)) == size {
			body = b
			continue
		}
		body = append(body, b...)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	if int64(len(body)) != size {
		return nil, fmt.Errorf("%w: %d of its %d bytes are there", errDamaged, len(body), size)
	}
	return body, nil
}

// oneMoment runs fn over one moment of the database.
func (db *DB) oneMoment(ctx context.Context, fn func(q queryer) error) error {
	return db.read(ctx, func(pool *pool) error {
		tx, err := pool.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
		if err != nil {
			return err
		}
		defer tx.Rollback()
		return fn(tx)
	})
}

// keptExchange reads an exchange as it stands, whole; ErrNotFound.
func (s *Session) keptExchange(ctx context.Context, number int64, known *knownBodies) (x keptExchange, err error) {
	err = s.db.oneMoment(ctx, func(q queryer) error {
		list, err := s.db.exchangeRows(ctx, q, s.ID, number, 1)
		if err != nil {
			return err
		}
		if len(list) == 0 || list[0].Number != number {
			return ErrNotFound
		}
		x = list[0]
		return s.db.loadBodies(ctx, q, s.ID, &x, known)
	})
	return x, err
}

func (s *Session) exchange(ctx context.Context, number int64) (Exchange, error) {
	if number < 1 || number > maxSeq {
		return Exchange{}, ErrNotFound
	}
	x, err := s.keptExchange(ctx, number, &knownBodies{})
	if err != nil && !errors.Is(err, ErrNotFound) {
		err = fmt.Errorf("reading exchange %d of session %d: %w", number, s.ID, err)
	}
	if err != nil {
		return Exchange{}, err
	}
	return x.Exchange, nil
}

func (s *Session) exchanges(ctx context.Context, from int64, bodies bool) iter.Seq2[Exchange, error] {
	return func(yield func(Exchange, error) bool) {
		var known knownBodies
		for number := from; ; {
			var list []keptExchange
			err := s.db.oneMoment(ctx, func(q queryer) (err error) {
				most := headsAtOnce
				if bodies {
					most = 1
				}
				if list, err = s.db.exchangeRows(ctx, q, s.ID, number, most); err != nil || !bodies {
					return err
				}
				for i := range list {
					if err := s.db.loadBodies(ctx, q, s.ID, &list[i], &known); err != nil {
						return err
					}
				}
				return nil
			})
			if err == nil {
				err = ctx.Err()
			}
			if err == nil && len(list) == 0 && number <= s.Exchanged {
				err = fmt.Errorf("exchange %d is missing: %w", number, errDamaged)
			}
			for i := 0; err == nil && i < len(list); i++ {
				if list[i].Number != number {
					err = fmt.Errorf("exchange %d is missing: %w", number, errDamaged)
					break
				}
				if !yield(list[i].Exchange.shown(s), nil) {
					return
				}
				number++
			}
			if err != nil {
				yield(Exchange{}, fmt.Errorf("reading session %d: %w", s.ID, err))
				return
			}
			if len(list) == 0 {
				return
			}
		}
	}
}
