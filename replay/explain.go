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
	Lane    int32    `json:"lane,omitempty"`
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
	b, err := p.build(d, func(store.Frame, bool) {})
	if err != nil {
		return err
	}
	x := explainer{s: b.finish(session.State), data: newPayloads(ctx, session)}
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
	s    *script
	data *payloads
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
	line.Label = x.s.dialect.Read(it.stream, f.Raw).Label
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
	for first, m := range s.members {
		if m == i {
			line.With = int64(s.items[first].seq)
			return
		}
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
			line.Waits = append(line.Waits, Wait{Event: x.event(j)})
		default:
			line.Waits = append(line.Waits, Wait{Seq: int64(s.items[j].seq), Sent: s.items[j].stream == store.Out})
		}
	}
	for _, c := range s.shared[i] {
		line.AnyOf = append(line.AnyOf, int64(s.items[c].seq))
	}
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
	case x.Gates:
		notes = append(notes, "holds back what follows")
	default:
		notes = append(notes, "holds nothing back")
	}
	for _, bound := range x.Binds {
		notes = append(notes, fmt.Sprintf("binds %s (%s)", visible(bound.Path), bound.Space))
	}
	if len(x.Ignored) > 0 {
		notes = append(notes, "may differ: "+visible(strings.Join(x.Ignored, ", ")))
	}
	b.WriteString(strings.Join(notes, "; "))
	b.WriteByte('\n')
	return b.String()
}

func (x Explained) humanWaits() string {
	var came, sent []string
	for _, w := range x.Waits {
		switch {
		case w.Event != "":
			came = append(came, w.Event)
		case w.Sent:
			sent = append(sent, fmt.Sprint(w.Seq))
		default:
			came = append(came, fmt.Sprint(w.Seq))
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
