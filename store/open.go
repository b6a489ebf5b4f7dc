package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	mathrand "math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// openPatience is how long opening a database waits for others that create or
// lock it.
const openPatience = 10 * time.Second

// Open opens the database at path for writing; it is created when missing and
// migrated when old. One process may hold several; several processes may write.
// Its file is readable by its owner only.
func Open(ctx context.Context, path string) (*DB, error) { return open(ctx, path, "") }

// open is Open over the named SQLite VFS; "" is the usual one.
func open(ctx context.Context, path, vfs string) (*DB, error) {
	real, err := create(path)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(real); err == nil && info.Size() > 0 {
		// Setting a journal mode changes a file, so know whose it is first.
		r, err := openReading(ctx, real)
		if err == nil {
			err = identify(ctx, r.pool)
			r.pool.Close()
		}
		if err != nil && !errors.Is(err, errNew) {
			return nil, explain(path, err)
		}
	}
	if !mayWrite(real) {
		// SQLite would open it for reading, and make its side files.
		return nil, &unusable{text: path + cannotWrite, cause: fs.ErrPermission}
	}
	write, err := openWriting(ctx, real, vfs)
	if err != nil {
		return nil, explain(path, err)
	}
	db := &DB{path: path, write: write, opened: standingAt(real), secret: true, unpacker: newUnpacker()}
	db.readers = &reading{pool: newPool(sql.OpenDB(connector(real, "ro", vfs))), real: real}
	db.readers.pool.SetMaxOpenConns(4)
	return db, nil
}

// create makes an empty file for a new database that only its owner may read,
// and returns the path less its symbolic links. It never opens an existing
// database: closing it again would drop SQLite's locks on it in this process.
func create(path string) (string, error) {
	if real, err := resolve(path); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return real, err
	}
	if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return "", fmt.Errorf("%w: %s is a link to nowhere", ErrUnusable, path)
	}
	real, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("%w: opening %s: %w", ErrUnusable, path, err)
	}
	dir := filepath.Dir(real)
	temp, err := os.CreateTemp(dir, ".agentrec-new-")
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%w: creating %s: there is no directory %s", ErrUnusable, path, dir)
	}
	if err != nil {
		return "", fmt.Errorf("%w: creating %s: %w", ErrUnusable, path, err)
	}
	defer os.Remove(temp.Name())
	if err := temp.Close(); err != nil {
		return "", fmt.Errorf("%w: creating %s: %w", ErrUnusable, path, err)
	}
	if err := os.Link(temp.Name(), real); err != nil && !errors.Is(err, fs.ErrExist) {
		// A file system without links.
		f, err := os.OpenFile(real, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err == nil {
			err = f.Close()
		}
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return "", fmt.Errorf("%w: creating %s: %w", ErrUnusable, path, err)
		}
	}
	return resolve(path)
}

// Present returns an ErrUnusable when no file stands at path: Open would make
// one.
func Present(path string) error {
	_, err := resolve(path)
	return err
}

// resolve follows the links of path and sees that a file stands there. Its
// error may wrap fs.ErrNotExist.
func resolve(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return "", &unusable{text: "there is no " + path, cause: fs.ErrNotExist}
	}
	if err != nil {
		return "", fmt.Errorf("%w: opening %s: %w", ErrUnusable, path, err)
	}
	info, err := os.Stat(real)
	if err != nil {
		return "", fmt.Errorf("%w: opening %s: %w", ErrUnusable, path, err)
	}
	if info.IsDir() {
		return "", fmt.Errorf("%w: %s is a directory; name a file in it", ErrUnusable, path)
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%w: %s is not a regular file", ErrUnusable, path)
	}
	return real, nil
}

// connector opens connections to path: for reading when mode is "ro" or
// "immutable", else for writing with that journal mode.
func connector(path, mode, vfs string) *connecting {
	q := url.Values{}
	// The driver applies the timeout first, then _pragma in the order of the
	// alphabet, then the journal mode, which must come after what decides the
	// form of the file.
	q.Set("_busy_timeout", "250")
	pragmas := []string{"cell_size_check(1)", "trusted_schema(0)"}
	switch mode {
	case "immutable":
		q.Set("mode", "ro")
		q.Set("immutable", "1")
	case "ro":
		q.Set("mode", "ro")
	default:
		q.Set("mode", "rw")
		q.Set("_txlock", "immediate")
		q.Set("_journal_mode", mode)
		q.Set("_synchronous", "NORMAL")
		pragmas = append(pragmas, "auto_vacuum(2)") // incremental; of a new database, whose pages get the usual size
	}
	if vfs != "" {
		q.Set("vfs", vfs)
	}
	q.Set("_defensive", "1")
	q.Set("_error_rc", "1")
	q["_pragma"] = pragmas
	slashed := filepath.ToSlash(path)
	if path != "" && !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed
	}
	dsn := "file:" + (&url.URL{Path: slashed}).EscapedPath() + "?" + q.Encode()
	return &connecting{dsn: dsn, limit: mode == "ro" || mode == "immutable"}
}

