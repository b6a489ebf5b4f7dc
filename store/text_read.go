package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"time"
)

// ErrExists is returned for a session whose UID the database holds already.
var ErrExists = errors.New("it is there already")

// openText reads the text form, or another form that Import knows, into a
// private temporary database.
func openText(ctx context.Context, path string) (*DB, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%w: opening %s: %w", ErrUnusable, path, err)
	}
	defer f.Close()
	db, err := OpenTemp(ctx)
	if err != nil {
		return nil, err
	}
	if err := db.readForeign(ctx, f, path); err != nil {
		db.Close()
		return nil, err
	}
	db.path, db.secret = path, false
	return db, nil
}

// ReadText imports the sessions of a text form (TEXTFORM.md), all of them or
// none, and returns them. name stands in errors, which name the line and wrap
// ErrUnusable.
func (db *DB) ReadText(ctx context.Context, r io.Reader, name string) ([]*Session, error) {
	return db.importBy(ctx, func(temp *DB) error { return temp.readText(ctx, r, name) })
}

// Import is ReadText for whatever this package can read: the text form or
// ReadWire's. What it is shows in its first line.
func (db *DB) Import(ctx context.Context, r io.Reader, name string) ([]*Session, error) {
	return db.importBy(ctx, func(temp *DB) error { return temp.readForeign(ctx, r, name) })
}

// importBy lets read fill a temporary database and copies its sessions. So a
// broken file leaves nothing, and db is locked for the time of the copy only.
func (db *DB) importBy(ctx context.Context, read func(temp *DB) error) ([]*Session, error) {
	temp, err := OpenTemp(ctx)
	if err != nil {
		return nil, err
	}
	defer temp.Close()
	if err := read(temp); err != nil {
		return nil, err
	}
	list, err := temp.Sessions(ctx)
	if err != nil {
		return nil, err
	}
	return db.Copy(ctx, list...)
}

// readForeign sees by the first line what r holds.
func (db *DB) readForeign(ctx context.Context, r io.Reader, name string) error {
	first, r, err := firstLine(r)
	if err != nil {
		return fmt.Errorf("%w: reading %s: %w", ErrUnusable, name, err)
	}
	var form struct {
		Agentrec json.RawMessage `json:"agentrec"`
		Dir      *string         `json:"dir"`
	}
	if json.Unmarshal(first, &form) == nil {
		switch {
		case form.Agentrec != nil:
			return db.readText(ctx, r, name)
		case form.Dir != nil:
			return db.readWire(ctx, r, name)
		}
	}
	if len(bytes.TrimSpace(first)) == 0 {
		return fmt.Errorf("%w: %s is empty", ErrUnusable, name)
	}
	return fmt.Errorf("%w: %s is not a recording: neither an agentrec database nor its text form", ErrUnusable, name)
}

// bom may stand at the beginning of a text file.
const bom = "\ufeff"

// firstLine returns the first line of r that is not blank, at most maxObject of
// it, and a reader for all of r.
func firstLine(r io.Reader) ([]byte, io.Reader, error) {
	var head []byte
	piece := make([]byte, 4096)
	for len(head) < maxObject {
		n, err := r.Read(piece)
		head = append(head, piece[:n]...)
		text := bytes.TrimLeft(bytes.TrimPrefix(head, []byte(bom)), " \t\r\n")
		if line, _, ok := bytes.Cut(text, []byte("\n")); ok || err == io.EOF {
			return line, io.MultiReader(bytes.NewReader(head), r), nil
		}
		if err != nil {
			return nil, nil, err
		}
	}
	return head, io.MultiReader(bytes.NewReader(head), r), nil
}

// textReader builds sessions from the lines of a text form.
type textReader struct {
	ctx  context.Context
	db   *DB
	n    int64 // of the line being read, from 1
	w    *Writer
	last time.Duration // of the line before
	line textLine      // being read
	in   bool          // whether within it
	head bool          // the line being read is a header
	buf  []byte        // the line's value so far
	raw  int64         // bytes not committed
	big  bool          // the frame being read is a giant
	more bool          // a session may have more lines: its proof has not come
	had  bool          // whether there was a session
}

