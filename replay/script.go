package replay

import (
	"sync"

	"agentrec/internal/dialect"
	"agentrec/store"
)

// A script is a recording as the replay needs it: what each out frame waits
// for, and what each in frame is. Payloads stay in the store. Its items are the
// session's frames and, where they were recorded, stdin EOF and signals;
// item 0 does not exist, so 0 stands for none.
type script struct {
	dialect *dialect.Dialect
	items   []item
	ins     []input
	lanes   []lane // lanes[0] holds what belongs to no lane
	all     gateList

	labels []string
	convs  []string // names of conversations; 0 is none

	more    map[int32][]int32     // further items that an item waits for
	shared  map[int32][]int32     // of a shared agent request: the candidates
	also    map[int32][]int32     // further partners of a batch
	refs    map[int32][]reference // what the reference slots of a frame point at
	asks    map[int32]ask         // of an agent request: how answers find it
	members map[int32]int32       // of a group member: the member that follows it
	events  map[int32]store.Event // of an item that is no frame
	named   map[string][]int32    // requests by namespace and raw id, in order
	cancels map[int32][]int32     // of a request: the cancels that mean it
	outs    int                   // number of out frames
	exit    *store.Exit           // how the agent ended, nil while unknown
	ending  []int32               // EOF and signals recorded before the end
	cut     bool                  // the recording ends early
	last    int32                 // seq of the last frame
	free    map[string]bool       // labels taken out of the gates

	mirrored bool // the client is played, and the agent is live

	mu    sync.RWMutex // held to add frames, and by others that read what render reads
	known int32        // items before it have their conditions
	whole bool         // there is no more
}

// item is one frame, or one event that gates. Fields that name items hold their
// index.
type item struct {
	seq  int32 // 0 for an event
	pair int32 // the response of a request, the request of a response
	lane int32
	prev int32 // an out frame that must be released first
	need int32 // an in frame that must be matched first; of an in frame: its place in ins
	// Gates gates[gateLo:gateHi] of the lane must be matched, and responses
	// resps[respLo:respHi] of the lane released. fAll and fLane0 choose another
	// list of gates.
	gateLo, gateHi int32
	respLo, respHi int32
	flags          uint16
	role           dialect.Role
	stream         store.Stream
}

const (
	fGate      uint16 = 1 << iota // in: holds later out frames back
	fAct                          // in: may change what comes later; ends the range of an acknowledgement
	fCancel                       // in: a cancel
	fEnds                         // out: a response that ends a turn
	fX                            // out: not a response to a client request
	fAll                          // gate range counts in the list of all gates
	fLane0                        // gate range counts in the list of gates without a lane
	fShared                       // an agent request that any of several client requests may have caused
	fFollows                      // goes out right behind the group member before it
	fSlots                        // holds ids or values that may need replacing
	fEvent                        // stdin EOF or a signal
	fJSON                         // the frame is JSON
	fFirst                        // in: only the first of a turn counts
	fAttached                     // belongs to the one client request that was open
	fTurn                         // in: begins a turn; its response ends it
	fSwallowed                    // in: a request of a turn in which the agent does not read it
)

// input is what matching needs to know of an in frame.
type input struct {
	item  int32
	label int32
	conv  int32
}

// lane is a stream of frames that keep their order; frames of different lanes
// do not wait for each other.
type lane struct {
	gates  gateList
	resps  []int32 // responses of gate requests, and the opener's response
	acts   gateList
	xs     []int32 // out frames that are no responses
	outs   []int32 // all out frames
	opener int32
	// while building: requests that the agent reads when the turn has ended, the last x and how far the lists reached then
	crossing                                      []int32
	lastX, lastGate, lastResp, lastAll, lastEvent int32
	answered                                      bool // a "first" answer of this turn has been seen
}

// ask is how the answer to an agent request finds it.
type ask struct {
	id  dialect.Token
	key string
}

// reference is a slot, by where it begins, that points at a request.
type reference struct{ start, request int32 }

// naming is how requests are kept by what names them.
func naming(namespace, token string) string { return namespace + "\x00" + token }

// gateList is a list of items that are done one by one in any order.
type gateList struct {
	items []int32
	skip  []int32 // skip[i] is a place >= i before which all from i on are done
}

func (l *gateList) add(i int32) {
	l.items = append(l.items, i)
	l.skip = append(l.skip, int32(len(l.skip)))
}

// next returns the first item from place lo on, before hi, that is not done, 0
// when all are.
func (l *gateList) next(lo, hi int32, done []bool) int32 {
	at := lo
	for at < hi {
		if to := l.skip[at]; to > at {
			at = to
		} else if done[l.items[at]] {
			at++
		} else {
			break
		}
	}
	for from := lo; from < at; { // path compression
		to := max(l.skip[from], from+1)
		l.skip[from] = at
		from = to
	}
	if at >= hi {
		return 0
	}
	return l.items[at]
}
