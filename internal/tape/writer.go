package tape

import (
	"crypto/cipher"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"agentrec/store"

	"github.com/oklog/ulid/v2"
)

// maxBacklog is how much may wait on a tape for the drain.
const maxBacklog = 4 << 30

var (
	errFull      = errors.New("the tape is full: the disk is too slow or too small for this rate")
	errAbandoned = errors.New("the file system of the database does not answer")
)

// Tape is the side file of one session while its recorder runs. Chunks of one
// stream are appended by one goroutine; different streams, events and the
// drain do not need to know of each other.
type Tape struct {
	path    string
	db      string // resolved path of the database
	keyPath string
	id      string
	aead    cipher.AEAD
	file    *os.File
	began   time.Time // with the monotonic clock

	mu    sync.Mutex // orders appends
	end   int64
	room  int64 // where the record of that kind is
	long  bool  // the last record was nearly a block
	lanes [kinds]*lane

	exchanging sync.Mutex    // orders records of exchanges
	together   []byte        // a buffer for several of them
	exchanges  atomic.Uint64 // id of the last one

	drained atomic.Int64 // offset up to which the database has it
	limit   atomic.Int64 // of end - drained
	dead    atomic.Bool  // abandoned or finished: nothing is appended any more
	frozen  atomic.Bool
	length  atomic.Int64 // = end, for the drain
	idle    atomic.Bool  // the drain sleeps until wake
	wake    chan struct{}
	failure atomic.Pointer[string]
}

// lane is what a Tape keeps for one kind of record.
type lane struct {
	seal *sealer
	wire atomic.Int64 // bytes handed to Append
	lost atomic.Int64 // bytes of these that are not on the tape
	said int64        // of lost: what the tape tells already
	kept int64        // bytes of chunks on the tape
}