func (db *DB) readText(ctx context.Context, r io.Reader, name string) error {
	t := &textReader{ctx: ctx, db: db, n: 1}
	t.line.take = t.take
	if err := t.read(r); err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("reading %s: %w", name, err)
		}
		return fmt.Errorf("%w: %s line %d: %w", ErrUnusable, name, t.n, err)
	}
	return nil
}

func (t *textReader) read(r io.Reader) error {
	var s Splitter
	take := func(l Line) error {
		if err := t.piece(l.Raw); err != nil {
			return err
		}
		if !l.Last {
			return nil
		}
		if err := t.endLine(); err != nil {
			return err
		}
		t.n++
		return nil
	}
	chunk := make([]byte, 256<<10)
	for begun := false; ; {
		n, err := r.Read(chunk)
		p := chunk[:n]
		if !begun && n > 0 {
			begun = true
			p = bytes.TrimPrefix(p, []byte(bom))
		}
		if err := s.Split(p, take); err != nil {
			return err
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
	}
	if err := s.End(take); err != nil {
		return err
	}
	if !t.had {
		return errors.New("there is no session")
	}
	return t.endSession()
}

// piece takes a line or a piece of one.
func (t *textReader) piece(p []byte) error {
	if !t.in && !t.head {
		if p = bytes.TrimLeft(p, " \t\r"); len(p) == 0 {
			return nil
		}
		if p[0] == '{' {
			t.head = true
		} else {
			t.in = true
		}
	}
	if t.head {
		if len(t.buf)+len(p) > maxObject {
			return errors.New("a header cannot be so long")
		}
		t.buf = append(t.buf, p...)
		return nil
	}
	return t.line.add(p)
}

// take takes bytes of the line's value.
func (t *textReader) take(p []byte) error {
	stream, frame := parseStream(t.line.kind)
	switch {
	case !frame:
		most := maxObject
		if t.line.kind == "exchange" {
			most = maxExchangeText
		}
		if len(t.buf)+len(p) > most {
			return errors.New("its value is too long")
		}
	case t.w == nil || !t.more:
		return errNoHeader
	case bytes.IndexByte(p, '\n') >= 0:
		return errors.New("a frame cannot hold a line feed")
	case t.big:
		t.w.part(stream, p)
		return t.weigh(len(p))
	case len(t.buf)+len(p) > MaxRaw:
		t.big = true
		t.w.part(stream, t.buf)
		t.w.part(stream, p)
		n := len(t.buf) + len(p)
		t.buf = nil
		return t.weigh(n)
	}
	t.buf = append(t.buf, p...)
	return nil
}

var errNoHeader = errors.New("no header stands before it, or the proof ended its session")

// weigh commits when there is much to commit.
func (t *textReader) weigh(n int) error {
	if t.raw += int64(n) + 32; t.raw < 8<<20 {
		return nil
	}
	t.raw = 0
	return t.w.Commit(t.ctx, nil)
}

func (t *textReader) endLine() error {
	defer func() {
		if t.in {
			t.line.reset()
		}
		t.in, t.head, t.big = false, false, false
		if t.buf = t.buf[:0]; cap(t.buf) > 1<<20 {
			t.buf = nil
		}
	}()
	if t.head {
		return t.header()
	}
	if !t.in {
		return nil // a blank line
	}
	l := &t.line
	if err := l.end(); err != nil {
		return err
	}
	if t.w == nil || !t.more {
		return errNoHeader
	}
	at, err := t.at(l.gap)
	if err != nil {
		return err
	}
	stream, frame := parseStream(l.kind)
	switch {
	case frame && t.big:
		t.w.endParts(stream, at, l.term)
	case frame:
		t.w.Frame(stream, at, t.buf, l.term)
	case l.kind == "event":
		e, err := t.event()
		if err != nil {
			return err
		}
		e.Time = at
		t.w.Event(e)
	case l.kind == "exchange":
		x, err := t.exchange(at)
		if err != nil {
			return err
		}
		t.w.Exchange(x)
	default:
		return t.proof(at)
	}
	return t.weigh(len(t.buf))
}

// at is the time of a line that comes gap microseconds after the last one.
func (t *textReader) at(gap int64) (time.Duration, error) {
	const most = math.MaxInt64 / 1000
	us := t.last.Microseconds()
	if gap > most-us || gap < -us {
		return 0, errors.New("its time lies before the session's start or too far behind it")
	}
	t.last = time.Duration(us+gap) * time.Microsecond
	return t.last, nil
}

func (t *textReader) event() (Event, error) {
	var form textEvent
	if err := decodeObject(t.buf, &form); err != nil {
		return Event{}, err
	}
	e := Event{Kind: form.Kind, Signal: form.Signal, Exit: form.Exit, Bytes: form.Bytes, Detail: form.Detail}
	if form.Stream != "" {
		s, ok := parseStream(form.Stream)
		if !ok {
			return e, fmt.Errorf("there is no stream %q", form.Stream)
		}
		e.Stream = s
	}
	if e.Kind == "" {
		return e, errors.New("an event must have a kind")
	}
	return e, nil
}

func decodeObject(b []byte, v any) error {
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("it cannot be read: %w", err)
	}
	return nil
}

