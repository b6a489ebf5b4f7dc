// Package transcript derives the view of a session that people and the replay
// work with (conversations, turns, calls, folded text, pairs, open requests)
// and compares two frames.
package transcript

import (
	"sync/atomic"
	"time"

	"agentrec/internal/dialect"
	"agentrec/store"
)

// Transcript is the derived view of one session: what a dialect makes of its
// frames. It holds about 32 bytes a frame and the text of folds up to a bound;
// payloads stay in the store. Reading it is safe from several goroutines,
// Extend is not safe beside anything else.
type Transcript struct {
	Session *store.Session
	Dialect *dialect.Dialect

	Labels        []Label        // Entry.Label is an index
	Entries       []Entry        // one a frame: Entries[i] is seq i+1
	Conversations []Conversation // Entry.Conversation is an index + 1
	Turns         []Turn         // Entry.Turn is an index + 1
	Calls         []Call
	Folds         []Fold
	Events        []store.Event    // lifecycle events read so far
	Exchanges     []store.Exchange // LLM exchanges read so far, without bodies
	Errors        []int64          // seqs of frames that report a failure or show an error
	Agent         string           // the agent's name and version where the protocol says it
	Usage         Usage            // tokens and cost where the protocol says them

	duplicates []int64 // requests whose id an open one had

	placed     []int64 // the frames that exchanges stand behind
	items      []itemRef
	open       []int64 // what Open returns once the pass is over for good
	subscribed []int64 // open requests that frames speak of, likewise
	pass       *pass   // nil when the pass is over for good

	index atomic.Pointer[Text] // narrows searches; nil without
}

// Label is a kind of frame with its totals. The name is the dialect's label; a
// response whose own label says no more than that is named after its request:
// "session/prompt:response", "session/prompt:error".
type Label struct {
	Name   string
	Frames int64
	Bytes  int64 // without terminators
}

// Conversation is a session or thread of the protocol's own.
type Conversation struct {
	Name        string // its id
	First, Last int64  // the first and the last frame that belongs to it
	Turns       int
}

// Turn is from a prompt to its end.
type Turn struct {
	Conversation string        // "" where the protocol names none
	First, Last  int64         // seqs of the prompt and of the end; Last is 0 while open
	Start, End   time.Duration // since the session's start; End is of the last frame so far
	Prompt       string        // its beginning, at most maxPrompt bytes
	Outcome      string        // in the protocol's words; "" while open
	Failed       bool          // it ended in an error
	Frames       int64
	Calls        int
	Usage        Usage

	conversation uint16 // index into Conversations + 1
	answered     bool   // the response to the prompt ends it, whatever that says
}

// Usage sums what frames say about tokens and cost.
type Usage struct {
	Frames int64   `json:"frames"` // how many frames said something; 0 means nothing is known
	Input  int64   `json:"input"`
	Output int64   `json:"output"`
	Cached int64   `json:"cached"`
	Cost   float64 `json:"cost"` // in the currency of the provider, mostly USD
}

// Took returns how long the turn lasted, so far while it is open.
func (t Turn) Took() time.Duration { return t.End - t.Start }

// Call is a tool call with its result.
type Call struct {
	ID, Name     string
	Conversation uint16        // index into Conversations + 1
	Turn         int32         // index into Turns + 1, 0 outside
	Seq          int64         // the frame that announced it
	ArgsSeq      int64         // the last frame that told its arguments; 0 when none did
	ResultSeq    int64         // the first frame with its result; 0 without
	LastSeq      int64         // the last frame that speaks of it
	Start, End   time.Duration // of Seq and ResultSeq
	Failed       bool
	item         int32
}

// Took returns the time from the call to its result; -1 without a result.
func (c Call) Took() time.Duration {
	if c.ResultSeq == 0 {
		return -1
	}
	return c.End - c.Start
}

// Fold is a run of deltas read as one text.
type Fold struct {
	Shows        Shows
	Stream       store.Stream
	Conversation uint16        // index into Conversations + 1
	Turn         int32         // index into Turns + 1, 0 outside
	Part         string        // the protocol's id of what the deltas belong to
	First, Last  int64         // seqs of the first and the last delta
	Whole        int64         // the frame that repeated the text as a whole; 0 without
	Start, End   time.Duration // of the first and the last frame
	Frames       int64         // deltas, and wholes that took their place
	Size         int64         // bytes of the whole text
	text         []byte
	grams        *grams  // of a text that is longer than what is kept; nil when that is not known
	tail         [2]byte // the end of such a text
	item         int32
}

// Text returns the beginning of the text, and whether that is all of it;
// Transcript.FoldText reads the rest.
func (f *Fold) Text() (text string, whole bool) {
	return string(f.text), int64(len(f.text)) == f.Size
}

// Bounds on what is kept in memory.
const (
	maxPrompt = 4 << 10  // of a turn's prompt
	maxFold   = 64 << 10 // of one fold's text
	maxLong   = 4096     // folds with a longer text of which is known what they hold
	maxText   = 64 << 20 // of all folds' text
	maxName   = 256      // of labels, ids and names
	maxTable  = 1<<16 - 2
)

// Label returns the name of the label of an entry.
func (t *Transcript) Label(e Entry) string { return t.Labels[e.Label].Name }

// Conversation returns the name of the conversation of an entry, "" outside.
func (t *Transcript) Conversation(i uint16) string {
	if i == 0 {
		return ""
	}
	return t.Conversations[i-1].Name
}

// Entry returns the entry of a frame, and whether there is one.
func (t *Transcript) Entry(seq int64) (Entry, bool) {
	if seq < 1 || seq > int64(len(t.Entries)) {
		return Entry{}, false
	}
	return t.Entries[seq-1], true
}

// Took returns the time from a request to its response, for either of them;
// -1 when it has no partner.
func (t *Transcript) Took(seq int64) time.Duration {
	e, ok := t.Entry(seq)
	if !ok || e.Pair == 0 {
		return -1
	}
	p := t.Entries[e.Pair-1]
	if int64(e.Pair) < seq {
		return e.Time - p.Time
	}
	return p.Time - e.Time
}
