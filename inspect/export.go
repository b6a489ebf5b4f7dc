package inspect

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"agentrec/internal/tape"
	"agentrec/internal/transcript"
	"agentrec/store"
)

// exportOptions is what `agentrec export` is asked for.
type exportOptions struct {
	File    string
	Session string // "" is all
	Dialect string // as LoadSet takes it
	Onto    string // a text file whose lines are kept where they say the same
	Output  string // "" is stdout
	Strip   bool   // a description in the place of binary data
	HTML    bool   // a page to read, not the text form
	HAR     bool   // the LLM exchanges as an HTTP archive
	OTLP    string // spans, to this file or collector; "-" is stdout
	Content bool   // spans tell what was said
	Headers string // for the collector
	Out     io.Writer
	Err     io.Writer

	NoRedact bool // secrets stay
	Environ  []string
	DotEnv   []byte
}

// export writes sessions in the text form, one as a page, their exchanges as an
// HTTP archive, or their spans.
func export(ctx context.Context, o exportOptions) error {
	db, err := tape.Open(ctx, o.File)
	if err != nil {
		return err
	}
	defer db.Close()
	var list []*store.Session
	if o.HTML { // a page is about one session
		s, err := db.Find(ctx, o.Session)
		if err != nil {
			return err
		}
		list = []*store.Session{s}
	} else if list, err = sessionsOf(ctx, db, o.Session); err != nil {
		return err
	}
	clean, err := store.OpenTemp(ctx)
	if err != nil {
		return err
	}
	defer clean.Close()
	list, taken, err := forOthers(ctx, db, clean, list, o)
	if err != nil {
		return err
	}
	if taken != (store.Rewritten{}) {
		warn(o.Err, "secrets were taken out of %s; see agentrec check --only secrets %s", amount(taken), o.File)
	}
	if o.Strip {
		bare, err := store.OpenTemp(ctx)
		if err != nil {
			return err
		}
		defer bare.Close()
		if list, err = withoutBinary(ctx, bare, list); err != nil {
			return err
		}
	}
	if o.OTLP != "" {
		return exportOTLP(ctx, list, o)
	}
	write := func(w io.Writer) error {
		switch {
		case o.HTML:
			return exportHTML(ctx, w, o, list[0])
		case o.HAR:
			return exportHAR(ctx, w, list)
		}
		for _, s := range list {
			if err := store.WriteText(ctx, w, s); err != nil {
				return err
			}
		}
		return nil
	}
	if o.Onto != "" {
		old, err := tape.Open(ctx, o.Onto)
		if err != nil {
			return err
		}
		defer old.Close()
		temp, err := store.OpenTemp(ctx)
		if err != nil {
			return err
		}
		defer temp.Close()
		if list, err = onto(ctx, temp, list, old, o.Dialect); err != nil {
			return err
		}
	}
	if o.Output != "" {
		return writeOutput(o.Output, write)
	}
	return exportTo(o.Out, write)
}

// sessionsOf returns the session that sel names, or all for "".
func sessionsOf(ctx context.Context, db *store.DB, sel string) ([]*store.Session, error) {
	if sel == "" {
		list, err := db.Sessions(ctx)
		if err == nil && len(list) == 0 {
			err = fmt.Errorf("%w: %s holds no session", store.ErrUnusable, db.Path())
		}
		return list, err
	}
	s, err := db.Find(ctx, sel)
	return []*store.Session{s}, err
}

// exportTo writes to stdout; on a terminal what could do harm is made visible.
func exportTo(w io.Writer, write func(io.Writer) error) error {
	p := newPrinter(w, ColorNever)
	if !p.term.TTY {
		err := write(w)
		if gone(err) {
			return nil
		}
		return err
	}
	return p.finish(write(rawWriter{p}))
}

// rawWriter makes a printer a writer of recorded bytes.
type rawWriter struct{ p *printer }

func (r rawWriter) Write(b []byte) (int, error) {
	r.p.raw(b)
	return len(b), r.p.err
}

// writeOutput writes the file that -o names: a new one, an old one with the
// permissions it had, or something like /dev/stdout as it comes.
func writeOutput(name string, write func(io.Writer) error) error {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return writeFile(name, write)
	case info.Mode().IsRegular():
		return replaceFile(name, write)
	}
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	return errors.Join(write(f), f.Close())
}

// writeFile writes a file whole or not at all: beside it first, then renamed
// over it. Recordings are private to their owner.
func writeFile(name string, write func(io.Writer) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(name), ".agentrec-*")
	if err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	w := bufio.NewWriterSize(f, 256<<10)
	if err = write(w); err == nil {
		err = w.Flush()
	}
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	return nil
}

// onto lays each session over the old one in the same place of its file.
func onto(ctx context.Context, temp *store.DB, list []*store.Session, old *store.DB, dialect string) ([]*store.Session, error) {
	olds, err := old.Sessions(ctx)
	if err != nil {
		return nil, err
	}
	var out []*store.Session
	for i, s := range list {
		if i >= len(olds) {
			out = append(out, s)
			continue
		}
		d, err := transcript.DialectOf(ctx, s, dialect)
		if err != nil {
			return nil, err
		}
		laid, err := layOnto(ctx, temp, s, olds[i], d)
		if err != nil {
			return nil, fmt.Errorf("laying session %d onto %s: %w", s.ID, old.Path(), err)
		}
		out = append(out, laid)
	}
	return out, nil
}
