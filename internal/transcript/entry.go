package transcript

import (
	"time"

	"agentrec/internal/dialect"
	"agentrec/store"
)

// Entry is what is kept of a frame; payloads stay in the store.
type Entry struct {
	Time         time.Duration // since the session's start
	Size         uint32        // bytes without terminator; more than 4 GiB count as 4 GiB
	Pair         int32         // seq of the response or request it is paired with, 0 none
	Turn         int32         // index into Turns + 1, 0 outside
	Part         int32         // index + 1 into Calls (flag InCall) or Folds (flag InFold)
	Label        uint16        // index into Labels
	Conversation uint16        // index into Conversations + 1, 0 none
	Stream       store.Stream
	Role         dialect.Role
	Shows        Shows
	Flags        Flags
}

// Flags say more about a frame.
type Flags uint8

// The flags of an entry.
const (
	JSON      Flags = 1 << iota // one valid JSON value
	Failed                      // it reports a failure
	Ends                        // it ended a turn
	Delta                       // it continues a text
	InFold                      // Part is a fold
	InCall                      // Part is a call
	Missing                     // no such frame is stored, though later ones are
	Cancelled                   // a request that was cancelled and need not be answered
)

// Has reports whether all of the flags are set.
func (f Flags) Has(g Flags) bool { return f&g == g }

// Shows is dialect.Shows as a small number.
type Shows uint8

// shows lists what a frame can show; Shows is an index.
var shows = []dialect.Shows{
	dialect.ShowsNothing, dialect.ShowsPrompt, dialect.ShowsText, dialect.ShowsThought, dialect.ShowsCall,
	dialect.ShowsResult, dialect.ShowsPlan, dialect.ShowsPermission, dialect.ShowsAnswer, dialect.ShowsError,
	dialect.ShowsEnd, dialect.ShowsGreeting, dialect.ShowsLog,
}

// String returns the name of what is shown, "" for nothing.
func (s Shows) String() string { return string(s.Is()) }

// Is returns what is shown.
func (s Shows) Is() dialect.Shows {
	if int(s) >= len(shows) {
		return dialect.ShowsNothing
	}
	return shows[s]
}

// toShows is the inverse of Is; what is not known shows nothing.
func toShows(s dialect.Shows) Shows {
	for i, k := range shows {
		if k == s {
			return Shows(i)
		}
	}
	return 0
}
