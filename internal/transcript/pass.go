package transcript

import (
	"math"
	"strings"
	"time"

	"agentrec/internal/dialect"
	"agentrec/store"
)

// pass is what the one pass over the frames has to remember.
type pass struct {
	begun         bool
	oneLane       bool
	pairs         Pairer
	labels        map[string]uint16
	conversations map[string]uint16
	lanes         map[uint16]*lane
	openTurns     map[int32]*lane           // by index + 1
	served        map[int64]bool            // open requests that other frames speak of
	totals        map[uint16]*dialect.Usage // by conversation, the last that counts everything so far
	text          int64                     // bytes of text kept
	long          int                       // folds whose text outgrew that
}

// lane is the state of one conversation, or of the whole session when the
// dialect has one lane.
type lane struct {
	turn    int32             // index into Turns + 1 of the open turn
	last    int32             // the same of the last turn that ended
	waiting []int64           // prompts sent as requests while the turn was open
	loose   map[Shows]int32   // the open runs that only their place holds together, by index + 1
	parts   map[foldKey]int32 // those held together by a part, likewise
	recent  []int32           // the youngest of both, open or not
	calls   map[string]int32  // the newest call by id
	groups  map[string]int32  // the newest call by Together
	open    []int32           // calls without a result, oldest first
	// calls whose result the client sent and the agent has not repeated, the
	// youngest ones, oldest first
	answered []int32
}

type foldKey struct {
	shows Shows
	part  string
}

func newPass(oneLane bool) *pass {
	return &pass{
		oneLane: oneLane, labels: map[string]uint16{}, conversations: map[string]uint16{},
		lanes: map[uint16]*lane{}, openTurns: map[int32]*lane{}, totals: map[uint16]*dialect.Usage{}, served: map[int64]bool{},
	}
}

// frame takes the next frame with its reading.
func (t *Transcript) frame(f store.Frame, r *dialect.Reading) {
	p := t.pass
	for int64(len(t.Entries))+1 < f.Seq {
		t.push(Entry{Flags: Missing}, "missing", 0)
	}
	e := Entry{
		Time: f.Time, Size: uint32(min(f.Size, math.MaxUint32)), Stream: f.Stream, Role: r.Role,
		Flags: flagsOf(r),
	}
	twin := p.pairs.inFlight(f.Stream, r)
	p.serve(r)
	links := p.pairs.Next(f.Seq, f.Stream, r)
	partner := t.link(&e, f.Seq, r, links)
	e.Conversation = t.conversationOf(r, partner)
	l := p.lane(e.Conversation)
	e.Turn = t.turnOf(&e, r, l, partner)
	if e.Conversation == 0 && e.Turn > 0 {
		e.Conversation = t.Turns[e.Turn-1].conversation
	}
	if twin > 0 && t.Entries[twin-1].Turn == e.Turn {
		t.duplicates = append(t.duplicates, f.Seq)
	}
	each(r, func(member int, x *dialect.Reading) {
		t.show(&e, f, x, l, linked(links, member))
		t.about(&e, x)
	})
	if e.Role == dialect.Raw && e.Shows == 0 {
		t.item(KindOf(e), int32(f.Seq))
	}
	t.push(e, t.labelOf(f, r, partner), f.Size)
	if e.Flags.Has(Failed) || e.Shows.Is() == dialect.ShowsError {
		t.Errors = append(t.Errors, f.Seq)
	}
	if e.Turn > 0 {
		turn := &t.Turns[e.Turn-1]
		turn.Frames++
		if turn.Last == 0 || turn.Last == f.Seq {
			turn.End = max(turn.End, f.Time)
		}
	}
	if e.Conversation > 0 {
		t.Conversations[e.Conversation-1].Last = f.Seq
	}
}

