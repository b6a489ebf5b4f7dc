// Package tape is the append-only side file that a recorder writes before it
// forwards anything, the drain that turns it into frames in a database, and the
// recovery of tapes whose recorder died.
package tape

import (
	"context"

	"agentrec/store"
)

// Open opens FILE for reading, whatever it is: a database, with left-over
// tapes read as part of it, or a text file. Nothing is written to it or beside
// it. The caller closes it.
func Open(ctx context.Context, path string) (*store.DB, error) { return store.OpenRead(ctx, path) }

// OpenWrite opens the database at path for writing, creates it when missing,
// and takes over the tapes left by recorders that died. The caller closes it.
func OpenWrite(ctx context.Context, path string) (*store.DB, error) { return store.Open(ctx, path) }
