package tape

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"agentrec/store"
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
}

func (o *orphan) close() { o.file.Close() }

// errOwned is a tape whose recorder is at work, or that is gone already.
var errOwned = errors.New("the tape has an owner")

// adopt opens a tape whose owner is gone and takes its lock. The caller closes
// it. A missing key is no error: o.key is nil then.
func adopt(path string) (*orphan, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, os.ErrPermission) {
		f, err = os.Open(path)
	}
	if err != nil {
		return nil, err
	}
	o := &orphan{path: path, file: f}
	if err := o.own(); err != nil {
		f.Close()
		return nil, err
	}
	return o, nil
}

func (o *orphan) own() error {
	owned, err := lock(o.file)
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
	head := make([]byte, headerSize)
	if _, err := o.file.ReadAt(head, 0); err != nil {
		return fmt.Errorf("read the tape %s: %w", o.path, err)
	}
	id, err := parseFileHeader(head)
	if err != nil {
		return fmt.Errorf("read the tape %s: %w", o.path, err)
	}
	o.id = id.String()
	if !strings.HasSuffix(o.path, infix+o.id) {
		return fmt.Errorf("read the tape %s: it belongs to session %s", o.path, o.id)
	}
	if o.key, o.keyPath, err = findKey(o.id); err != nil && !errors.Is(err, errNoKey) {
		return err
	}
	return nil
}

// drainInto brings the whole tape into db and closes the session.
func (o *orphan) drainInto(ctx context.Context, db *store.DB) error {
	aead, err := newAEAD(o.key)
	if err != nil {
		return err
	}
	d, err := newDrain(ctx, db, newReader(o.file, aead), o.size, true)
	if err != nil {
		return err
	}
	cut := ""
	if err := d.drainAll(ctx, o.size); errors.Is(err, errTorn) {
		// A record that its writer did not finish was not forwarded either.
		if err := d.commit(ctx); err != nil {
			return err
		}
	} else if err != nil {
		return err
	}
	if d.end == nil {
		cut = killed
	}
	return d.close(ctx, d.end, cut)
}

// takeOver brings the tapes that dead recorders left beside db into it. One
// tape that cannot be read keeps no one from the others, and stays.
func takeOver(ctx context.Context, db *store.DB, path string) error {
	list, err := tapes(path)
	if err != nil {
		return err
	}
	sweep(path)
	for _, path := range list {
		o, err := adopt(path)
		if err != nil {
			continue
		}
		if o.key != nil && o.drainInto(ctx, db) == nil {
			os.Remove(o.path)
			os.Remove(o.keyPath)
		}
		o.close()
		if ctx.Err() != nil {
			return context.Cause(ctx)
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
		f, err := os.OpenFile(path, os.O_RDWR, 0)
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
