// Package record runs an agent behind a transparent proxy and records what
// passes. One chunk's way, the same for all three streams:
//
//	client --fd 0--> read -> stamp, seal, append to the tape -> write --pipe--> agent
//
// Each stream has one goroutine on a thread of its own with plain blocking
// reads and writes. Behind them one goroutine of low priority brings the tape
// into the database; nothing on the way of a chunk waits for it.
package record

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"agentrec/internal/child"
	"agentrec/internal/tape"
	"agentrec/store"
)

// Options says what to run and where to record it.
type Options struct {
	DB       string // database; created when missing
	Name     string
	Tags     map[string]string
	Dialect  string   // name or file; "" is decided by the first frames
	Rules    []string // regular expressions; what they match is a secret
	NoRedact bool
	LLM      store.Route   // how its model traffic is recorded, of Run: store.RouteBaseURL or store.RouteMITM; "" is not
	LLMHosts []string      // patterns of hosts that are a model's, with store.RouteMITM, besides the known ones
	Argv     []string      // the agent's command, of Run
	Listen   string        // where clients connect, of Listen and ListenLLM: unix:PATH, HOST:PORT or :PORT for this machine only
	Connect  string        // where the agent is
	Upstream string        // where the model's API is, of ListenLLM
	Version  string        // of this agentrec, kept with the session
	Patience time.Duration // how long an ending recorder may work on what is not in the database yet; 0 is a second
	Stderr   io.Writer     // for people; nil is os.Stderr
}

// threads is the least GOMAXPROCS of a recorder. With fewer the goroutines that
// sit in blocking calls wait for the runtime to hand the only P around, up to
// 10 ms while the drain computes; with these the operating system decides, also
// on one CPU, and it knows that the drain has low priority.
const threads = 6

// gcPercent makes the collector rare while the heap is small: a recorder's first
// collections, every few megabytes, met one round trip in a thousand, which then
// took 1 ms. softMemory is from where on it works harder: a line of many
// megabytes leaves garbage as long as itself.
const (
	gcPercent  = 200
	softMemory = 20 << 20
)

// prepare sets the process up for recording.
func prepare() {
	if runtime.GOMAXPROCS(0) < threads {
		runtime.GOMAXPROCS(threads)
	}
	debug.SetGCPercent(gcPercent)
	debug.SetMemoryLimit(softMemory)
}

// Run starts the agent as a child of this process, stands between it and this
// process's standard streams until it has ended, and records all of it. The
// error is a store.Exit that tells how the agent ended, or a Failure. Once the
// agent runs, it does not end when ctx does: the signals that people and clients send
// are passed on to the agent, and its end is ours.
func Run(ctx context.Context, o Options) error {
	if o.Stderr == nil {
		o.Stderr = os.Stderr
	}
	prepare()
	defer failingWrites()()
	path, err := child.LookPath(o.Argv[0])
	if err != nil {
		return err
	}
	environ := childEnviron(os.Environ())
	start, err := o.start(environ)
	if err != nil {
		return Failure{Status: statusOwn, Err: err}
	}
	if err := usable(o.DB); err != nil {
		return err
	}
	p := &proxy{signals: catchSignals(), patience: drainAtExit}
	defer p.signals.stop()
	if ctx.Err() != nil { // an interrupt that came before we could pass it on
		return store.Exit{Code: 130, Signal: "INT"}
	}
	if o.Patience > 0 {
		p.patience = o.Patience
	}
	warn := newWarner(o.Stderr)
	defer warn.wait()
	if p.recording, err = o.record(start, warn); err != nil {
		return err
	}
	if p.model, err = o.model(p.tape); err != nil {
		p.tape.Discard()
		return Failure{Status: statusOwn, Err: err}
	}
	exit, err := p.run(path, o.Argv, p.model.env(environ))
	if err != nil {
		p.model.end(0)
		p.tape.Discard()
		return err
	}
	if hint := p.model.unused(); hint != "" {
		warn.say("%s", hint)
	}
	return exit
}

func (o *Options) start(environ []string) (tape.Start, error) {
	s := tape.Start{
		Name: o.Name, Tags: o.Tags, Started: time.Now(), Argv: o.Argv, Version: o.Version,
		Dialect: o.Dialect, Unredacted: o.NoRedact, Folders: tape.Folders(),
	}
	var err error
	if s.Cwd, err = os.Getwd(); err != nil {
		s.Cwd = "" // it was removed; an agent can run there
	}
	if s.Host, err = os.Hostname(); err != nil {
		s.Host = ""
	}
	if !o.NoRedact {
		s.Rules, s.Environ, s.DotEnv = o.Rules, environ, dotEnv()
	}
	return s, nil
}

// dotEnv reads a .env in the working directory, as many agents do: its values
// are secrets to look for.
func dotEnv() []byte {
	const name, most = ".env", 1 << 20
	info, err := os.Stat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > most {
		return nil
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return nil
	}
	return b
}

// usable refuses what can never become a database, before the agent starts.
func usable(path string) error {
	if err := store.Recognize(path); err != nil {
		return Failure{Status: statusOwn, Err: fmt.Errorf("record into %s: %w; name another file with --db", path, pathless(err))}
	}
	return nil
}

func pathless(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// childEnviron is what the agent inherits: not the settings of its recorder, or
// an agent that records its own children would write into our database.
func childEnviron(environ []string) []string {
	kept := make([]string, 0, len(environ))
	for _, e := range environ {
		if !strings.HasPrefix(e, "AGENTREC_") {
			kept = append(kept, e)
		}
	}
	return kept
}
