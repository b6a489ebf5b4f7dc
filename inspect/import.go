package inspect

import (
	"context"
	"errors"
	"fmt"
	"io"

	"agentrec/internal/redact"
	"agentrec/internal/tape"
	"agentrec/store"
)

// importOptions is what `agentrec import` is asked for.
type importOptions struct {
	DB    string
	Files []string // "-" is stdin
	JSON  bool
	In    io.Reader
	Out   io.Writer
	Err   io.Writer

	NoRedact bool // secrets stay
	Environ  []string
	DotEnv   []byte
}

// imported is a session that came in. Its JSON names are documented in the help.
type imported struct {
	ID   int64  `json:"id"`
	UID  string `json:"uid"`
	Name string `json:"name"`
	File string `json:"file"`
}

// importFiles copies the sessions of files into a database, each file whole or
// not at all, and prints their numbers.
func importFiles(ctx context.Context, o importOptions) error {
	db, err := tape.OpenWrite(ctx, o.DB)
	if err != nil {
		return err
	}
	defer db.Close()
	p := newPrinter(o.Out, ColorNever)
	for _, name := range o.Files {
		list, err := importFile(ctx, db, name, o)
		if errors.Is(err, store.ErrExists) {
			err = fmt.Errorf("importing %s: %w", name, err)
		}
		if err != nil {
			return p.finish(err)
		}
		for _, s := range list {
			if o.JSON {
				p.json(imported{s.ID, s.UID, s.Name, name})
			} else {
				p.line(plain(fmt.Sprintf("%d  %s", s.ID, dash(s.Name))))
			}
		}
	}
	return p.finish(nil)
}

// importFile brings the sessions of a file into db, whole or not at all. What
// is a secret is taken out before anything is written, as a recorder does,
// unless the session says that its secrets are meant to stand in it.
func importFile(ctx context.Context, db *store.DB, name string, o importOptions) ([]*store.Session, error) {
	from, err := importFrom(ctx, name, o.In)
	if err != nil {
		return nil, err
	}
	defer from.Close()
	list, err := from.Sessions(ctx)
	if err != nil {
		return nil, err
	}
	clean, err := store.OpenTemp(ctx)
	if err != nil {
		return nil, err
	}
	defer clean.Close()
	key, err := db.Secret(ctx)
	if err != nil {
		return nil, err
	}
	var taken store.Rewritten
	by := redact.Options{Key: key, Environ: o.Environ, DotEnv: o.DotEnv}
	for i, s := range list {
		own, n, _, err := withoutSecrets(ctx, clean, s, "", !o.NoRedact && !s.Unredacted, by)
		if err != nil {
			return nil, fmt.Errorf("importing session %d of %s: %w", s.ID, name, err)
		}
		list[i] = own
		taken.Frames += n.Frames
		taken.Exchanges += n.Exchanges
	}
	if taken != (store.Rewritten{}) {
		warn(o.Err, "%s: secrets were taken out of %s; --no-redact keeps them", name, amount(taken))
	}
	copies, err := db.Copy(ctx, list...)
	if err != nil || !o.NoRedact {
		return copies, err
	}
	for i, s := range copies {
		if list[i].Version == "" { // what no agentrec recorded, none has redacted
			if err := db.SetUnredacted(ctx, s); err != nil {
				return nil, err
			}
		}
	}
	return copies, nil
}

// importFrom opens what is imported; "-" is stdin.
func importFrom(ctx context.Context, name string, stdin io.Reader) (*store.DB, error) {
	if name != "-" {
		return tape.Open(ctx, name)
	}
	temp, err := store.OpenTemp(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := temp.Import(ctx, stdin, "stdin"); err != nil {
		temp.Close()
		return nil, err
	}
	return temp, nil
}