// push appends an entry and counts it under its label.
func (t *Transcript) push(e Entry, label string, size int64) {
	i, ok := t.pass.labels[label]
	if !ok {
		if len(t.Labels) >= maxTable {
			label = "(other)"
		}
		if i, ok = t.pass.labels[label]; !ok {
			label = strings.Clone(label)
			i = uint16(len(t.Labels))
			t.pass.labels[label] = i
			t.Labels = append(t.Labels, Label{Name: label})
		}
	}
	e.Label = i
	t.Labels[i].Frames++
	t.Labels[i].Bytes += size
	t.Entries = append(t.Entries, e)
}

// each calls do for every reading that a frame consists of: itself, its parts,
// or the members of a batch. What an inner frame shows, the outer one shows.
func each(r *dialect.Reading, do func(member int, x *dialect.Reading)) {
	switch {
	case len(r.Members) > 0:
	case len(r.Parts) > 0:
		for i := range r.Parts {
			do(0, &r.Parts[i])
		}
	default:
		do(0, r)
	}
	for i := range r.Members {
		do(i, &r.Members[i])
	}
}

func flagsOf(r *dialect.Reading) Flags {
	var f Flags
	set := func(on bool, flag Flags) {
		if on {
			f |= flag
		}
	}
	set(r.JSON, JSON)
	each(r, func(_ int, x *dialect.Reading) {
		set(x.Failed, Failed)
		set(x.Delta || x.Snapshot, Delta)
	})
	return f
}

// link notes the pairs of a frame and returns the seq of the request that it
// answers or cancels, 0 without.
func (t *Transcript) link(e *Entry, seq int64, r *dialect.Reading, links []Link) int64 {
	first := int64(0)
	for _, k := range links {
		q := &t.Entries[k.Request.Seq-1]
		if k.Frame != 0 {
			q.Pair, t.Entries[k.Frame-1].Pair = int32(k.Frame), int32(k.Request.Seq)
			continue
		}
		if first == 0 {
			first = k.Request.Seq
		}
		if !k.Cancels {
			moved := q.Pair > 0 && q.Pair < int32(seq) && t.Entries[q.Pair-1].Pair != int32(k.Request.Seq)
			if q.Pair == 0 || moved {
				q.Pair = int32(seq)
			}
			if e.Pair == 0 {
				e.Pair = int32(k.Request.Seq)
			}
			delete(t.pass.served, k.Request.Seq)
			continue
		}
		each(r, func(member int, x *dialect.Reading) {
			if member == k.Member && x.Rule != nil && !x.Rule.Answered {
				q.Flags |= Cancelled
			}
		})
	}
	return first
}

// inFlight returns the seq of an open request that has the same id as this one,
// 0 when there is none.
func (p *Pairer) inFlight(stream store.Stream, r *dialect.Reading) int64 {
	twin := int64(0)
	each(r, func(_ int, x *dialect.Reading) {
		if x.Role != dialect.Request || x.ID == "" {
			return
		}
		if queue := p.keys[pairKey{stream, true, string(x.ID)}]; queue != nil {
			if queue.live = trim(queue.live); len(queue.live) > 0 {
				twin = queue.live[0].Seq
			}
		}
	})
	return twin
}

// serve marks the open request that a frame speaks of: it is being served, and
// may stay open for as long as the session lasts (MCP subscriptions).
func (p *pass) serve(r *dialect.Reading) {
	each(r, func(_ int, x *dialect.Reading) {
		if x.About == "" || x.Rule == nil {
			return
		}
		if queue := p.pairs.keys[pairKey{x.Rule.AboutOf, true, string(x.About)}]; queue != nil {
			if queue.live = trim(queue.live); len(queue.live) > 0 {
				p.served[queue.live[0].Seq] = true
			}
		}
	})
}

func linked(links []Link, member int) *Link {
	for i := range links {
		if links[i].Frame == 0 && links[i].Member == member && !links[i].Cancels {
			return &links[i]
		}
	}
	return nil
}

