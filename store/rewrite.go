package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
)

// Edit says what a Rewrite changes. What is nil changes nothing.
type Edit struct {
	// Frame returns what shall stand instead of f.Raw, which it may return
	// itself.
	Frame func(f Frame) ([]byte, error)
	// Giant does the same for a frame that is too long for memory: r reads its
	// bytes. It may return r itself.
	Giant func(f Frame, r io.Reader) (io.Reader, error)
	// Event changes an event in place, but not when it happened.
	Event func(e *Event) error
	// Exchange changes an exchange in place, but not its Number, After and
	// times, nor how many pieces its answer has.
	Exchange func(x *Exchange) error
	// Same says that the content stays what it was and only its form changes:
	// the session is not marked edited.
	Same bool
	// Session changes Name, Tags, Host, Cwd, Folders, Argv and Reason of s in place.
	Session func(s *Session) error
}

// Rewritten is how much a Rewrite made other than it was.
type Rewritten struct{ Frames, Exchanges int64 }

// Rewrite changes the content of a session and reports how much became other
// bytes. It is marked edited if anything did; the proof is computed anew,
// and Session.Original keeps the recorder's. All happens in one transaction;
// Scrub then removes the old bytes. A session that is being recorded is
// ErrRecording.
func (db *DB) Rewrite(ctx context.Context, s *Session, e Edit) (changed Rewritten, err error) {
	// The new content grows in a private database, whose writer knows how to
	// pack it, and takes the old one's place at the end.
	temp, err := OpenTemp(ctx)
	if err != nil {
		return changed, err
	}
	defer temp.Close()
	r := &rewriter{ctx: ctx, edit: e, from: s}
	if err := r.build(db, temp); err != nil {
		return changed, fmt.Errorf("rewriting session %d of %s: %w", s.ID, db.path, err)
	}
	if r.changed == (Rewritten{}) && !r.otherwise {
		return changed, nil
	}
	return r.changed, db.alter(ctx, s, "rewriting", func(tx *sql.Tx) error { return r.replace(tx, temp) })
}

type rewriter struct {
	ctx       context.Context
	edit      Edit
	from      *Session
	turn      int64 // of the session when it was read
	to        *Writer
	weight    int
	changed   Rewritten
	otherwise bool    // something else than frames changed
	head      Session // as changed
}

// build makes the new content in temp.
func (r *rewriter) build(db, temp *DB) error {
	if r.from.db != db {
		return errors.New("it belongs to another database")
	}
	if err := db.writable(); err != nil {
		return err
	}
	err := db.read(r.ctx, func(pool *pool) error {
		return pool.QueryRowContext(r.ctx, "SELECT turn FROM session WHERE id = ?", r.from.ID).Scan(&r.turn)
	})
	if errors.Is(err, sql.ErrNoRows) {
		err = ErrNotFound
	}
	if err == nil {
		err = r.from.Refresh(r.ctx)
	}
	if err == nil && r.from.State == Recording {
		err = ErrRecording
	}
	if err != nil {
		return err
	}
	if r.to, err = temp.Begin(r.ctx, Start{}); err != nil {
		return err
	}
	for _, step := range []func() error{r.frames, r.events, r.exchanges, r.session} {
		if err := step(); err != nil {
			return err
		}
	}
	return r.to.Close(r.ctx, End{State: Closed})
}

func (r *rewriter) frames() error {
	for f, err := range r.from.Frames(r.ctx, 0, 0) {
		if err != nil {
			return err
		}
		if f.Raw == nil {
			if err := r.giant(f); err != nil {
				return fmt.Errorf("frame %d: %w", f.Seq, err)
			}
			continue
		}
		raw := f.Raw
		if r.edit.Frame != nil {
			if raw, err = r.edit.Frame(f); err != nil {
				return fmt.Errorf("frame %d: %w", f.Seq, err)
			}
			if bytes.IndexByte(raw, '\n') >= 0 {
				return fmt.Errorf("frame %d: %w", f.Seq, errLF)
			}
		}
		if !bytes.Equal(raw, f.Raw) {
			r.changed.Frames++
		}
		r.to.Frame(f.Stream, f.Time, raw, f.Term)
		if err := r.weigh(len(raw)); err != nil {
			return err
		}
	}
	return nil
}

func (r *rewriter) weigh(n int) error {
	if r.weight += n + 32; r.weight < 8<<20 {
		return nil
	}
	r.weight = 0
	return r.to.Commit(r.ctx, nil)
}

