package replay

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"agentrec/internal/tape"
	"agentrec/internal/transcript"
	"agentrec/store"
)

// Explained is one line of a script: a recorded frame or event, and what the
// replay will make of it.
type Explained struct {
	Seq     int64    `json:"seq,omitempty"`
	Stream  string   `json:"stream,omitempty"` // in, out, err
	Event   string   `json:"event,omitempty"`  // eof, or the name of a signal
	Label   string   `json:"label,omitempty"`
	Rule    string   `json:"rule,omitempty"`  // the row of the dialect's table
	Means   string   `json:"means,omitempty"` // what that row makes of the frame, for people
	Lane    int32    `json:"lane,omitempty"`
	Of      string   `json:"of,omitempty"`      // the conversation that the lane is of
	Pair    int64    `json:"pair,omitempty"`    // the response of a request, the request of a response
	Gates   bool     `json:"gates,omitempty"`   // of an in frame: later out frames wait for it
	Waits   []Wait   `json:"waits,omitempty"`   // of an out frame: what must have happened
	AnyOf   []int64  `json:"any_of,omitempty"`  // and one of these must have been sent
	With    int64    `json:"with,omitempty"`    // goes out right behind this frame
	Ignored []string `json:"ignored,omitempty"` // of an in frame: places whose values may differ
	Binds   []Bound  `json:"binds,omitempty"`   // values of the client that take the place of recorded ones
}

// Wait is a condition of an out frame.
type Wait struct {
	Seq   int64  `json:"seq,omitempty"`
	Event string `json:"event,omitempty"`
	Sent  bool   `json:"sent"` // an out frame that must be out; else an in frame that must have come
	Why   string `json:"why"`  // for people
}

// Bound is a place of an in frame that binds a value.
type Bound struct {
	Path  string `json:"path"`
	Space string `json:"space"`
}

// Explain prints the script of a session: what each frame waits for, what binds
// and what may differ, as text or, with JSON, one object a line.
func Explain(ctx context.Context, o Options, asJSON bool) error {
	db, err := tape.Open(ctx, o.File)
	if err != nil {
		return err
	}
	defer db.Close()
	session, err := db.Find(ctx, o.Session)
	if err != nil {
		return err
	}
	p, err := newPlayer(ctx, o, session)
	if err != nil {
		return err
	}
	d, err := p.dialect()
	if err != nil {
		return err
	}
	b, err := p.build(d, func(store.Frame) {})
	if err != nil {
		return err
	}
	x := explainer{s: b.finish(session.State), data: newPayloads(ctx, session), behind: map[int32]int32{}}
	for first, next := range x.s.members {
		x.behind[next] = first
	}
	defer x.data.close()
	enc := json.NewEncoder(o.Stdout)
	enc.SetEscapeHTML(false)
	for i := 1; i < len(x.s.items); i++ {
		line, err := x.line(int32(i))
		if err != nil {
			return err
		}
		if asJSON {
			err = enc.Encode(line)
		} else {
			_, err = io.WriteString(o.Stdout, line.human())
		}
		if err != nil {
			return fmt.Errorf("printing the script: %w", err)
		}
	}
	return nil
}

type explainer struct {
	s      *script
	data   *payloads
	behind map[int32]int32 // of a group member: the one that it goes out behind
}

func (x *explainer) line(i int32) (Explained, error) {
	it := &x.s.items[i]
	if it.flags&fEvent != 0 {
		return Explained{Event: x.event(i), Gates: true}, nil
	}
	f, err := x.data.get(int64(it.seq))
	if err != nil {
		return Explained{}, err
	}
	line := Explained{Seq: f.Seq, Stream: it.stream.String(), Lane: it.lane}
	if it.stream == store.Err {
		return line, nil
	}
	r := x.s.dialect.Read(it.stream, f.Raw)
	line.Label, line.Means, line.Of = r.Label, r.Waits(it.stream), r.Conversation
	if r.Rule != nil {
		line.Rule = r.Rule.Family
	}
	if it.pair != 0 {
		line.Pair = int64(x.s.items[it.pair].seq)
	}
	if it.stream == store.Out {
		x.waits(i, it, &line)
		return line, nil
	}
	line.Gates = it.flags&fGate != 0
	line.Ignored = x.s.dialect.Volatile(store.In, f.Raw).Strings()
	for _, slot := range x.s.dialect.Slots(store.In, f.Raw) {
		if slot.ByClient && slot.Mints {
			line.Binds = append(line.Binds, Bound{transcript.JoinPath(transcript.PlaceAt(f.Raw, slot.Start)), slot.Namespace})
		}
	}
	return line, nil
}

func (x *explainer) event(i int32) string {
	if e := x.s.events[i]; e.Kind == store.EventSignal {
		return e.Signal
	}
	return "eof"
}

