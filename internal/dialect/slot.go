package dialect

import (
	"slices"

	"agentrec/store"
)

// Slot is one place in a frame that holds an id.
type Slot struct {
	Start, End int    // raw[Start:End] is the JSON token
	Namespace  string // "terminal", "request:in", ...
	Ref        bool   // points at a request, else a value
	Mints      bool   // this frame brings the value into being
	ByClient   bool   // minted by the client, else by the agent
}

// requestSpace is the namespace of the ids of requests that travel on a stream,
// handleSpace that of the tokens by which other frames speak of them.
func requestSpace(s store.Stream) string { return "request:" + s.String() }
func handleSpace(s store.Stream) string  { return "handle:" + s.String() }

// slots compiles the slots of a rule: its own ids first, then what the table
// says.
func (c *compiler) slots(r *Rule, specs []slotSpec, about *aboutSpec) error {
	own := func(p pick, space string, of store.Stream, mints bool) {
		for _, e := range p {
			if e.path != "" { // a gjson query has no fixed place
				continue
			}
			keys := make(pattern, len(e.keys))
			for i, k := range e.keys {
				keys[i] = segment{key: k}
			}
			r.slots.list = append(r.slots.list, keys)
			r.slotOf = append(r.slotOf, Slot{Namespace: space, Ref: true, Mints: mints, ByClient: of == store.In})
		}
	}
	other := store.In + store.Out - r.Stream
	switch r.Role {
	case Request:
		own(r.id, requestSpace(r.Stream), r.Stream, true)
	case Response:
		own(r.id, requestSpace(other), other, false)
	}
	own(r.handle, handleSpace(r.Stream), r.Stream, true)
	own(r.target, requestSpace(r.Stream), r.Stream, false)
	if about != nil {
		space := requestSpace(r.AboutOf)
		switch about.By {
		case "", "id":
		case "handle":
			space = handleSpace(r.AboutOf)
		default:
			return c.fail("by cannot be %q; write id or handle", about.By)
		}
		own(r.about, space, r.AboutOf, false)
	}
	for _, s := range specs {
		on, err := streams(s.Stream)
		if err != nil {
			return c.fail("slots: %w", err)
		}
		if !slices.Contains(on, r.Stream) {
			continue
		}
		p, err := parsePattern(s.Path)
		if err != nil {
			return c.fail("slots: %w", err)
		}
		if s.Space == "" || s.Minted != "client" && s.Minted != "agent" {
			return c.fail("a slot needs space: NAME and minted: client or agent")
		}
		r.slots.list = append(r.slots.list, p)
		r.slotOf = append(r.slotOf, Slot{Namespace: s.Space, Ref: s.Ref, Mints: s.Mints, ByClient: s.Minted == "client"})
	}
	return nil
}

// Slots returns the values in a frame that are references to requests or
// values minted by one side, in order and not overlapping. Slots of a
// frame within the frame have a namespace that begins with "inner/".
func (d *Dialect) Slots(stream store.Stream, raw []byte) []Slot {
	var out []Slot
	d.eachRule(stream, raw, func(r *Rule, f frame, base int) { out = r.appendSlots(out, f, base) })
	return out
}

func (r *Rule) appendSlots(out []Slot, f frame, base int) []Slot {
	first := len(out)
	r.slots.find(f.raw, func(which int, s Span) {
		slot := r.slotOf[which]
		if !slot.Ref && !bindable(f.raw[s.Start:s.End]) {
			return
		}
		slot.Start, slot.End = base+s.Start, base+s.End
		out = append(out, slot)
	})
	if r.inner == nil {
		return out
	}
	at := f.spans[r.inner.at.slot]
	if at.End == 0 {
		return out
	}
	out = slices.DeleteFunc(out, func(s Slot) bool { return s.Start < base+at.End && s.End > base+at.Start })
	for _, s := range r.inner.dialect.Slots(r.inner.stream, f.raw[at.Start:at.End]) {
		s.Start, s.End, s.Namespace = s.Start+base+at.Start, s.End+base+at.Start, "inner/"+s.Namespace
		out = append(out, s)
	}
	slices.SortFunc(out[min(first, len(out)):], func(a, b Slot) int { return a.Start - b.Start })
	return out
}

// bindable reports whether a token can be a minted value: not null, not empty,
// not a container.
func bindable(token []byte) bool {
	return isKind(token, "text") || isKind(token, "number")
}
