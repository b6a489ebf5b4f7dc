package transcript

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"agentrec/internal/dialect"
	"agentrec/store"

	"github.com/klauspost/compress/zstd"
)

// A transcript of a long session is kept in an index file in the user's cache
// directory, so that the session opens at once the next time. An index may be
// deleted at any moment: it holds nothing that cannot be derived again.
const (
	indexMagic  = "agentrec index 6\n"
	indexSuffix = ".index"
	indexFrames = 20_000  // shorter sessions are derived each time
	indexTotal  = 1 << 30 // bytes that all index files may take
	indexLimit  = 2 << 30 // bytes that one may unpack to
)

// Open is Build for looks that want to begin at once: it takes the transcript
// of a long session that has ended from its index, and writes that when there
// is none. A failing cache is no error.
func Open(ctx context.Context, s *store.Session, d *dialect.Dialect) (*Transcript, error) {
	dir, err := indexDir()
	if err != nil {
		return Build(ctx, s, d)
	}
	return openIndexed(ctx, s, d, dir, indexFrames)
}

// Forget deletes what is kept of a session besides its database: for those who
// take something out of it.
func Forget(uid string) error {
	dir, err := indexDir()
	if err != nil {
		return nil // nothing can have been kept
	}
	for _, suffix := range []string{indexSuffix, textSuffix, foundSuffix} {
		if err := forget(dir, uid, suffix, ""); err != nil {
			return err
		}
	}
	return nil
}

func indexDir() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "agentrec"), nil
}

func openIndexed(ctx context.Context, s *store.Session, d *dialect.Dialect, dir string, least int64) (*Transcript, error) {
	if s.State == store.Recording || s.Count() < least || !plainName(s.UID) {
		return Build(ctx, s, d)
	}
	if d == nil {
		var err error
		if d, err = Detect(ctx, s, dialect.Set{}); err != nil {
			return nil, err
		}
	}
	path := filepath.Join(dir, indexName(s, d)+indexSuffix)
	if t, err := readIndex(path, s, d); err == nil {
		if t.Events, err = s.Events(ctx); err != nil {
			return nil, fmt.Errorf("reading the events of session %d: %w", s.ID, err)
		}
		if t.Exchanges, _, err = t.newExchanges(ctx); err != nil {
			return nil, err
		}
		if t.besidesFit() {
			touch(path)
			return t, nil
		}
	}
	t, err := Build(ctx, s, d)
	if err != nil {
		return t, err
	}
	// A cache that cannot be written is no reason to fail.
	if forget(dir, s.UID, indexSuffix, filepath.Base(path)) == nil && writeIndex(path, t) == nil {
		pruneIndexes(dir, indexTotal)
	}
	return t, nil
}

// touch says that an index was used: the age only says what to drop first.
func touch(path string) {
	now := time.Now()
	_ = os.Chtimes(path, now, now)
}

// plainName reports whether a session's id can stand in a file name.
func plainName(uid string) bool {
	return uid != "" && len(uid) <= 64 && strings.Trim(uid, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") == ""
}

// indexName names the indexes of a session as it is now, read by a dialect as it
// is now, less their suffix.
func indexName(s *store.Session, d *dialect.Dialect) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s %s %s\n", indexMagic, d.Name(), d.Version())
	for _, c := range s.Chains {
		fmt.Fprintf(h, "%d %d %x\n", c.Frames, c.Bytes, c.Hash)
	}
	fmt.Fprintf(h, "%d %d\n", s.Exchanged, s.ExchangedBytes)
	return s.UID + "-" + hex.EncodeToString(h.Sum(nil)[:8])
}

// forget deletes the indexes of a session that have a suffix, but for one.
func forget(dir, uid, suffix, but string) error {
	files, err := filepath.Glob(filepath.Join(dir, uid+"-*"+suffix))
	if err != nil || !plainName(uid) {
		return err
	}
	for _, f := range files {
		if filepath.Base(f) == but {
			continue
		}
		if err := os.Remove(f); err != nil && !os.IsNotExist(err) {
			return fmt.Errorf("deleting the index of session %s: %w", uid, err)
		}
	}
	return nil
}

// pruneIndexes deletes the indexes that were not used for longest, until the
// rest takes no more than total bytes.
func pruneIndexes(dir string, total int64) {
	type file struct {
		path string
		size int64
		used time.Time
	}
	var files []file
	var paths []string
	for _, suffix := range []string{indexSuffix, textSuffix, foundSuffix} {
		list, err := filepath.Glob(filepath.Join(dir, "*"+suffix))
		if err != nil {
			return
		}
		paths = append(paths, list...)
	}
	sum := int64(0)
	for _, p := range paths {
		if info, err := os.Stat(p); err == nil {
			files = append(files, file{p, info.Size(), info.ModTime()})
			sum += info.Size()
		}
	}
	slices.SortFunc(files, func(a, b file) int { return cmp.Or(a.used.Compare(b.used), cmp.Compare(a.path, b.path)) })
	for _, f := range files {
		if sum <= total {
			return
		}
		if os.Remove(f.path) == nil {
			sum -= f.size
		}
	}
}

// writeIndex writes an index so that it is there whole or not at all: packed,
// then how long it is unpacked, then the hash of both.
func writeIndex(path string, t *Transcript) error {
	return writeWhole(path, func(w io.Writer) error {
		if _, err := io.WriteString(w, indexMagic); err != nil {
			return err
		}
		sum := sha256.New()
		both := io.MultiWriter(w, sum)
		z, err := zstd.NewWriter(both, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20))
		if err != nil {
			return err
		}
		e := &encoder{w: z}
		t.encodeTo(e)
		if err := errors.Join(e.err, z.Close()); err != nil {
			return err
		}
		if _, err := both.Write(binary.BigEndian.AppendUint64(nil, uint64(e.n64))); err != nil {
			return err
		}
		_, err = w.Write(sum.Sum(nil))
		return err
	})
}

// readIndex reads an index. Any error means that there is none worth reading.
func readIndex(path string, s *store.Session, d *dialect.Dialect) (*Transcript, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, indexTotal))
	if err != nil {
		return nil, err
	}
	rest, ok := bytes.CutPrefix(b, []byte(indexMagic))
	at := len(rest) - sha256.Size
	if !ok || at < 8 || sha256.Sum256(rest[:at]) != [sha256.Size]byte(rest[at:]) {
		return nil, errIndex
	}
	size := binary.BigEndian.Uint64(rest[at-8:])
	if size > indexLimit {
		return nil, errIndex
	}
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(indexLimit), zstd.WithDecodeAllCapLimit(true))
	if err != nil {
		return nil, err
	}
	defer z.Close()
	plain, err := z.DecodeAll(rest[:at-8], make([]byte, 0, size))
	if err != nil {
		return nil, err
	}
	return decodeTranscript(plain, s, d)
}

// besidesFit reports whether the events and exchanges that the items name are
// all there are, and notes the places of exchanges.
func (t *Transcript) besidesFit() bool {
	events := 0
	for _, r := range t.items {
		switch r.kind {
		case KindEvent:
			events++
		case KindExchange:
			if n := len(t.placed); int(r.index) != n || n >= len(t.Exchanges) {
				return false
			}
			t.placed = append(t.placed, t.Exchanges[r.index].After)
		}
	}
	return events == len(t.Events) && len(t.placed) == len(t.Exchanges)
}
