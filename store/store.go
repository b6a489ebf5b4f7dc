// Package store keeps sessions: frames, lifecycle events and their proof, in
// SQLite or in the text form. It is the only package that knows SQLite.
package store

import (
	"context"
	"errors"
	"io"
	"iter"
	"strconv"
)

func itoa(n int) string { return strconv.Itoa(n) }

// ErrUnusable marks a file that holds no recording this build can use: not
// found, no permission, not a database, a foreign or newer schema, a broken
// text form, no such session. The text of the error says which and what to do.
var ErrUnusable = errors.New("recording cannot be used")

// DB is an open recording: a database, or a text file read into a private
// temporary one. Safe for concurrent use.
type DB struct{}

// Open opens the database at path for writing; it is created when missing and
// migrated when old. One process may hold several; several processes may write.
func Open(ctx context.Context, path string) (*DB, error) { panic("unwritten") }

// OpenRead opens path (database or text form) for reading. Nothing is written
// to it or beside it.
func OpenRead(ctx context.Context, path string) (*DB, error) { panic("unwritten") }

// OpenTemp opens an empty private database that spills to a deleted temporary
// file when it grows and is gone when closed.
func OpenTemp(ctx context.Context) (*DB, error) { panic("unwritten") }

// Close releases the database. Iterators must have ended.
func (db *DB) Close() error { panic("unwritten") }

// Path returns the file the recording was opened from, "" for a temporary one.
func (db *DB) Path() string { panic("unwritten") }

// Sessions returns all sessions, oldest first.
func (db *DB) Sessions(ctx context.Context) ([]*Session, error) { panic("unwritten") }

// Find returns the session that sel names: its number, "last", its name (the
// newest of that name), its UID or an unambiguous beginning of that; "" means
// the only session. The error wraps ErrUnusable and lists what there is.
func (db *DB) Find(ctx context.Context, sel string) (*Session, error) { panic("unwritten") }

// Secret returns the database's redaction key (32 random bytes, made with the
// database), or nil for a text file.
func (db *DB) Secret(ctx context.Context) ([]byte, error) { panic("unwritten") }

func (db *DB) frames(ctx context.Context, id, from, to int64, raw bool) iter.Seq2[Frame, error] {
	panic("unwritten")
}
func (db *DB) reader(ctx context.Context, id, seq int64) (io.ReadCloser, error) { panic("unwritten") }
func (db *DB) events(ctx context.Context, id int64) ([]Event, error)            { panic("unwritten") }
func (db *DB) refresh(ctx context.Context, s *Session) error                    { panic("unwritten") }
