package tape

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"agentrec/store"

	"github.com/oklog/ulid/v2"
)

// killed is why a session without an end on its tape was cut.
const killed = "the recorder was killed"

// orphan is a tape whose recorder is gone: no one holds its lock, or we do.
type orphan struct {
	path, id string
	file     *os.File
	size     int64
	key      []byte
	keyPath  string
	head     error // what is wrong with its header
}

func (o *orphan) close() { o.file.Close() }

// errOwned is a tape whose recorder is at work, or that is gone already.
var errOwned = errors.New("the tape has an owner")

// adopt opens a tape whose owner is gone and takes its lock. The caller closes
// it. A missing key is no error: o.key is nil then.
// take is lock, or share for a reader that leaves the tape where it is.
func adopt(path string, take func(*os.File) (bool, error)) (*orphan, error) {
	f, err := openFile(path, os.O_RDWR, 0) // some file systems lock only what may be written
	if err != nil {
		f, err = openFile(path, os.O_RDONLY, 0)
	}
	if err != nil {
		return nil, err
	}
	o := &orphan{path: path, file: f}
	if err := o.own(take); err != nil {
		f.Close()
		return nil, err
	}
	return o, nil
}

// begun is when the session with an id began.
func begun(id string) time.Time {
	parsed, err := ulid.ParseStrict(id)
	if err != nil {
		return time.Time{}
	}
	return ulid.Time(parsed.Time())
}

func (o *orphan) own(take func(*os.File) (bool, error)) error {
	owned, err := take(o.file)
	if err != nil {
		return err
	}
	info, err := o.file.Stat()
	if err != nil {
		return err
	}
	// Between the open and the lock another process may have drained it.
	if !owned || !sameFile(info, o.path) {
		return errOwned
	}
	o.size = info.Size()
	// A damaged header is no reason to be silent about a session: the name of
	// the tape tells which it is.
	o.id = o.path[strings.LastIndex(o.path, infix)+len(infix):]
	head := make([]byte, headerSize)
	if _, err := o.file.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read the tape %s: %w", o.path, err)
	}
	id, err := parseFileHeader(head)
	if err == nil && id.String() != o.id {
		err = fmt.Errorf("it belongs to session %s", id)
	}
	o.head = err
	if errors.Is(o.head, errNewer) {
		return nil // it stays as it is
	}
	if o.key, o.keyPath, err = findKey(o.id); err != nil && !errors.Is(err, errNoKey) {
		return err
	}
	return nil
}

// drainInto brings the whole tape into db and closes the session. id is the
// number the session gets when db does not have it, 0 for the next one.
func (o *orphan) drainInto(ctx context.Context, db *store.DB, secret []byte, id int64) error {
	aead, err := newAEAD(o.key)
	if err != nil {
		return err
	}
	d, err := newDrain(ctx, db, secret, newReader(o.file, aead), o.size, id)
	if err != nil {
		return err
	}
	// A record that its writer did not finish was not forwarded either.
	if err := d.drainAll(ctx, o.size); err != nil && !errors.Is(err, errTorn) {
		return err
	}
	if err := d.commit(ctx); err != nil {
		return err
	}
	cut := ""
	switch {
	case o.head != nil:
		cut = fmt.Sprintf("its tape is not as it was left: %v", o.head)
	case d.end == nil:
		cut = killed
	}
	return d.close(ctx, d.end, cut)
}

// mute is why a session is cut whose tape cannot be read.
func (o *orphan) mute() string {
	why := errNoKey
	switch {
	case o.head != nil:
		why = o.head
	case o.key != nil:
		why = errStart
	}
	return fmt.Sprintf("%s, and %d bytes of its tape %s cannot be read: %v", killed, o.size, filepath.Base(o.path), why)
}

// errStart is a tape whose first record does not open: without it nothing says
// how to take the secrets out of the rest.
var errStart = errors.New("its start is damaged")

