// Package tape is the append-only side file that a recorder writes before it
// forwards anything, the drain that turns it into frames in a database, and the
// recovery of tapes whose recorder died.
//
//	chunk -> stamp, seal, append -> (forward)          the recorder's hot path
//	           tape -> cut, detect, redact -> store    the drain, behind it
package tape

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"agentrec/store"
)

// OpenWrite opens the database at path for writing, creates it when missing,
// and takes over the tapes left by recorders that died. The caller closes it.
func OpenWrite(ctx context.Context, path string) (*store.DB, error) {
	return with(ctx, path, store.Open, func(ctx context.Context, db *store.DB, full string) error {
		sweep(full)
		sweepKeys()
		return takeOver(ctx, db, full)
	})
}

// Open opens FILE for reading, whatever it is: a database, with left-over
// tapes read as part of it, or a text file. Nothing is written to it or beside
// it. The caller closes it.
func Open(ctx context.Context, path string) (*store.DB, error) {
	return with(ctx, path, openRead, lay)
}

// openRead opens a recording, or an empty one in its place when its recorder
// died before it could begin but left a tape.
func openRead(ctx context.Context, path string) (*store.DB, error) {
	db, err := store.OpenRead(ctx, path)
	if err == nil || !store.Empty(err) {
		return db, err
	}
	full, ferr := resolve(path)
	if ferr != nil {
		return nil, err
	}
	if list, terr := tapes(full); terr != nil || len(list) == 0 {
		return nil, err
	}
	if db, err = store.OpenTemp(ctx); err == nil {
		db.As(path)
	}
	return db, err
}

// with opens a database and does something about the tapes beside it.
func with(ctx context.Context, path string, open func(context.Context, string) (*store.DB, error),
	then func(context.Context, *store.DB, string) error) (*store.DB, error) {
	db, err := open(ctx, path)
	if err != nil {
		return nil, err
	}
	full, err := resolve(path)
	if err == nil {
		err = then(ctx, db, full)
	}
	if err == nil {
		err = markGone(ctx, db, full)
	}
	if err != nil {
		db.Close()
		return nil, fmt.Errorf("read the tapes beside %s: %w", path, err)
	}
	return db, nil
}

// old is a file that no recorder is just about to lock.
func old(info os.FileInfo) bool { return time.Since(info.ModTime()) > time.Minute }

func escapeGlob(s string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(s)
}