func (x *explainer) waits(i int32, it *item, line *Explained) {
	s := x.s
	if first, ok := x.behind[i]; ok {
		line.With = int64(s.items[first].seq)
		return
	}
	l := &s.lanes[it.lane]
	gates := l.gates.items
	switch {
	case it.flags&fAll != 0:
		gates = s.all.items
	case it.flags&fLane0 != 0:
		gates = s.lanes[0].gates.items
	}
	all := append([]int32{it.prev, it.need}, s.more[i]...)
	all = append(append(all, gates[it.gateLo:it.gateHi]...), l.resps[it.respLo:it.respHi]...)
	slices.Sort(all)
	for _, j := range slices.Compact(all) {
		switch {
		case j == 0:
		case s.items[j].flags&fEvent != 0:
			line.Waits = append(line.Waits, Wait{Event: x.event(j), Why: whyEnding})
		default:
			line.Waits = append(line.Waits, Wait{Seq: int64(s.items[j].seq), Sent: s.items[j].stream == store.Out, Why: s.why(i, j)})
		}
	}
	for _, c := range s.shared[i] {
		line.AnyOf = append(line.AnyOf, int64(s.items[c].seq))
	}
}

// Why a frame waits, in words.
const (
	whyEnding   = "it was so before this"
	whyRequest  = "its request"
	whyCancel   = "cancels its request"
	whyOpener   = "opens its conversation"
	whyAlone    = "the one request open then"
	whyData     = "an id or value of it stands here"
	whyGate     = "before it in its lane"
	whyAll      = "before it, and its lane had nothing yet"
	whyUnlaned  = "before it; it is in no lane"
	whyOrder    = "the order of its lane"
	whyResponse = "an answer before it in its lane"
)

// why returns why the out frame i waits for item j.
func (s *script) why(i, j int32) string {
	it, other := &s.items[i], &s.items[j]
	response := it.flags&fX == 0
	switch {
	case response && (j == it.pair || slices.Contains(s.also[i], j)):
		return whyRequest
	case response && slices.Contains(s.cancels[it.pair], j):
		return whyCancel
	case other.stream == store.Out && j != it.prev && other.flags&fX == 0:
		return whyResponse
	case other.stream == store.Out:
		return whyOrder
	case j == it.need && it.flags&fAttached != 0:
		return whyAlone
	case j == s.lanes[it.lane].opener:
		return whyOpener
	case other.lane != it.lane && slices.Contains(s.more[i], j):
		return whyData
	case it.flags&fAll != 0 && it.lane == 0, it.flags&fLane0 != 0:
		return whyUnlaned
	case it.flags&fAll != 0:
		return whyAll
	}
	return whyGate
}

// human writes a line of the script for people.
func (x Explained) human() string {
	var b strings.Builder
	if x.Event != "" {
		fmt.Fprintf(&b, "%6s  in   %-40s holds back what follows\n", "", "("+x.Event+")")
		return b.String()
	}
	fmt.Fprintf(&b, "%6d  %-3s  %-40s ", x.Seq, x.Stream, visible(x.Label))
	var notes []string
	switch {
	case x.Stream == "err":
		notes = append(notes, "with the frame before it")
	case x.With != 0:
		notes = append(notes, fmt.Sprintf("right behind %d", x.With))
	case x.Stream == "out":
		notes = append(notes, x.humanWaits())
	case x.Gates, !strings.Contains(x.Means, "holds back"):
		notes = append(notes, x.Means)
	default:
		notes = append(notes, "holds nothing back here")
	}
	for _, bound := range x.Binds {
		notes = append(notes, fmt.Sprintf("binds %s (%s)", visible(bound.Path), bound.Space))
	}
	if len(x.Ignored) > 0 {
		notes = append(notes, "may differ: "+visible(strings.Join(x.Ignored, ", ")))
	}
	if x.Of != "" {
		notes = append(notes, fmt.Sprintf("lane %d (%s)", x.Lane, visible(x.Of)))
	} else if x.Lane > 1 {
		notes = append(notes, fmt.Sprintf("lane %d", x.Lane))
	}
	b.WriteString(strings.Join(notes, "; "))
	b.WriteByte('\n')
	return b.String()
}

func (x Explained) humanWaits() string {
	var came, sent []string
	for n, w := range x.Waits {
		name := fmt.Sprint(w.Seq)
		if w.Event != "" {
			name = w.Event
		}
		last := true // of those that it waits for on equal grounds
		for _, later := range x.Waits[n+1:] {
			last = last && (later.Why != w.Why || later.Sent != w.Sent)
		}
		if last {
			name += " (" + w.Why + ")"
		}
		if w.Sent {
			sent = append(sent, name)
		} else {
			came = append(came, name)
		}
	}
	var out []string
	if len(came) > 0 {
		out = append(out, "when "+strings.Join(came, ", ")+" came")
	}
	if len(x.AnyOf) > 0 {
		out = append(out, "when one of "+strings.Trim(fmt.Sprint(x.AnyOf), "[]")+" came")
	}
	if len(sent) > 0 {
		out = append(out, "after "+strings.Join(sent, ", "))
	}
	if len(out) == 0 {
		return "at once"
	}
	return strings.Join(out, ", ")
}
