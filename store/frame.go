package store

import "time"

// Stream is one of the three byte streams between a client and an agent.
type Stream uint8

// The streams. In runs from the client to the agent (the agent's stdin), Out
// from the agent to the client (its stdout), Err is the agent's stderr.
const (
	In Stream = iota
	Out
	Err
)

// Streams is the number of streams of a session.
const Streams = 3

// String returns "in", "out" or "err", the names used in flags, in JSON and in
// the text form.
func (s Stream) String() string {
	switch s {
	case In:
		return "in"
	case Out:
		return "out"
	case Err:
		return "err"
	}
	return "?"
}

// Terminator is what ended a frame on the wire.
type Terminator uint8

// The terminators. None is a last line that the stream ended without one.
const (
	None Terminator = iota
	LF
	CRLF
)

// Bytes returns the terminator as it stood on the wire.
func (t Terminator) Bytes() string {
	switch t {
	case LF:
		return "\n"
	case CRLF:
		return "\r\n"
	}
	return ""
}

// MaxRaw is the longest frame that is handed out whole, in bytes. A longer one
// is a giant: it is stored in parts, Frame.Raw is nil and Session.Reader
// streams it. It bounds the memory of everything that reads frames.
const MaxRaw = 16 << 20

// Frame is one line on one stream of a session. It need not be JSON.
type Frame struct {
	Seq    int64         // number in the session, from 1, one counter for all streams
	Stream Stream        //
	Time   time.Duration // since the session's start, in whole microseconds
	Raw    []byte        // the line without its terminator, exactly; read-only; nil for a giant
	Size   int64         // length of the line without its terminator
	Term   Terminator    //
}

// Wire returns how many bytes the frame took on the wire.
func (f Frame) Wire() int64 { return f.Size + int64(len(f.Term.Bytes())) }
