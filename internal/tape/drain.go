package tape

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"time"

	"agentrec/internal/dialect"
	"agentrec/internal/redact"
	"agentrec/store"
)

// maxWeight is how many bytes of frames are added before they are committed.
const maxWeight = 2 << 20

// observed is how many stored frames a resumed drain shows the detector again.
const observed = 200

// Drain turns the records of one tape into frames and events of one session:
// cut, detect, redact, store. It belongs to one goroutine at a time.
type Drain struct {
	db       *store.DB
	reader   *reader
	writer   *store.Writer
	detector *dialect.Detector
	redactor *redact.Session

	first   int64                // where the records after the start begin
	at      place                // the next record
	from    [store.Streams]int64 // bytes of each stream an earlier drain has stored
	skip    int64                // events an earlier drain has stored
	resumed [store.Streams]int64 // parts an earlier drain has stored of an open giant

	lines  [store.Streams]line
	done   [store.Streams]int64
	events int64
	lost   [store.Streams]int64 // said to be lost on the tape
	gone   int64                // bytes that went with a deleted database

	begun   map[uint64]*openExchange // by their id on the tape
	dropped int64                    // exchanges that went with a deleted database
	spare   int64                    // how much of the tape an open exchange may keep
	letGo   map[uint64]bool          // those that kept more
	cutOff  int64                    // bytes of theirs that came after

	now    time.Duration
	weight int  // of what was added since the last commit
	dirty  bool // something was read since the last commit
	end    *End // the end record, when the tape has one
	cut    bool // said so
	damage damage

	taught, sealed []byte // what the redactor was taught, in clear and for checkpoints
}

// damage is what of a tape does not open.
type damage struct {
	At    int64 `json:"at"`    // where it begins
	Bytes int64 `json:"bytes"` // 0 for none
}

func (d damage) String() string {
	return fmt.Sprintf("its tape is damaged at byte %d: %s cannot be read", d.At, bytesOf(d.Bytes))
}

func bytesOf(n int64) string {
	if n == 1 {
		return "1 byte"
	}
	return fmt.Sprintf("%d bytes", n)
}

// newDrain begins or resumes the session of a tape. secret is the redaction
// key; id is the number of a session that begins, 0 for the next one.
func newDrain(ctx context.Context, db *store.DB, secret []byte, r *reader, length, id int64) (*Drain, error) {
	first, err := r.read(length)
	if err != nil || first.kind != kindStart {
		return nil, fmt.Errorf("read the start of the tape: %w", errors.Join(err, errStart))
	}
	var s Start
	if err := json.Unmarshal(first.data, &s); err != nil {
		return nil, fmt.Errorf("read the start of the tape: %w", err)
	}
	d := &Drain{db: db, spare: mostHeld, reader: r}
	if err := d.readRoom(length); err != nil {
		return nil, fmt.Errorf("read the start of the tape: %w", err)
	}
	d.at, d.first = place{Offset: r.next}, r.next
	argv := s.Argv
	if !s.Unredacted {
		r, err := redact.New(redact.Options{Key: secret, Environ: s.Environ, DotEnv: s.DotEnv, Rules: s.Rules})
		if err != nil {
			return nil, err
		}
		d.redactor = r.Session()
		argv = d.redactor.Argv(argv) // which learns from it
	}
	if err := d.resume(ctx, s); !errors.Is(err, store.ErrNotFound) {
		return d, err
	}
	d.writer, err = db.Begin(ctx, store.Start{
		ID: id, UID: s.UID, Name: d.text(s.Name), Tags: d.texts(s.Tags), Started: s.Started, Host: s.Host, Cwd: d.text(s.Cwd), Folders: d.texts(s.Folders),
		Argv: argv, Version: s.Version, Unredacted: s.Unredacted, Parent: s.Parent,
	})
	if err != nil {
		return nil, err
	}
	return d, d.choose(ctx, s)
}

// readRoom reads the record behind the start if it is the room of the end.
func (d *Drain) readRoom(length int64) error {
	at := d.reader.next
	rec, err := d.reader.read(length)
	switch {
	case err == nil && rec.kind == kindEnd:
		d.end = new(End)
		return json.Unmarshal(rec.data, d.end)
	case err != nil || rec.kind != kindRoom:
		d.reader.seek(at) // an earlier version's, or damaged: what follows is told later
	}
	return nil
}

