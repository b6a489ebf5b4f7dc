package store

import (
	"context"
	"errors"
	"io"
	"iter"
	"time"
)

// State tells whether a session is still being recorded and how it ended.
type State string

// The states of a session.
const (
	Recording State = "recording" // a recorder is at work
	Closed    State = "closed"    // ended and stored to the end
	Cut       State = "cut"       // the record ends early; Session.Reason says why
)

// Exit is how an agent process ended. As an error it asks main to leave the
// same way; a zero Exit means status 0.
type Exit struct {
	Code   int    `json:"code"`
	Signal string `json:"signal,omitempty"` // "TERM", "KILL", ... when a signal ended it
}

// Error says how the agent ended, for people.
func (e Exit) Error() string {
	if e.Signal != "" {
		return "ended by SIG" + e.Signal
	}
	if e.Code == 0 {
		return "exit status 0"
	}
	return "exit status " + itoa(e.Code)
}

// EventKind names a lifecycle event.
type EventKind string

// The lifecycle events of a session.
const (
	EventStart  EventKind = "start"  // the agent was started
	EventEOF    EventKind = "eof"    // Stream ended
	EventHangup EventKind = "hangup" // the reader of Stream went away
	EventSignal EventKind = "signal" // Signal was passed on to the agent
	EventExit   EventKind = "exit"   // the agent ended as Exit says
	EventLost   EventKind = "lost"   // Bytes of Stream were forwarded but not recorded; Detail says why
	EventCut    EventKind = "cut"    // the record ends here; Detail says why
)

// Event is something that happened to a session besides frames.
type Event struct {
	After  int64         // seq of the last frame before it, 0 before the first
	Time   time.Duration // since the session's start, in whole microseconds
	Kind   EventKind
	Stream Stream // of eof, hangup and lost
	Signal string // of signal: "TERM", ...
	Exit   *Exit  // of exit
	Bytes  int64  // of lost
	Detail string // free text for people
}

// Chain is the proof of one stream: how much of it was stored, and the hash
// chain h(n) = SHA-256(h(n-1) + the n-th frame as stored with its terminator),
// h(0) being 32 zero bytes.
type Chain struct {
	Frames int64
	Bytes  int64 // with terminators, as stored
	Hash   [32]byte
}

// Names of folders that a recorder knows.
const (
	HomeFolder = "home"
	TempFolder = "temp"
)

// Session is one run of one agent process. Its methods read from the database
// it came from and are safe for concurrent use; they fail once that is closed.
type Session struct {
	ID         int64  // short number in its database, for people to type
	UID        string // ULID, unique everywhere
	Name       string
	Tags       map[string]string
	Started    time.Time
	Host       string
	Cwd        string
	Folders    map[string]string // absolute paths by what they are to the agent: HomeFolder, TempFolder
	Argv       []string          // redacted
	Version    string            // of the agentrec that recorded it
	Dialect    string            // "" until decided
	Unredacted bool              // recorded with --no-redact
	Edited     bool              // changed after it was recorded (redact, a hand-edited text file)
	Parent     string            // UID of the session this one was made from
	State      State
	Reason     string        // why it was cut
	Ended      time.Duration // last thing known, since Started
	Exit       *Exit         // nil while unknown
	Chains     [Streams]Chain
	Original   *[Streams]Chain // of an edited session: its chains as they were recorded, if known
	Wire       [Streams]int64  // bytes the pumps counted, before redaction; -1 when unknown

	Exchanged      int64 // how many exchanges are stored
	ExchangedBytes int64 // in their bodies

	db                *DB
	exchangeChain     Chain  // proof of the exchanges
	originalExchanges *Chain // with Original
}

// Count returns how many frames are stored.
func (s *Session) Count() int64 {
	return s.Chains[In].Frames + s.Chains[Out].Frames + s.Chains[Err].Frames
}

// ErrNotFound is returned for a frame or session that does not exist.
var ErrNotFound = errors.New("not found")

// Frames yields the frames with from <= seq <= to in order of seq; to = 0
// means to the end. It stops at the first error, which it yields.
func (s *Session) Frames(ctx context.Context, from, to int64) iter.Seq2[Frame, error] {
	return s.db.frames(ctx, s.ID, from, to, true)
}

// Metas is Frames without Raw: it reads no payload and is much cheaper.
func (s *Session) Metas(ctx context.Context, from, to int64) iter.Seq2[Frame, error] {
	return s.db.frames(ctx, s.ID, from, to, false)
}

// Frame returns one frame, or ErrNotFound.
func (s *Session) Frame(ctx context.Context, seq int64) (Frame, error) {
	if seq > 0 {
		for f, err := range s.Frames(ctx, seq, seq) {
			return f, err
		}
	}
	return Frame{}, ErrNotFound
}

// Reader streams the bytes of a frame of any size, without its terminator.
// The caller closes it.
func (s *Session) Reader(ctx context.Context, seq int64) (io.ReadCloser, error) {
	return s.db.reader(ctx, s.ID, seq)
}

// Events returns the lifecycle events in order.
func (s *Session) Events(ctx context.Context) ([]Event, error) { return s.db.events(ctx, s.ID) }

// Refresh reads the session's row again: of a session being recorded it grows.
func (s *Session) Refresh(ctx context.Context) error { return s.db.refresh(ctx, s) }