func (r *rewriter) giant(f Frame) error {
	src, err := r.from.Reader(r.ctx, f.Seq)
	if err != nil {
		return err
	}
	defer src.Close()
	was, now := sha256.New(), sha256.New()
	var out io.Reader = io.TeeReader(src, was)
	if r.edit.Giant != nil {
		if out, err = r.edit.Giant(f, out); err != nil {
			return err
		}
	}
	r.to.part(f.Stream, nil)
	piece := make([]byte, 256<<10)
	for {
		n, err := out.Read(piece)
		if bytes.IndexByte(piece[:n], '\n') >= 0 {
			return errLF
		}
		now.Write(piece[:n])
		r.to.part(f.Stream, piece[:n])
		if err := r.weigh(n); err != nil {
			return err
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
	}
	if _, err := io.Copy(was, src); err != nil {
		return err
	}
	if !bytes.Equal(was.Sum(nil), now.Sum(nil)) {
		r.changed.Frames++
	}
	r.to.endParts(f.Stream, f.Time, f.Term)
	return nil
}

var errLF = errors.New("a frame cannot hold a line feed")

func (r *rewriter) events() error {
	events, err := r.from.Events(r.ctx)
	if err != nil {
		return err
	}
	for _, e := range events {
		was := e
		if e.Exit != nil {
			exit := *e.Exit
			e.Exit = &exit
		}
		if r.edit.Event != nil {
			if err := r.edit.Event(&e); err != nil {
				return err
			}
		}
		e.After, e.Time = was.After, was.Time
		if e.Kind != was.Kind || e.Stream != was.Stream || e.Signal != was.Signal || e.Bytes != was.Bytes || e.Detail != was.Detail {
			r.otherwise = true
		}
		r.to.events = append(r.to.events, e)
	}
	return nil
}

func (r *rewriter) exchanges() error {
	var known knownBodies
	for number := int64(1); number <= r.from.Exchanged; number++ {
		kept, err := r.from.keptExchange(r.ctx, number, &known)
		if err != nil {
			return err
		}
		before, x := kept.digest(), kept.Exchange
		if r.edit.Exchange != nil {
			x.Pieces = slices.Clone(x.Pieces)
			if err := r.edit.Exchange(&x); err != nil {
				return err
			}
			if len(x.Pieces) != len(kept.Pieces) {
				return errors.New("an answer cannot have other pieces")
			}
		}
		was := &kept.Exchange
		x.Number, x.After, x.Time, x.Answered, x.Ended = was.Number, was.After, was.Time, was.Answered, was.Ended
		for i := range x.Pieces {
			x.Pieces[i].Time = was.Pieces[i].Time
		}
		r.to.Exchange(x)
		if x.normal(); x.digest() != before {
			r.changed.Exchanges++
		}
		if err := r.weigh(int(x.Sent + x.Received)); err != nil {
			return err
		}
	}
	return nil
}

func (r *rewriter) session() error {
	r.head = *r.from
	r.head.Tags, r.head.Folders = maps.Clone(r.from.Tags), maps.Clone(r.from.Folders)
	r.head.Argv = append([]string{}, r.from.Argv...)
	if r.edit.Session == nil {
		return nil
	}
	if err := r.edit.Session(&r.head); err != nil {
		return err
	}
	was, now := r.from, &r.head
	r.otherwise = r.otherwise || was.Name != now.Name || was.Host != now.Host || was.Cwd != now.Cwd || was.Reason != now.Reason ||
		!maps.Equal(was.Tags, now.Tags) || !maps.Equal(was.Folders, now.Folders) || fmt.Sprintf("%q", was.Argv) != fmt.Sprintf("%q", now.Argv)
	return nil
}

// replace puts the rows of the private database in the place of the old ones.
func (r *rewriter) replace(tx *sql.Tx, temp *DB) error {
	id := r.from.ID
	if err := settled(r.ctx, tx, r.from); err != nil {
		return err
	}
	var turn int64
	if err := tx.QueryRowContext(r.ctx, "SELECT turn FROM session WHERE id = ?", id).Scan(&turn); err != nil {
		return err
	}
	if turn != r.turn {
		return errTaken
	}
	if err := deleteRows(r.ctx, tx, id, tables); err != nil {
		return err
	}
	from, err := temp.write.BeginTx(r.ctx, nil)
	if err != nil {
		return err
	}
	defer from.Rollback()
	if err := copyTables(r.ctx, tx, from, r.to.id, id); err != nil {
		return err
	}
	for k, v := range r.head.Tags {
		if _, err := tx.ExecContext(r.ctx, "INSERT INTO tag (session, key, value) VALUES (?, ?, ?)", id, k, v); err != nil {
			return err
		}
	}
	if err := insertFolders(r.ctx, tx, id, r.head.Folders); err != nil {
		return err
	}
	argv, err := json.Marshal(r.head.Argv)
	if err != nil {
		return err
	}
	mark := "original = coalesce(original, chains), edited = 1, "
	if r.edit.Same {
		mark = ""
	}
	_, err = tx.ExecContext(r.ctx, "UPDATE session SET "+mark+`chains = ?, turn = turn + 1,
		name = ?, host = ?, cwd = ?, argv = ?, reason = ? WHERE id = ?`,
		packProof(r.to.chains, r.to.exchanges.chain()), r.head.Name, r.head.Host, r.head.Cwd, string(argv), r.head.Reason, id)
	return err
}
