package store

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strings"
	"time"
)

// maxWireLine is the longest line that ReadWire takes.
const maxWireLine = 6*MaxRaw + 4096

// ReadWire imports one session from a log of one JSON object a line, as simple
// line tees write them:
//
//	{"t_ms": 12.5, "dir": "c2s", "line": "the line without its LF"}
//
// dir is "c2s" (client to agent), "s2c" (agent to client) or "err". "line_b64"
// may stand instead of "line", t_ms may be missing, and "no_lf": true marks a
// stream's last line that had no LF. Other keys mean nothing. The session is
// named after name, a file's. Errors name the line and wrap ErrUnusable.
func (db *DB) ReadWire(ctx context.Context, r io.Reader, name string) ([]*Session, error) {
	return db.importBy(ctx, func(temp *DB) error { return temp.readWire(ctx, r, name) })
}

type wireLine struct {
	At   *float64 `json:"t_ms"`
	Dir  string   `json:"dir"`
	Line *string  `json:"line"`
	B64  *string  `json:"line_b64"`
	NoLF bool     `json:"no_lf"`
}

func (db *DB) readWire(ctx context.Context, r io.Reader, name string) error {
	base := filepath.Base(name)
	for _, ext := range []string{".ndjson", ".jsonl", ".wire"} {
		base = strings.TrimSuffix(base, ext)
	}
	w, err := db.Begin(ctx, Start{Name: base})
	if err != nil {
		return err
	}
	lines := bufio.NewReaderSize(r, 64<<10)
	var last time.Duration
	weight := 0
	for n := 1; ; n++ {
		line, err := readLine(lines)
		if err == nil && len(bytes.TrimSpace(line)) > 0 {
			last, err = w.wireLine(bytes.TrimPrefix(line, []byte(bom)), last)
		}
		if weight += len(line); err == nil && weight > 8<<20 {
			weight = 0
			err = w.Commit(ctx, nil)
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return fmt.Errorf("%w: %s line %d: %w", ErrUnusable, name, n, err)
		}
	}
	if w.seq == 0 {
		return fmt.Errorf("%w: %s holds no frame", ErrUnusable, name)
	}
	return w.Close(ctx, End{State: Closed, Ended: last, Wire: [Streams]int64{w.chains[In].Bytes, w.chains[Out].Bytes, w.chains[Err].Bytes}})
}

// readLine returns the next line with its LF, if it has one; io.EOF when there
// is nothing more.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		piece, err := r.ReadSlice('\n')
		line = append(line, piece...)
		switch {
		case err == nil || err == io.EOF && len(line) > 0:
			return line, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		case len(line) > maxWireLine:
			return nil, errors.New("it is too long")
		}
	}
}

func (w *Writer) wireLine(line []byte, last time.Duration) (time.Duration, error) {
	var form wireLine
	if err := decodeObject(line, &form); err != nil {
		return 0, err
	}
	var stream Stream
	switch form.Dir {
	case "c2s":
		stream = In
	case "s2c":
		stream = Out
	case "err":
		stream = Err
	default:
		return 0, fmt.Errorf(`dir is %q; it must be "c2s", "s2c" or "err"`, form.Dir)
	}
	var raw []byte
	var err error
	switch {
	case form.Line != nil && form.B64 == nil:
		raw = []byte(*form.Line)
	case form.B64 != nil && form.Line == nil:
		if raw, err = base64.StdEncoding.Strict().DecodeString(*form.B64); err != nil {
			return 0, errors.New("line_b64 is not base64")
		}
	default:
		return 0, errors.New("it must hold line or line_b64")
	}
	if form.At != nil {
		us := math.Round(*form.At * 1000)
		if !(us >= 0 && us < math.MaxInt64/1000) {
			return 0, fmt.Errorf("t_ms %v cannot be", *form.At)
		}
		last = max(last, time.Duration(us)*time.Microsecond)
	}
	term := LF
	switch n := lessCR(raw); {
	case bytes.IndexByte(raw, '\n') >= 0:
		return 0, errors.New("a frame cannot hold a line feed")
	case form.NoLF:
		term = None
	case n < len(raw):
		raw, term = raw[:n], CRLF
	}
	w.Frame(stream, last, raw, term)
	return last, nil
}
