package transcript

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"

	"agentrec/internal/dialect"
	"agentrec/store"
)

const (
	textMagic  = "agentrec text 1\n"
	textSuffix = ".text"
	maxHead    = 64 << 20 // bytes of what stands before the rows
)

// OpenText returns the text index of a session. That of a long session which
// has ended is kept in the user's cache directory; progress is called while it
// is made, with the number of the frame it has come to. That of a session being
// recorded is empty: Extend fills it. For a short session there is none, which
// is nil. A failing cache is no error. The caller calls Close.
func OpenText(ctx context.Context, s *store.Session, d *dialect.Dialect, progress func(seq int64)) (*Text, error) {
	dir, err := indexDir()
	if err != nil {
		dir = ""
	}
	return openText(ctx, s, d, dir, indexFrames, progress)
}

func openText(ctx context.Context, s *store.Session, d *dialect.Dialect, dir string, least int64, progress func(seq int64)) (*Text, error) {
	if s.State == store.Recording {
		return newText(s, d), nil
	}
	if s.Count() < least {
		return nil, nil
	}
	kept := dir != "" && plainName(s.UID)
	path := filepath.Join(dir, indexName(s, d)+textSuffix)
	if kept {
		if x, err := readText(path, s, d); err == nil {
			touch(path)
			return x, nil
		}
	}
	x := newText(s, d)
	if err := x.Extend(ctx, progress); err != nil {
		return nil, err
	}
	if !kept || forget(dir, s.UID, textSuffix, filepath.Base(path)) != nil || x.write(path) != nil {
		return x, nil // a cache that cannot be written is no reason to fail
	}
	pruneIndexes(dir, indexTotal)
	if y, err := readText(path, s, d); err == nil {
		return y, nil
	}
	return x, nil
}

// write writes the index of a session that has ended to a file, whole or not at
// all: the head with its length and sum, then the rows of each segment, no
// wider than its blocks need.
func (x *Text) write(path string) error {
	x.cut()
	e := encoder{}
	e.i(x.last)
	e.n(len(x.list))
	for i := range x.list {
		g := &x.list[i]
		e.n(len(g.ends))
		last := int64(0)
		for _, end := range g.ends {
			e.i(end - last)
			last = end
		}
	}
	head := binary.BigEndian.AppendUint32([]byte(textMagic), uint32(len(e.b)))
	head = binary.BigEndian.AppendUint32(head, crc32.ChecksumIEEE(e.b))
	return writeWhole(path, func(w io.Writer) error {
		if _, err := w.Write(append(head, e.b...)); err != nil {
			return err
		}
		for i := range x.list {
			g := &x.list[i]
			width := (len(g.ends) + 7) / 8
			rows := make([]byte, 0, width<<gramBits)
			for h := range 1 << gramBits {
				rows = append(rows, g.rows[h*g.width:h*g.width+width]...)
			}
			if _, err := w.Write(rows); err != nil {
				return err
			}
		}
		return nil
	})
}

// readText opens an index. Any error means that there is none worth reading.
func readText(path string, s *store.Session, d *dialect.Dialect) (_ *Text, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	fixed := make([]byte, len(textMagic)+8)
	if _, err := io.ReadFull(f, fixed); err != nil {
		return nil, err
	}
	size := int64(binary.BigEndian.Uint32(fixed[len(textMagic):]))
	sum := binary.BigEndian.Uint32(fixed[len(textMagic)+4:])
	if !bytes.HasPrefix(fixed, []byte(textMagic)) || size > maxHead {
		return nil, errIndex
	}
	head, err := io.ReadAll(io.LimitReader(f, size))
	if err != nil || int64(len(head)) != size || crc32.ChecksumIEEE(head) != sum {
		return nil, errIndex
	}
	x := newText(s, d)
	x.file = f
	at := int64(len(fixed)) + size
	dec := decoder{b: head}
	x.last = dec.i()
	end := int64(0)
	for range dec.n() {
		g := segment{at: at}
		for range dec.n() {
			step := dec.i()
			if end += step; step < 1 {
				dec.fail()
			}
			g.ends = append(g.ends, end)
		}
		g.width = (len(g.ends) + 7) / 8
		at += int64(g.width) << gramBits
		x.list = append(x.list, g)
		end = 0
		if len(g.ends) > segBlocks {
			dec.fail()
		}
	}
	info, err := f.Stat()
	if err != nil || dec.err != nil || len(dec.b) > 0 || info.Size() != at || x.last != s.Count() || !x.rising() {
		return nil, errIndex
	}
	return x, nil
}

// rising reports whether the blocks follow each other up to the last frame.
func (x *Text) rising() bool {
	last := int64(0)
	for _, g := range x.list {
		for _, end := range g.ends {
			if end <= last {
				return false
			}
			last = end
		}
	}
	return last == x.last
}

// writeWhole writes a file so that it is there whole or not at all.
func writeWhole(path string, write func(io.Writer) error) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("writing an index: %w", err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), "*.part") // mode 0600
	if err != nil {
		return fmt.Errorf("writing an index: %w", err)
	}
	err = write(f)
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // the first error counts
		return fmt.Errorf("writing an index: %w", err)
	}
	return nil
}