// Create makes the tape of a new session beside the database at path, and locks
// it. Nothing of the database is touched. The caller ends with Discard, or with
// Finish and a drain.
func Create(path string, s Start) (*Tape, error) {
	db, err := resolve(path)
	if err != nil {
		return nil, err
	}
	id, err := ulid.New(ulid.Timestamp(s.Started), rand.Reader)
	if err != nil {
		return nil, err
	}
	s.UID = id.String()
	key := newKey()
	aead, err := newAEAD(key)
	if err != nil {
		return nil, err
	}
	t := &Tape{path: db + infix + s.UID, db: db, id: s.UID, aead: aead, began: s.Started, wake: make(chan struct{}, 1)}
	for k := range t.lanes {
		size := 512
		if k < store.Streams {
			size = 2*block - recordSize - tagSize // a record and the longest fill
		}
		t.lanes[k] = &lane{seal: newSealer(aead, kind(k), size)}
	}
	first, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	temp := t.path + fresh
	t.file, err = openFile(temp, os.O_RDWR|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	head := append(fileHeader(id), t.lanes[kindStart].seal.seal(0, first, 0)...)
	t.room = int64(len(head))
	head = append(head, t.lanes[kindRoom].seal.seal(0, make([]byte, roomSize-recordSize-tagSize), 0)...)
	_, err = t.file.Write(head)
	if err == nil {
		var owned bool
		if owned, err = lock(t.file); err == nil && !owned {
			err = errors.New("locked by another process")
		}
	}
	if err == nil {
		t.keyPath = saveKey(t.id, t.path, key)
		err = os.Rename(temp, t.path)
	}
	if err != nil {
		t.file.Close()
		os.Remove(temp)
		t.removeKey()
		return nil, err
	}
	t.end = int64(len(head))
	t.length.Store(t.end)
	t.Measure()
	return t, nil
}

// None returns a tape that keeps nothing, because of err: all that is appended
// counts as lost.
func None(s Start, err error) *Tape {
	t := &Tape{began: s.Started, wake: make(chan struct{}, 1)}
	for k := range t.lanes {
		t.lanes[k] = &lane{}
	}
	t.fail(err)
	t.dead.Store(true)
	return t
}

// UID returns the id of the session.
func (t *Tape) UID() string { return t.id }

// Now returns the time since the session's start, in whole microseconds.
func (t *Tape) Now() time.Duration { return time.Since(t.began).Truncate(time.Microsecond) }

// Append stamps, seals and appends a chunk of at most MaxChunk bytes. When it
// returns nil the chunk survives the death of this process. On error it was
// counted as lost, and nothing of it is on the tape.
func (t *Tape) Append(stream store.Stream, chunk []byte) error {
	l := t.lanes[stream]
	l.wire.Add(int64(len(chunk)))
	err := errAbandoned
	if !t.dead.Load() { // else mu may be held for ever
		t.mu.Lock()
		if !t.dead.Load() {
			if err = t.chunk(l, stream, chunk); err != nil {
				t.fail(err)
			}
		}
		t.mu.Unlock()
	}
	if err != nil {
		l.lost.Add(int64(len(chunk)))
	}
	return err
}

// chunk appends the record of a chunk, after word of what was lost before it: a
// record is stamped when its place on the tape is known, so stamps are in its
// order. A record that does not fit whole is taken back. Callers hold mu.
func (t *Tape) chunk(l *lane, stream store.Stream, p []byte) error {
	size := recordSize + len(p) + tagSize
	fill := t.fill(size)
	if t.end+int64(size+fill)-t.drained.Load() > t.limit.Load() {
		return errFull
	}
	if lost := l.lost.Load(); lost > l.said {
		e, err := json.Marshal(event{Kind: store.EventLost, Stream: stream, Bytes: lost - l.said, Detail: t.Failure()})
		if err != nil {
			return err
		}
		if err := t.put(t.lanes[kindEvent].seal.seal(t.Now(), e, 0)); err != nil {
			return err
		}
		l.said = lost
		fill = 0
	}
	err := t.put(l.seal.seal(t.Now(), p, fill))
	if err == nil {
		l.kept += int64(len(p))
	}
	return err
}

// fill returns how many zeros follow a record of size bytes. Where long records
// follow each other each ends with a block, which makes one hop of a stream an
// eighth faster and the tape, at the worst, half as long again.
func (t *Tape) fill(size int) int {
	was := t.long
	t.long = size > block*3/4
	if !was || !t.long {
		return 0
	}
	return int(-(t.end + int64(size)) & (block - 1))
}

func (t *Tape) put(rec []byte) error {
	n, err := t.file.Write(rec)
	if err != nil {
		if n > 0 {
			if cut := t.file.Truncate(t.end); cut != nil {
				t.dead.Store(true) // what came next would stand behind half a record
				err = errors.Join(err, cut)
			}
		}
		return err
	}
	t.end += int64(len(rec))
	t.length.Store(t.end)
	if t.idle.Load() && t.idle.CompareAndSwap(true, false) {
		t.wake <- struct{}{}
	}
	return nil
}

// Event appends a lifecycle event, stamped now. It waits for a file system that
// does not answer no longer than Patience. A failure is not reported: the end of
// the session tells the rest.
func (t *Tape) Event(e store.Event) {
	if t.dead.Load() {
		return
	}
	b, err := json.Marshal(event{e.Kind, e.Stream, e.Signal, e.Exit, e.Bytes, e.Detail})
	if err != nil {
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.dead.Load() {
			return
		}
		if err := t.put(t.lanes[kindEvent].seal.seal(t.Now(), b, 0)); err != nil {
			t.fail(err)
		}
	}()
	select {
	case <-done:
	case <-time.After(Patience):
	}
}

// Patience is how long an append may take before the tape is given up.
const Patience = time.Second

// Finish appends how the session ended, after which nothing is appended any
// more, and returns it.
func (t *Tape) Finish(exit *store.Exit) End {
	e := End{Time: t.Now(), Exit: exit}
	t.count(&e)
	if t.frozen.Load() {
		e.Reason = t.Failure()
		return e
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.count(&e)
	for s := range store.Streams { // a chunk that still waits for mu comes too late
		e.Wire[s] = t.lanes[s].kept + e.Lost[s]
	}
	e.Reason = t.Failure()
	if t.dead.Swap(true) {
		return e
	}
	b, err := json.Marshal(e)
	if err == nil {
		err = t.put(t.lanes[kindEnd].seal.seal(e.Time, b, 0))
	}
	if err != nil {
		t.fail(err)
		_ = t.useRoom(e.Time, b) // else the tape looks like that of a killed recorder
	}
	return e
}

// useRoom writes the end of the session where its room is: that needs no more
// of a disk.
func (t *Tape) useRoom(at time.Duration, end []byte) error {
	size := recordSize + len(end) + tagSize
	if size > roomSize {
		return errFull
	}
	// What is opened for appending writes nowhere else.
	f, err := openFile(t.path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(t.lanes[kindEnd].seal.seal(at, end, roomSize-size), t.room)
	return errors.Join(err, f.Close())
}

func (t *Tape) count(e *End) {
	for s := range store.Streams {
		e.Wire[s], e.Lost[s] = t.lanes[s].wire.Load(), t.lanes[s].lost.Load()
	}
	e.LostExchanges = t.lanes[kindExchange].lost.Load()
}

// Abandon gives the tape up because an append does not come back: from now on
// every chunk is only counted.
func (t *Tape) Abandon() {
	t.frozen.Store(true)
	t.fail(errAbandoned)
	t.dead.Store(true)
}

// Undo takes back what Lost counted, once the append has returned: by then it
// has counted the chunk itself, if that was lost.
func (t *Tape) Undo(stream store.Stream, n int) { t.lanes[stream].lost.Add(int64(-n)) }

// Lost counts n forwarded bytes of a chunk that another goroutine still tries
// to append.
func (t *Tape) Lost(stream store.Stream, n int) { t.lanes[stream].lost.Add(int64(n)) }

// Failure says why bytes were lost, "" when none were. The first reason stands.
func (t *Tape) Failure() string {
	if s := t.failure.Load(); s != nil {
		return *s
	}
	return ""
}

// Full reports whether err says that a disk has no room, or does not work: what
// no one can be blamed for who started a recording.
func Full(err error) bool { return full(err) }

func (t *Tape) fail(err error) {
	s := reason(err)
	t.failure.CompareAndSwap(nil, &s)
}

// reason is an error less the names of files, which say nothing to people.
func reason(err error) string {
	var path *os.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return fmt.Sprint(err)
}

// Measure sets how long the tape may grow by the space that is free now.
func (t *Tape) Measure() {
	if t.file == nil {
		return
	}
	limit := int64(maxBacklog)
	if room, ok := free(t.path); ok {
		used := t.length.Load() - t.drained.Load()
		limit = min(limit, (room+used)/2)
	}
	t.limit.Store(limit)
}

// Discard removes the tape: nothing was recorded.
func (t *Tape) Discard() { t.remove() }

// Leave gives the tape to whoever opens the database next, this process
// included, and says for people where the session is now. It is called after
// Finish, when no drain reads the tape any more.
func (t *Tape) Leave() string {
	t.dead.Store(true)
	if t.file == nil {
		return "nothing of the session is left"
	}
	defer t.file.Close()
	if info, err := t.file.Stat(); err != nil || !sameFile(info, t.path) {
		return "its tape was deleted too, so nothing of the session is left"
	}
	return "the session stays on the tape " + t.path
}

// remove unlinks the tape and its key. The lock is held until then, so that no
// opener takes the tape for a dead one.
func (t *Tape) remove() {
	t.dead.Store(true)
	if t.file == nil {
		return
	}
	removeFile(t.file, t.path)
	t.removeKey()
}

func (t *Tape) removeKey() {
	if t.keyPath != "" {
		os.Remove(t.keyPath)
	}
}
