// Package tape is the append-only side file that a recorder writes before it
// forwards anything, the drain that turns it into frames in a database, and the
// recovery of tapes whose recorder died.
//
//	chunk -> stamp, seal, append -> (forward)          the recorder's hot path
//	           tape -> cut, detect, redact -> store    the drain, behind it
package tape

import (
	"context"
	"time"

	"os"
	"strings"

	"agentrec/store"
)

// OpenWrite opens the database at path for writing, creates it when missing,
// and takes over the tapes left by recorders that died. The caller closes it.
func OpenWrite(ctx context.Context, path string) (*store.DB, error) {
	db, err := store.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	full, err := resolve(path)
	if err == nil {
		err = takeOver(ctx, db, full)
	}
	if err != nil {
		db.Close()
		return nil, err
	}
	return db, nil
}

// Open opens FILE for reading, whatever it is: a database, with left-over
// tapes read as part of it, or a text file. Nothing is written to it or beside
// it. The caller closes it.
func Open(ctx context.Context, path string) (*store.DB, error) { return store.OpenRead(ctx, path) }

// old is a file that no recorder is just about to lock.
func old(info os.FileInfo) bool { return time.Since(info.ModTime()) > time.Minute }

func escapeGlob(s string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(s)
}