// conversationOf returns the conversation a frame belongs to: the one it
// names, or that of the request it answers or cancels.
func (t *Transcript) conversationOf(r *dialect.Reading, partner int64) uint16 {
	name := ""
	each(r, func(_ int, x *dialect.Reading) {
		if name == "" {
			name = x.Conversation
		}
		if name == "" {
			name = x.Opens
		}
	})
	if name == "" {
		if partner > 0 {
			return t.Entries[partner-1].Conversation
		}
		return 0
	}
	p := t.pass
	name = Clip(name, maxName)
	if i, ok := p.conversations[name]; ok {
		return i
	}
	if len(t.Conversations) >= maxTable {
		name = "(other)"
		if i, ok := p.conversations[name]; ok {
			return i
		}
	}
	name = strings.Clone(name)
	t.Conversations = append(t.Conversations, Conversation{Name: name, First: int64(len(t.Entries)) + 1})
	p.conversations[name] = uint16(len(t.Conversations))
	return p.conversations[name]
}

func (p *pass) lane(conversation uint16) *lane {
	if p.oneLane {
		conversation = 0
	}
	l := p.lanes[conversation]
	if l == nil {
		l = &lane{loose: map[Shows]int32{}, parts: map[foldKey]int32{}, calls: map[string]int32{}, groups: map[string]int32{}}
		p.lanes[conversation] = l
	}
	return l
}

// labelOf returns the name that a frame is counted under.
func (t *Transcript) labelOf(f store.Frame, r *dialect.Reading, partner int64) string {
	switch {
	case f.Raw == nil && f.Size > store.MaxRaw:
		return "giant"
	case r.Role == dialect.Response && partner > 0 && generic(r.Label):
		if r.Failed {
			return t.Label(t.Entries[partner-1]) + ":error"
		}
		return t.Label(t.Entries[partner-1]) + ":response"
	case r.Label != "":
		return Clip(r.Label, maxName)
	case f.Stream == store.Err:
		return "stderr"
	}
	return "raw"
}

// generic reports whether a label says no more than that a frame is a response.
func generic(label string) bool {
	return label == "response" || label == "result" || label == "error" || label == ""
}

// Clip cuts a text to at most n bytes, never inside a UTF-8 sequence.
func Clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n]
}

// about takes what a frame tells about the agent and about usage.
func (t *Transcript) about(e *Entry, x *dialect.Reading) {
	if x.Agent != "" {
		t.Agent = strings.Clone(Clip(x.Agent, maxName))
	}
	u := x.Usage
	if u == (dialect.Usage{}) {
		return
	}
	before := t.pass.totals[e.Conversation]
	if before == nil {
		before = &dialect.Usage{}
		t.pass.totals[e.Conversation] = before
	}
	if u.TokensSoFar {
		u.Input, before.Input = max(0, u.Input-before.Input), u.Input
		u.Output, before.Output = max(0, u.Output-before.Output), u.Output
		u.Cached, before.Cached = max(0, u.Cached-before.Cached), u.Cached
	}
	if u.CostSoFar {
		u.Cost, before.Cost = max(0, u.Cost-before.Cost), u.Cost
	}
	for _, to := range t.usageOf(e) {
		to.Frames++
		to.Input += u.Input
		to.Output += u.Output
		to.Cached += u.Cached
		to.Cost += u.Cost
	}
}

func (t *Transcript) usageOf(e *Entry) []*Usage {
	if e.Turn > 0 {
		return []*Usage{&t.Usage, &t.Turns[e.Turn-1].Usage}
	}
	return []*Usage{&t.Usage}
}

// event takes the next lifecycle event.
func (t *Transcript) event(e store.Event) {
	t.Events = append(t.Events, e)
	t.item(KindEvent, int32(len(t.Events)-1))
}

// Duration returns the time of the last frame or event.
func (t *Transcript) Duration() time.Duration {
	d := t.Session.Ended
	if n := len(t.Entries); n > 0 {
		d = max(d, t.Entries[n-1].Time)
	}
	return d
}
