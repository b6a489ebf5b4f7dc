package transcript

import (
	"strings"

	"agentrec/internal/dialect"
	"agentrec/store"
)

// phiFindings looks for what phi's bridge is known to do wrong (0.2.5 to
// 0.12.0) and what looks like a fault of the client then. The zero pointer
// finds nothing.
type phiFindings struct {
	c          *findings
	registered map[string]bool  // names of the client's tools
	created    map[string]int64 // session ids without a run so far, with their frame
	muteSince  int64            // the error after which the agent said nothing
}

func newPhi(c *findings) *phiFindings {
	if c.t.Dialect.Name() != "phi" {
		return nil
	}
	return &phiFindings{c: c, registered: map[string]bool{}, created: map[string]int64{}}
}

// frame takes the next frame.
func (p *phiFindings) frame(f store.Frame, e Entry) {
	if p == nil || f.Raw == nil || !e.Flags.Has(JSON) || f.Stream == store.Err {
		return
	}
	if f.Stream == store.Out {
		p.muteSince = 0
	}
	label := p.c.t.Label(e)
	field := func(name string) string {
		t := parse(f.Raw)
		n := t.child(0, name)
		if n < 0 || t.kind(n) != '"' {
			return ""
		}
		return Unquote(t.text(n))
	}
	switch {
	case f.Stream == store.In:
		p.client(f, e, label, field)
	case label == "tool_call":
		if name := field("name"); !p.registered[name] {
			p.c.add(f.Seq, "phi-own-tool", Warning, "tool_call for %q, which the client never registered: phi asks the client for a tool of its own, and the answer lands with the next tool of the client", Clip(name, 60))
		}
	case label == "event.toolCallFinished", label == "event.actionFinished":
		if strings.Contains(field("summary"), "no tool call slot prepared") {
			p.c.add(f.Seq, "phi-no-slot", Fault, "%q ended without waiting for the client: phi takes one tool_result a run (\"no slot\")", Clip(field("tool_name"), 60))
		}
	case label == "error.TURN_ERROR", label == "error.TURN_PANIC":
		p.muteSince = f.Seq
	}
}

// client takes the next frame of the client.
func (p *phiFindings) client(f store.Frame, e Entry, label string, field func(string) string) {
	switch label {
	case "register_tool":
		p.registered[field("name")] = true
		p.swallowed(f, e)
	case "create_session":
		if id := field("session_id"); id != "" {
			p.created[id] = f.Seq
		}
		p.swallowed(f, e)
	case "list_tools":
		p.swallowed(f, e)
	case "run":
		delete(p.created, field("session_id"))
		p.swallowed(f, e)
	default:
		if e.Role == dialect.Request {
			p.swallowed(f, e)
		}
	}
}

// swallowed reports a request that came while a run was active: phi reads it
// and answers nothing.
func (p *phiFindings) swallowed(f store.Frame, e Entry) {
	if e.Turn == 0 || e.Pair != 0 || p.c.t.Turns[e.Turn-1].First == f.Seq {
		return
	}
	if p.muteSince > 0 {
		return
	}
	p.c.quiet[f.Seq] = true
	p.c.add(f.Seq, "phi-swallowed", Fault, "%s came while a run was active: phi swallows it without an answer", p.c.t.Label(e))
}

// end looks at the session as a whole.
func (p *phiFindings) end() {
	if p == nil {
		return
	}
	t := p.c.t
	if p.muteSince > 0 {
		lost := 0
		for i := p.muteSince; i < int64(len(t.Entries)); i++ {
			if e := t.Entries[i]; e.Role == dialect.Request && e.Stream == store.In {
				p.c.quiet[i+1] = true
				lost++
			}
		}
		if lost > 0 {
			p.c.add(p.muteSince, "phi-no-done", Fault, "%s without done: phi answered none of the %d requests after it", t.Label(t.Entries[p.muteSince-1]), lost)
		} else {
			p.c.add(p.muteSince, "phi-no-done", Warning, "%s without done: phi says nothing more after it", t.Label(t.Entries[p.muteSince-1]))
		}
	}
	for id, seq := range p.created {
		p.c.add(seq, "phi-unused-session", Warning, "no run uses the session %q: create_session binds nothing, only the session_id of a run counts", Clip(id, 60))
	}
}
