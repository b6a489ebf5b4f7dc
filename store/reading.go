package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// maxValue is the longest value or row that a reader takes from a database; all
// that this package writes is much shorter.
const maxValue = 64 << 20

// connecting opens connections by a DSN.
type connecting struct {
	dsn   string
	limit bool // to maxValue
}

func (c *connecting) Connect(ctx context.Context) (driver.Conn, error) {
	inner, err := sqlite.NewConnector(c.dsn)
	if err != nil {
		return nil, err
	}
	conn, err := inner.Connect(ctx)
	if err != nil || !c.limit {
		return conn, err
	}
	if err := limitLength(ctx, conn); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

func (c *connecting) Driver() driver.Driver { return &sqlite.Driver{} }

// limitLength sets SQLITE_LIMIT_LENGTH of a connection. The driver does it only
// through a database/sql connection, so conn is lent to one.
func limitLength(ctx context.Context, conn driver.Conn) error {
	pool := sql.OpenDB(lender{lent{conn}})
	defer pool.Close()
	c, err := pool.Conn(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = sqlite.Limit(c, sqlite3.SQLITE_LIMIT_LENGTH, maxValue)
	return err
}

// lender connects to one connection that exists.
type lender struct{ conn lent }

func (l lender) Connect(context.Context) (driver.Conn, error) { return l.conn, nil }
func (l lender) Driver() driver.Driver                        { return &sqlite.Driver{} }

// lent is a connection that its borrower cannot close.
type lent struct{ driver.Conn }

func (l lent) Close() error        { return nil }
func (l lent) Unwrap() driver.Conn { return l.Conn }

// reading is a pool of read-only connections.
//
// SQLite cannot open a database with a write-ahead log read-only without
// making its side files, even if the log is empty. So a cleanly closed database
// is opened as immutable, and every read looks before and after whether that
// still holds; if not, it is opened anew and the read repeated.
type reading struct {
	pool      *pool
	real      string
	immutable bool
	stamp     stamp  // of an immutable one
	cleanup   func() // removes a private copy; may be nil
}

// stamp is what shows that a database file may have changed.
type stamp struct {
	info   fs.FileInfo
	beside bool // whether a log or a journal stands beside it
}

func stampOf(real string) (stamp, error) {
	info, err := os.Stat(real)
	if err != nil {
		return stamp{}, err
	}
	return stamp{info: info, beside: exists(real+"-wal") || exists(real+"-journal")}, nil
}

func (s stamp) equal(t stamp) bool {
	return s.beside == t.beside && os.SameFile(s.info, t.info) &&
		s.info.Size() == t.info.Size() && s.info.ModTime().Equal(t.info.ModTime())
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func (r *reading) fresh() bool {
	now, err := stampOf(r.real)
	return err == nil && r.stamp.equal(now)
}

func (r *reading) close() error {
	err := r.pool.Close()
	if r.cleanup != nil {
		r.cleanup()
	}
	return err
}

// openReading opens the database at real, a path without links, in the mode
// that shows all of it and changes nothing.
func openReading(ctx context.Context, real string) (*reading, error) {
	now, err := stampOf(real)
	if err != nil {
		return nil, err
	}
	r := &reading{real: real, stamp: now, immutable: !now.beside}
	mode := "ro"
	if r.immutable {
		mode = "immutable"
	}
	r.pool = newPool(sql.OpenDB(connector(real, mode, "")))
	r.pool.SetMaxOpenConns(4)
	err = probe(ctx, r.pool)
	for deadline := time.Now().Add(openPatience); isBusy(err) && time.Now().Before(deadline) && ctx.Err() == nil; {
		err = probe(ctx, r.pool) // waits by its busy timeout
	}
	if err == nil {
		r.unfreeze(ctx)
		return r, nil
	}
	r.pool.Close()
	if c := code(err); now.beside && (c == sqlite3.SQLITE_CANTOPEN || c == sqlite3.SQLITE_READONLY) {
		return openCopy(ctx, real)
	}
	return nil, err
}

// unfreeze opens a database that has no write-ahead log but a rollback journal
// as one that may change: SQLite makes no side files for it, and looks for
// changes better than a stamp does on a file system that caches those.
func (r *reading) unfreeze(ctx context.Context) {
	if !r.immutable {
		return
	}
	form := ""
	err := r.pool.QueryRowContext(ctx, "SELECT hex(substr(data, 19, 2)) FROM sqlite_dbpage WHERE pgno = 1").Scan(&form)
	if err != nil || form != "0101" {
		return
	}
	pool := newPool(sql.OpenDB(connector(r.real, "ro", "")))
	pool.SetMaxOpenConns(4)
	if probe(ctx, pool) != nil {
		pool.Close()
		return
	}
	r.pool.Close()
	r.pool, r.immutable = pool, false
}

func probe(ctx context.Context, pool queryer) error {
	n := 0
	return pool.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&n)
}

// openCopy opens a private copy of a database that its recorder left with a log
// or a journal in a directory that we may not write to: SQLite could only show
// it without what stands in the log.
func openCopy(ctx context.Context, real string) (*reading, error) {
	dir, err := os.MkdirTemp("", "agentrec-")
	if err != nil {
		return nil, fmt.Errorf("copying it for reading: %w", err)
	}
	cleanup := func() { os.RemoveAll(dir) }
	path := filepath.Join(dir, "session.db")
	for _, suffix := range []string{"", "-wal", "-journal"} {
		err := copyFile(path+suffix, real+suffix)
		if err != nil && !(suffix != "" && errors.Is(err, fs.ErrNotExist)) {
			cleanup()
			return nil, fmt.Errorf("copying it for reading: %w", err)
		}
	}
	r := &reading{real: path, pool: newPool(sql.OpenDB(connector(path, "WAL", ""))), cleanup: cleanup}
	r.pool.SetMaxOpenConns(1)
	if err := probe(ctx, r.pool); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

func copyFile(to, from string) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	return errors.Join(err, dst.Close())
}

// read runs fn over the reading pool. fn may run more than once and must not
// keep rows open.
func (db *DB) read(ctx context.Context, fn func(pool *pool) error) error {
	const tries = 100
	for try := 0; ; try++ {
		db.mu.Lock()
		r, closed := db.readers, db.isClosed
		db.mu.Unlock()
		if closed {
			return fmt.Errorf("the recording is closed: %w", os.ErrClosed)
		}
		if !r.immutable {
			err := fn(r.pool)
			for deadline := time.Now().Add(openPatience); isBusy(err) && time.Now().Before(deadline) && ctx.Err() == nil; {
				err = fn(r.pool) // waits by its busy timeout
			}
			return err
		}
		if r.fresh() {
			err := fn(r.pool)
			if r.fresh() || ctx.Err() != nil {
				return err
			}
		}
		if try == tries {
			return errors.New("the file changes all the time")
		}
		if err := db.reopen(ctx, r); err != nil {
			return explain(db.path, err)
		}
	}
}

// reopen replaces the reading pool old, unless another goroutine did. What
// still runs over old may end.
func (db *DB) reopen(ctx context.Context, old *reading) error {
	r, err := openReading(ctx, old.real)
	if err == nil {
		if err = identify(ctx, r.pool); err != nil {
			r.close()
		}
	}
	if err != nil {
		return err
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.readers != old || db.isClosed {
		r.close()
		return nil
	}
	db.retired = append(db.retired, old)
	db.readers = r
	return nil
}