// openWriting opens the one writing connection of the database at path, makes
// its schema current, and waits for others that do the same.
func openWriting(ctx context.Context, path, vfs string) (*sql.DB, error) {
	ctx, cancel := context.WithTimeout(ctx, openPatience)
	defer cancel()
	mode := "WAL"
	for {
		pool := sql.OpenDB(connector(path, mode, vfs))
		pool.SetMaxOpenConns(1)
		got := ""
		err := pool.QueryRowContext(ctx, "PRAGMA journal_mode").Scan(&got)
		if err == nil && got != "wal" {
			// Without a write-ahead log only a full sync keeps the file whole.
			_, err = pool.ExecContext(ctx, "PRAGMA synchronous = FULL")
		}
		if err == nil {
			err = migrate(ctx, pool)
		}
		if err == nil {
			return pool, nil
		}
		pool.Close()
		switch {
		case isBusy(err):
			pause := time.Duration(1+mathrand.IntN(20)) * time.Millisecond
			select {
			case <-time.After(pause):
				continue
			case <-ctx.Done():
				return nil, err
			}
		case mode == "WAL" && noSharedMemory(err):
			mode = "DELETE"
			continue
		}
		return nil, err
	}
}

// OpenRead opens path (database or text form) for reading. Nothing is written
// to it or beside it.
func OpenRead(ctx context.Context, path string) (*DB, error) {
	real, err := resolve(path)
	if err != nil {
		return nil, err
	}
	if isText(real) {
		return openText(ctx, path)
	}
	r, err := openReading(ctx, real)
	if code(err) == sqlite3.SQLITE_NOTADB {
		return openText(ctx, path)
	}
	if err == nil {
		if err = identify(ctx, r.pool); err == nil {
			return &DB{path: path, secret: true, unpacker: newUnpacker(), readers: r}, nil
		}
		r.close()
	}
	return nil, explain(path, err)
}

// isText reports whether a file that is called a text form is none of SQLite's,
// which SQLite takes long to tell. Others are left to it: to close a database here
// could drop the locks that this process has on it.
func isText(real string) bool {
	if filepath.Ext(real) != ".agentrec" {
		return false
	}
	f, err := os.Open(real)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, len(headMagic))
	n, err := io.ReadFull(f, head)
	return n > 0 && string(head[:n]) != headMagic[:n] && (err == nil || errors.Is(err, io.ErrUnexpectedEOF))
}

// OpenTemp opens an empty private database that spills to a deleted temporary
// file when it grows and is gone when closed.
func OpenTemp(ctx context.Context) (*DB, error) {
	// SQLite gives every connection to "" a database of its own, so there is
	// one connection for everything.
	pool := sql.OpenDB(connector("", "MEMORY", ""))
	pool.SetMaxOpenConns(1)
	pool.SetMaxIdleConns(1)
	files, err := migrationFiles()
	if err == nil {
		err = step(ctx, pool, 0, files)
	}
	if err != nil {
		pool.Close()
		return nil, fmt.Errorf("opening a temporary database: %w", err)
	}
	return &DB{write: pool, secret: true, readers: &reading{pool: newPool(pool)}, unpacker: newUnpacker()}, nil
}

// newSecret makes a redaction key.
func newSecret() []byte {
	key := make([]byte, 32)
	rand.Read(key) // never fails
	return key
}

// code returns the primary SQLite result code of err, 0 when it has none.
func code(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code() & 0xff
	}
	return 0
}

func isBusy(err error) bool {
	c := code(err)
	return c == sqlite3.SQLITE_BUSY || c == sqlite3.SQLITE_LOCKED || c == sqlite3.SQLITE_PROTOCOL
}

// noSharedMemory reports whether err says that the file system cannot share
// memory between processes, which a write-ahead log needs.
func noSharedMemory(err error) bool {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Code() {
	case sqlite3.SQLITE_IOERR_SHMOPEN, sqlite3.SQLITE_IOERR_SHMSIZE, sqlite3.SQLITE_IOERR_SHMMAP, sqlite3.SQLITE_IOERR_SHMLOCK:
		return true
	}
	return false
}

const cannotWrite = " cannot be written; check the permissions of the file and its directory"

// explain makes one clear line of an error met while opening path.
func explain(path string, err error) error {
	if errors.Is(err, ErrUnusable) {
		return err
	}
	why := ""
	switch code(err) {
	case sqlite3.SQLITE_NOTADB:
		why = "is not a recording: neither an agentrec database nor its text form"
	case sqlite3.SQLITE_CORRUPT:
		why = "is damaged or cut short"
	case sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH:
		why = "cannot be opened; check the permissions of the file and its directory"
	case sqlite3.SQLITE_READONLY:
		return &unusable{text: path + cannotWrite, cause: err}
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL:
		why = "is locked by another program; try again when it is done"
	case sqlite3.SQLITE_FULL:
		why = "cannot grow: the disk is full"
	}
	switch {
	case errors.Is(err, errForeign):
		why = "is a database of another program"
	case errors.Is(err, errNewer):
		why = "was written by a newer agentrec; use that one or a later one"
	case errors.Is(err, errNew):
		why = "holds no recording yet"
	case errors.Is(err, errSchema):
		why = "does not have the tables of an agentrec database"
	}
	if why == "" {
		return fmt.Errorf("%w: opening %s: %w", ErrUnusable, path, err)
	}
	return &unusable{text: path + " " + why, cause: err}
}

// unusable is ErrUnusable with a text for people instead of SQLite's.
type unusable struct {
	text  string
	cause error
}

func (e *unusable) Error() string   { return ErrUnusable.Error() + ": " + e.text }
func (e *unusable) Unwrap() []error { return []error{ErrUnusable, e.cause} }