// resume goes on where an earlier drain of the tape ended.
func (d *Drain) resume(ctx context.Context, s Start) error {
	w, b, err := d.db.Resume(ctx, s.UID)
	if err != nil {
		return err
	}
	d.writer = w
	c, err := decodeCheckpoint(b)
	if err != nil {
		return err
	}
	if c.Anchor.Offset > 0 {
		d.at, d.from, d.done = c.Anchor, c.Done, c.Done
		d.skip, d.events, d.resumed, d.dropped = c.Events, c.Events, c.Parts, c.Dropped
		d.lost, d.damage, d.cutOff, d.gone = c.Lost, c.Damage, c.CutOff, c.Gone
		d.reader.seek(c.Anchor.Offset)
	}
	d.recall(c)
	d.now = w.Session().Ended
	if s.Dialect == "" {
		s.Dialect = w.Session().Dialect
	}
	return d.choose(ctx, s)
}

// skipTo goes on at a checkpoint of a database that is gone. What it held is
// lost, and said to be.
func (d *Drain) skipTo(c checkpoint) {
	d.at, d.from, d.done, d.skip, d.events = c.Anchor, c.Done, c.Done, c.Events, c.Events
	d.dropped, d.damage = c.Anchor.Exchanges, c.Damage
	d.recall(c)
	d.reader.seek(c.Anchor.Offset)
	for s, n := range c.Done {
		if n > 0 {
			d.gone += n
			d.writer.Event(store.Event{Kind: store.EventLost, Stream: store.Stream(s), Bytes: n, Detail: deleted})
		}
	}
	d.dirty = true
}

// deleted is why bytes are missing that were recorded once.
const deleted = "the database that held them was deleted"

// choose sets the dialect that is known, or begins to detect it.
func (d *Drain) choose(ctx context.Context, s Start) error {
	// A table that is gone by now is no reason to lose a recording.
	set, err := dialect.LoadSet(s.Dialect)
	if err != nil {
		set = dialect.Set{}
	}
	if known := set.Choose(""); known != nil {
		d.use(known)
		return nil
	}
	d.detector = set.Detector(s.Argv)
	for f, err := range d.writer.Session().Frames(ctx, 1, observed) {
		if err != nil {
			return err
		}
		if d.detector.Observe(f.Stream, f.Raw) {
			d.decide()
			break
		}
	}
	return nil
}

func (d *Drain) decide() {
	d.use(d.detector.Dialect())
	d.detector = nil
}

func (d *Drain) use(known *dialect.Dialect) {
	d.writer.SetDialect(known.Name())
	if d.redactor != nil {
		d.redactor.SetDialect(known)
	}
}

// step reads on until the tape is at length (io.EOF), enough is waiting for a
// commit or the time until has come.
func (d *Drain) step(length int64, until time.Time) error {
	for n := 1; d.weight < maxWeight; n++ {
		if n%4 == 0 && !time.Now().Before(until) {
			return nil
		}
		rec, err := d.reader.read(length)
		if errors.Is(err, errDamaged) || errors.Is(err, errTorn) {
			if err = d.skipDamage(length, err); err == nil {
				continue
			}
		}
		if err != nil {
			return err
		}
		if err := d.take(rec); err != nil {
			return err
		}
	}
	return nil
}

// skipDamage goes on behind a record that cannot be read, for the reason why.
// Lines do not go on across it. It returns errTorn when nothing follows that
// was ever written whole: that is where the tape ends.
func (d *Drain) skipDamage(length int64, why error) error {
	from := d.reader.next
	n, blank, err := d.reader.resync(length)
	if err != nil {
		return err
	}
	if blank || d.reader.next == length && errors.Is(why, errTorn) {
		return errTorn
	}
	if d.damage.Bytes == 0 {
		d.damage.At = from
	}
	d.damage.Bytes += n
	d.dirty = true
	d.at.Offset = d.reader.next
	for s := range store.Streams {
		if err := d.flush(store.Stream(s), d.now); err != nil {
			return err
		}
	}
	d.cutExchanges(d.now, "the tape is damaged")
	return nil
}

// take stores what one record says.
func (d *Drain) take(rec record) error {
	d.dirty = true
	here := d.at
	here.Offset = rec.offset
	d.at.Offset = d.reader.next
	switch rec.kind {
	case kindIn, kindOut, kindErr:
		s := store.Stream(rec.kind)
		d.at.Bytes[s] += int64(len(rec.data))
		if old := d.from[s] - here.Bytes[s]; old > 0 {
			if old >= int64(len(rec.data)) {
				return nil
			}
			rec.data = rec.data[old:]
		}
		return d.chunk(s, rec.time, rec.data, here)
	case kindEvent:
		d.at.Events++
		var e event
		if err := json.Unmarshal(rec.data, &e); err != nil || e.Stream >= store.Streams {
			return fmt.Errorf("read an event of the tape: %w", errors.Join(err, errDamaged))
		}
		if d.at.Events <= d.skip {
			return nil
		}
		d.events++
		if e.Kind == store.EventLost {
			d.lost[e.Stream] += e.Bytes
		}
		return d.event(rec.time, e)
	case kindExchange:
		return d.exchange(rec, here)
	case kindEnd:
		d.end = new(End)
		return json.Unmarshal(rec.data, d.end)
	}
	return nil
}

