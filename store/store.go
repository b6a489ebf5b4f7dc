// Package store keeps sessions: frames, lifecycle events and their proof, in
// SQLite or in the text form. It is the only package that knows SQLite.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
)

func itoa(n int) string { return strconv.Itoa(n) }

// ErrUnusable marks a file that holds no recording this build can use: not
// found, no permission, not a database, a foreign or newer schema, a broken
// text form, no such session. The text of the error says which and what to do.
var ErrUnusable = errors.New("recording cannot be used")

// DB is an open recording: a database, or a text file read into a private
// temporary one. Safe for concurrent use.
type DB struct {
	path     string   // as given, "" for a temporary database
	write    *sql.DB  // one connection; nil when read-only
	opened   standing // of one that is open for writing
	secret   bool     // whether the redaction key belongs to the recording
	packer   packer
	unpacker *unpacker

	mu       sync.Mutex // guards what follows
	readers  *reading
	retired  []*reading
	recent   []*unpacked // chunks decoded last, newest first
	isClosed bool

	over overlay
}

// Path returns the file the recording was opened from, "" for a temporary one.
func (db *DB) Path() string { return db.path }

// Close releases the database. Iterators must have ended.
func (db *DB) Close() error {
	db.mu.Lock()
	if db.isClosed {
		db.mu.Unlock()
		return nil
	}
	db.isClosed = true
	pools := db.retired
	if db.readers != nil {
		pools = append(pools, db.readers)
	}
	db.mu.Unlock()

	var errs []error
	for _, r := range pools {
		if r.pool.DB != db.write {
			errs = append(errs, r.close())
		}
	}
	if db.write != nil {
		moved := db.opened.moved()
		if moved {
			// What fails here is not the name's new owner's to suffer.
			db.write.Exec("PRAGMA wal_checkpoint(TRUNCATE)")
		}
		errs = append(errs, db.write.Close())
		if moved {
			db.opened.clear()
		}
	}
	if db.over.from != nil {
		errs = append(errs, db.over.from.Close())
	}
	db.packer.close()
	db.unpacker.Close()
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("closing %s: %w", db.path, err)
	}
	return nil
}

// Sessions returns all sessions, oldest first.
func (db *DB) Sessions(ctx context.Context) ([]*Session, error) {
	var list []*Session
	err := db.read(ctx, func(pool *pool) (err error) {
		list, err = db.loadSessions(ctx, pool, "ORDER BY s.id")
		return err
	})
	if err == nil {
		list, err = db.laidOver(ctx, list)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the sessions of %s: %w", db.path, err)
	}
	return list, nil
}

// CheckName refuses a name under which Find would not find a session: a number
// and the words that choose one mean something else.
func CheckName(name string) error {
	if _, err := strconv.ParseInt(name, 10, 64); err == nil {
		return fmt.Errorf("%s would be taken for a session's number; choose a name with a letter in it", name)
	}
	switch name {
	case "last", "any":
		return fmt.Errorf("%s stands for a session where one is chosen; choose another name", name)
	}
	return nil
}

// Find returns the session that sel names: its number, "last", its name (the
// newest of that name), its UID or an unambiguous beginning of that; "" means
// the only session. The error wraps ErrUnusable and lists what there is.
func (db *DB) Find(ctx context.Context, sel string) (*Session, error) {
	list, err := db.Sessions(ctx)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%w: %s holds no session", ErrUnusable, db.path)
	}
	switch sel {
	case "last":
		return list[len(list)-1], nil
	case "":
		if len(list) == 1 {
			return list[0], nil
		}
		return nil, fmt.Errorf("%w: %s holds %d sessions; choose one of %s, or last", ErrUnusable, db.path, len(list), enumerate(list))
	}
	if n, err := strconv.ParseInt(sel, 10, 64); err == nil {
		for _, s := range list {
			if s.ID == n {
				return s, nil
			}
		}
	}
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].Name == sel {
			return list[i], nil
		}
	}
	var found []*Session
	for _, s := range list {
		if len(s.UID) >= len(sel) && strings.EqualFold(s.UID[:len(sel)], sel) {
			found = append(found, s)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return nil, fmt.Errorf("%w: no session %q in %s; there is %s", ErrUnusable, sel, db.path, enumerate(list))
	}
	return nil, fmt.Errorf("%w: %q begins the id of several sessions of %s: %s", ErrUnusable, sel, db.path, enumerate(found))
}

// enumerate names the newest sessions of list in one line.
func enumerate(list []*Session) string {
	const most = 8
	var b strings.Builder
	if len(list) > most {
		fmt.Fprintf(&b, "1 to %d older, ", list[len(list)-most-1].ID)
		list = list[len(list)-most:]
	}
	for i, s := range list {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%d", s.ID)
		if s.Name != "" {
			fmt.Fprintf(&b, " %q", s.Name)
		}
	}
	return b.String()
}

// Secret returns the database's redaction key (32 random bytes, made with the
// database), or nil for a text file.
func (db *DB) Secret(ctx context.Context) ([]byte, error) {
	if !db.secret {
		return nil, nil
	}
	var key []byte
	err := db.read(ctx, func(pool *pool) error {
		return pool.QueryRowContext(ctx, "SELECT value FROM meta WHERE key = 'secret' AND length(value) = 32").Scan(&key)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("%w: %s has lost its redaction key", ErrUnusable, db.path)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the redaction key of %s: %w", db.path, err)
	}
	return key, nil
}
