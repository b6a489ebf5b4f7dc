package record

import (
	"os"
	"time"

	"agentrec/internal/child"
	"agentrec/store"
)

// How long an agent may stay when its client is gone.
const (
	graceToEnd  = 10 * time.Second // to end by itself
	graceToTerm = 5 * time.Second  // to end after TERM
)

// client is the process that uses the agent, as far as we can see it.
type client struct {
	parent    int
	connected bool      // stdout is a pipe or a socket
	gone      time.Time // since when, zero while it is there
	termed    bool
	family    child.Family // the agent and its descendants, when TERM was sent
	killed    bool
}

func newClient() *client {
	info, err := os.Stdout.Stat()
	return &client{parent: os.Getppid(), connected: err == nil && info.Mode()&(os.ModeNamedPipe|os.ModeSocket) != 0}
}

// look ends an agent that nobody can use any more: its client neither writes
// nor reads, or is dead. The agent is never ended for any other reason.
func (c *client) look(p *proxy) {
	if !c.isGone(p) {
		c.gone = time.Time{}
		return
	}
	now := time.Now()
	if c.gone.IsZero() {
		c.gone = now
	}
	switch {
	case !c.termed && now.Sub(c.gone) >= graceToEnd:
		c.termed = true
		p.asked.Store(true)
		c.family = p.family()
		c.family.Terminate()
	case c.termed && !c.killed && now.Sub(c.gone) >= graceToEnd+graceToTerm:
		c.killed = true
		append(c.family, p.family()...).Kill()
	}
}

// family is the agent and its descendants, none once it has ended: its number may
// be another process's then.
func (p *proxy) family() child.Family {
	if p.exited.Load() {
		return nil
	}
	return child.FamilyOf(p.child.Process.Pid)
}

// isGone reports whether nobody can use the agent any more: its input has
// ended, and its output has no reader or the process that started us is dead.
// A parent that is dead says nothing when output goes to a file or a terminal,
// or when we were told to outlive it: people put programs into the background.
func (c *client) isGone(p *proxy) bool {
	if c.termed {
		return true
	}
	if !p.pump(store.In).ended.Load() {
		return false
	}
	if p.pump(store.Out).hung.Load() || hungUp(stdout) {
		return true
	}
	return os.Getppid() != c.parent && c.connected && !survivesParent()
}
