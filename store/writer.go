package store

import (
	"context"
	"time"
)

// Start is what is known of a session when its recording begins.
type Start struct {
	UID        string // a new ULID when empty
	Name       string
	Tags       map[string]string
	Started    time.Time
	Host       string
	Cwd        string
	Argv       []string
	Version    string
	Dialect    string
	Unredacted bool
	Edited     bool
	Parent     string
}

// End is how a session's recording ended.
type End struct {
	State  State // Closed or Cut
	Reason string
	Ended  time.Duration
	Exit   *Exit
	Wire   [Streams]int64 // bytes the pumps counted; -1 when unknown
}

// Writer adds frames and events to one session. What is added becomes visible,
// all or nothing, at Commit. Not safe for concurrent use.
type Writer struct{}

// Begin starts a new session and commits its row.
func (db *DB) Begin(ctx context.Context, s Start) (*Writer, error) { panic("unwritten") }

// Resume goes on with the session uid that another writer left open, and
// returns the checkpoint of its last Commit. ErrNotFound when there is none.
func (db *DB) Resume(ctx context.Context, uid string) (*Writer, []byte, error) { panic("unwritten") }

// Session returns the session as committed so far.
func (w *Writer) Session() *Session { panic("unwritten") }

// SetDialect names the dialect that the first frames decided on.
func (w *Writer) SetDialect(name string) { panic("unwritten") }

// Frame adds a frame and returns its seq. raw is copied; it must not be longer
// than MaxRaw.
func (w *Writer) Frame(stream Stream, t time.Duration, raw []byte, term Terminator) int64 {
	panic("unwritten")
}

// Part adds bytes to the giant frame that is open on stream, opening one if
// there is none. A giant gets its seq when it ends. data is copied.
func (w *Writer) Part(stream Stream, data []byte) error { panic("unwritten") }

// EndParts ends the giant frame open on stream and returns its seq.
func (w *Writer) EndParts(stream Stream, t time.Duration, term Terminator) (int64, error) {
	panic("unwritten")
}

// Event adds a lifecycle event after the last frame added.
func (w *Writer) Event(e Event) { panic("unwritten") }

// Commit stores all that was added since the last one, together with the
// caller's checkpoint, in one transaction. On error nothing of it is stored, it
// stays pending, and Commit may be called again.
func (w *Writer) Commit(ctx context.Context, checkpoint []byte) error { panic("unwritten") }

// Close commits what is pending and the session's end, durable against power
// loss when it returns. On error it may be called again.
func (w *Writer) Close(ctx context.Context, e End) error { panic("unwritten") }
