// Package transcript derives the view of a session that people and the replay
// work with (conversations, turns, calls, folded text, pairs, open requests)
// and compares two frames.
package transcript

import (
	"context"

	"agentrec/internal/dialect"
	"agentrec/store"
)

// Transcript is the derived view of one session.
type Transcript struct {
	Session *store.Session
	Dialect *dialect.Dialect
	Labels  []string // label table; Entry.Label is an index
	Entries []Entry  // one a frame, Entries[i] is seq i+1
	Turns   []Turn
	Calls   []Call
	Open    []int64 // requests without a response, both directions
	Agent   string  // the agent's name and version where the protocol says it
}

// Entry is what is kept of a frame (payloads stay in the store).
type Entry struct {
	Label uint16
	Role  dialect.Role
	Shows uint8 // index into the dialect's Shows values
	Pair  int32 // seq of the response or request it is paired with, 0 none
	Turn  int32 // index into Turns + 1, 0 outside
}

// Turn is from a prompt to its end.
type Turn struct {
	Conversation string
	First, Last  int64 // seqs; Last is 0 while open
	Prompt       string
	Outcome      string
}

// Call is a tool call with its result.
type Call struct {
	ID, Name       string
	Seq, ResultSeq int64 // ResultSeq is 0 without a result
	Turn           int32
	Failed         bool
}

// Build derives the transcript of a session with the dialect d; nil means the
// one the session names, or else the detected one.
func Build(ctx context.Context, s *store.Session, d *dialect.Dialect) (*Transcript, error) {
	panic("unwritten")
}