func (d *Drain) event(t time.Duration, e event) error {
	if e.Kind == store.EventEOF || e.Kind == store.EventLost {
		if err := d.flush(e.Stream, t); err != nil {
			return err
		}
	}
	d.weight += 64
	d.writer.Event(store.Event{Time: d.clock(t), Kind: e.Kind, Stream: e.Stream, Signal: e.Signal, Exit: e.Exit, Bytes: e.Bytes, Detail: d.text(e.Detail)})
	return nil
}

// texts is text for the values of a map.
func (d *Drain) texts(m map[string]string) map[string]string {
	m = maps.Clone(m)
	for k, v := range m {
		m[k] = d.text(v)
	}
	return m
}

// text is free text as it may be stored.
func (d *Drain) text(s string) string {
	if d.redactor == nil {
		return s
	}
	return string(d.redactor.Text([]byte(s)))
}

// checkpoint returns where a later drain has to go on after what was taken.
func (d *Drain) checkpoint() checkpoint {
	c := checkpoint{
		Anchor: d.at, Done: d.done, Events: max(d.events, d.skip),
		Lost: d.lost, Damage: d.damage, CutOff: d.cutOff, Gone: d.gone, Dropped: d.dropped, Taught: d.sealed,
	}
	for _, x := range d.begun {
		if x.start.Offset < c.Anchor.Offset {
			c.Anchor = x.start
		}
	}
	for s := range d.lines {
		l := &d.lines[s]
		if l.cut.Open() && l.start.Offset < c.Anchor.Offset {
			c.Anchor = l.start
		}
		c.Parts[s] = d.resumed[s]
		if l.giant() {
			c.Parts[s] = l.parts + l.skip
		}
	}
	return c
}

// commit stores what was taken. On error it all stays pending.
func (d *Drain) commit(ctx context.Context) error {
	if !d.dirty {
		return nil
	}
	d.dropOld()
	left := d.storeGrown()
	d.sealTaught()
	if err := d.writer.Commit(ctx, d.checkpoint().encode()); err != nil {
		return err
	}
	d.weight, d.dirty = 0, left
	return nil
}

// close stores the end of the session, durably.
func (d *Drain) close(ctx context.Context, e *End, cut string) error {
	end := store.End{State: store.Closed, Ended: d.now, Wire: d.at.Bytes}
	if e != nil {
		end.Exit, end.Wire = e.Exit, e.Wire
		end.Ended = d.clock(e.Time)
		var total int64
		for s := range store.Streams {
			total += e.Lost[s]
			if rest := e.Lost[s] - d.lost[s]; rest > 0 {
				d.lost[s] = e.Lost[s]
				d.writer.Event(store.Event{Time: end.Ended, Kind: store.EventLost, Stream: store.Stream(s), Bytes: rest, Detail: e.Reason})
			}
		}
		if total += e.LostExchanges; total > 0 {
			cut = fmt.Sprintf("%d bytes were forwarded but not recorded: %s", total, e.Reason)
		}
	}
	if d.damage.Bytes > 0 {
		cut = d.damage.String()
	}
	if d.cutOff > 0 {
		cut = fmt.Sprintf("%d bytes of exchanges are missing: %s", d.cutOff, tooLong)
	}
	if d.gone > 0 {
		cut = fmt.Sprintf("%d bytes are missing: %s", d.gone, deleted)
	}
	for s := range store.Streams {
		if err := d.flush(store.Stream(s), end.Ended); err != nil {
			return err
		}
	}
	d.cutExchanges(end.Ended, "the recording ended before it")
	if cut != "" {
		end.State, end.Reason = store.Cut, cut
		if e == nil && !d.cut {
			d.cut = true
			d.writer.Event(store.Event{Time: end.Ended, Kind: store.EventCut, Detail: cut})
		}
	}
	if d.detector != nil {
		d.decide()
	}
	return d.writer.Close(ctx, end)
}

// drainAll takes everything up to length and commits it.
func (d *Drain) drainAll(ctx context.Context, length int64) error {
	for {
		err := d.step(length, time.Now().Add(commitEvery))
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if ferr := d.commit(ctx); ferr != nil {
			return ferr
		}
		if err != nil {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}

// sameFile reports whether the database file is still the one at path.
func sameFile(opened os.FileInfo, path string) bool {
	info, err := os.Stat(path)
	return err == nil && os.SameFile(opened, info)
}