// takeOver brings the tapes that dead recorders left beside db into it. One
// tape that cannot be read keeps no one from the others, and stays.
func takeOver(ctx context.Context, db *store.DB, path string) error {
	list, err := tapes(path)
	if err != nil || len(list) == 0 {
		return err
	}
	secret, err := db.Secret(ctx)
	if err != nil {
		return err
	}
	for _, path := range list {
		o, err := adopt(path, lock)
		if err != nil {
			continue
		}
		// What cannot be taken over now is there the next time.
		err = errNoKey
		if o.key != nil {
			err = o.drainInto(ctx, db, secret, 0)
		}
		switch {
		case err == nil, errors.Is(err, store.ErrEnded):
			os.Remove(o.path)
			os.Remove(o.keyPath)
		case errors.Is(err, errNoKey), errors.Is(err, errStart):
			_ = closeMute(ctx, db, o, 0)
		}
		o.close()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}

// numberEarlier begins the sessions of tapes that recorders left which started
// before the one with that id, so that sessions are numbered in the order in
// which they started. Bringing the tapes in can wait; what fails here fails
// again there.
func numberEarlier(ctx context.Context, db *store.DB, secret []byte, path, id string) {
	list, err := tapes(path)
	if err != nil {
		return
	}
	for _, earlier := range list {
		if earlier >= path+infix+id {
			return
		}
		o, err := adopt(earlier, lock)
		if err != nil {
			continue
		}
		if o.key != nil {
			if aead, err := newAEAD(o.key); err == nil {
				_, _ = newDrain(ctx, db, secret, newReader(o.file, aead), o.size, 0)
			}
		}
		o.close()
	}
}

// closeMute cuts the session of a tape that cannot be read, so that lists tell
// of it. The tape stays: the key may be on another machine.
func closeMute(ctx context.Context, db *store.DB, o *orphan, id int64) error {
	w, _, err := db.Resume(ctx, o.id)
	if errors.Is(err, store.ErrNotFound) {
		w, err = db.Begin(ctx, store.Start{ID: id, UID: o.id, Started: begun(o.id)})
	}
	if err != nil {
		return err
	}
	end := store.End{State: store.Cut, Reason: o.mute(), Ended: w.Session().Ended, Wire: [store.Streams]int64{-1, -1, -1}}
	return w.Close(ctx, end)
}

// Forget removes the tape of a session that was deleted from the database at
// path, if a recorder left one that could not be read: it would bring the session
// back.
func Forget(path, uid string) error {
	full, err := resolve(path)
	if err != nil {
		return fmt.Errorf("forgetting session %s: %w", uid, err)
	}
	o, err := adopt(full+infix+uid, lock)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errOwned) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("forgetting session %s: %w", uid, err)
	}
	removeFile(o.file, o.path)
	if o.keyPath != "" {
		os.Remove(o.keyPath)
	}
	return nil
}

// lay brings the tapes that dead recorders left beside db into a temporary
// database, and lets db show their sessions from there.
func lay(ctx context.Context, db *store.DB, path string) error {
	list, err := tapes(path)
	if err != nil || len(list) == 0 {
		return err
	}
	known, err := db.Sessions(ctx)
	if err != nil {
		return err
	}
	secret, err := db.Secret(ctx)
	if err != nil {
		return err
	}
	ids, next := map[string]*store.Session{}, int64(1)
	for _, s := range known {
		ids[s.UID] = s
		next = max(next, s.ID+1)
	}
	var temp *store.DB
	for _, path := range list {
		o, err := adopt(path, share)
		if err != nil {
			continue
		}
		s := ids[o.id]
		switch {
		case s != nil && s.State != store.Recording:
		case s != nil && o.key == nil:
			db.Mark(o.id, o.mute())
		default:
			if temp == nil {
				if temp, err = store.OpenTemp(ctx); err != nil {
					o.close()
					return err
				}
				db.Overlay(temp)
			}
			id := next
			if s != nil {
				err = temp.CopyOpen(ctx, s)
			} else {
				next++
			}
			if o.key == nil {
				err = closeMute(ctx, temp, o, id)
			} else if err == nil {
				if err = o.drainInto(ctx, temp, secret, id); errors.Is(err, errStart) {
					err = closeMute(ctx, temp, o, id)
				}
			}
		}
		o.close()
		if err != nil && ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}

// tapeGone is why a session is cut that is still being recorded by what the
// database says, but has no tape.
const tapeGone = "its recorder is gone, and its tape with what was not stored yet"

// markGone makes db show as cut what nobody records any more although nothing
// says so: a recorder has its tape from before the session begins in the
// database until after it has ended there. It happens when the tape of a dead
// recorder is deleted, or the database copied without it. The file keeps what it
// says, for it may have another name elsewhere, with a tape beside that one.
func markGone(ctx context.Context, db *store.DB, path string) error {
	open, err := db.Unended(ctx)
	if err != nil || len(open) == 0 {
		return err
	}
	list, err := tapes(path)
	if err != nil {
		return err
	}
	for _, s := range open {
		// A young one without a tape is being written by a command that has none.
		if slices.Contains(list, path+infix+s.UID) || time.Since(begun(s.UID)) < time.Minute {
			continue
		}
		// It may have ended between the two looks.
		if err := s.Refresh(ctx); err == nil && s.State == store.Recording {
			db.Mark(s.UID, tapeGone)
		}
	}
	return nil
}

// sweep removes tapes whose owner died before they had their name: nothing was
// forwarded then.
func sweep(db string) {
	list, err := filepath.Glob(escapeGlob(db) + infix + "*" + fresh)
	if err != nil {
		return
	}
	for _, path := range list {
		f, err := openFile(path, os.O_RDWR, 0)
		if err != nil {
			continue
		}
		if info, err := f.Stat(); err == nil && old(info) {
			if owned, err := lock(f); err == nil && owned {
				os.Remove(path)
			}
		}
		f.Close()
	}
}