func (t *textReader) header() error {
	if err := t.endSession(); err != nil {
		return err
	}
	var h textHeader
	if err := decodeObject(t.buf, &h); err != nil {
		return err
	}
	version, err := strconv.Atoi(string(h.Agentrec))
	switch {
	case h.Agentrec == nil:
		return errors.New(`a header must begin a session: {"agentrec":1,...}`)
	case err != nil || version < 1:
		return fmt.Errorf("%s is not a version of the text form", h.Agentrec)
	case version > textVersion:
		return fmt.Errorf("it was written by a newer agentrec (text form %d); use that one or a later one", version)
	}
	s := Start{
		UID: h.UID, Name: h.Name, Tags: h.Tags, Host: h.Host, Cwd: h.Cwd, Folders: h.Folders, Argv: h.Argv, Version: h.Version,
		Dialect: h.Dialect, Unredacted: h.Unredacted, Edited: h.Edited, Parent: h.Parent,
	}
	if h.Started != "" {
		if s.Started, err = time.Parse(time.RFC3339Nano, h.Started); err != nil {
			return fmt.Errorf("started: %q is not a time like 2006-01-02T15:04:05.000000Z", h.Started)
		}
	}
	t.w, err = t.db.Begin(t.ctx, s)
	if errors.Is(err, ErrExists) {
		return fmt.Errorf("a session with the uid %q stands before it", h.UID)
	}
	if err != nil {
		return err
	}
	t.had, t.more, t.last, t.raw = true, true, 0, 0
	return nil
}

// proof ends the session and sees whether the proof fits what was read.
func (t *textReader) proof(at time.Duration) error {
	var form textProof
	if err := decodeObject(t.buf, &form); err != nil {
		return err
	}
	if form.State != Closed && form.State != Cut {
		return fmt.Errorf("a proof must say that the session is %s or %s, not %q", Closed, Cut, form.State)
	}
	claimed, err := textChains{form.In, form.Out, form.Err}.chains()
	if err != nil {
		return err
	}
	e := ending{End: End{State: form.State, Reason: form.Reason, Exit: form.Exit, Ended: at, Wire: form.Wire.counts()}}
	if form.Original != nil {
		original, err := form.Original.chains()
		if err != nil {
			return err
		}
		e.original = &original
		if e.originalExchanges, err = form.Original.Exchanges.chain(); err != nil {
			return err
		}
	}
	exchanges, err := form.Exchanges.chain()
	if err != nil {
		return err
	}
	if claimed != t.w.chains || exchanges != t.w.exchanges.chain() {
		e.edited = true
		if e.original == nil {
			e.original, e.originalExchanges = &claimed, exchanges
		}
	}
	t.more = false
	return t.w.end(t.ctx, e)
}

// endSession ends a session that has no proof.
func (t *textReader) endSession() error {
	if t.w == nil || !t.more {
		return nil
	}
	t.more = false
	return t.w.end(t.ctx, ending{End: End{
		State: Cut, Reason: "the text form ends without a proof", Ended: t.last, Wire: [Streams]int64{-1, -1, -1},
	}})
}
