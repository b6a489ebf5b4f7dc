package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"agentrec/internal/dialect"
	"agentrec/internal/tape"
	"agentrec/internal/transcript"
	"agentrec/store"
)

// lsOptions is what `agentrec ls` is asked for.
type lsOptions struct {
	File    string
	Dialect string
	JSON    bool
	Filter  *transcript.Filter // sessions it rules out are left out; nil is all
	Color   string
	Out     io.Writer
	Now     time.Time
}

// summary is a session in a list. Its JSON names are documented in the help of
// ls and stay as they are.
type summary struct {
	ID         int64             `json:"id"`
	UID        string            `json:"uid"`
	Name       string            `json:"name"`
	Tags       map[string]string `json:"tags"`
	Started    time.Time         `json:"started"`
	Seconds    float64           `json:"seconds"`
	Dialect    string            `json:"dialect"`
	Agent      string            `json:"agent"`
	Turns      int               `json:"turns"`
	Calls      int               `json:"calls"`
	Errors     int               `json:"errors"`
	Frames     int64             `json:"frames"`
	Bytes      int64             `json:"bytes"`
	State      store.State       `json:"state"`
	Reason     string            `json:"reason,omitempty"`
	Exit       *store.Exit       `json:"exit,omitempty"`
	Argv       []string          `json:"argv"`
	Cwd        string            `json:"cwd"`
	Host       string            `json:"host"`
	Version    string            `json:"version"`
	Edited     bool              `json:"edited"`
	Unredacted bool              `json:"unredacted"`
	Parent     string            `json:"parent,omitempty"`

	Exchanges      int64 `json:"exchanges"`
	ExchangedBytes int64 `json:"exchanged_bytes"`

	Damaged bool `json:"damaged,omitempty"` // nothing could be counted; check tells where

	known     bool        // turns, calls, errors and agent have been counted
	countedIn store.State // the state that the session had then
}

// summarize returns what the session's row says.
func summarize(s *store.Session) summary {
	tags, argv := s.Tags, s.Argv
	if tags == nil {
		tags = map[string]string{}
	}
	if argv == nil {
		argv = []string{}
	}
	return summary{
		ID: s.ID, UID: s.UID, Name: s.Name, Tags: tags, Started: s.Started.UTC(), Seconds: s.Ended.Seconds(), Dialect: s.Dialect,
		Frames: s.Count(), Bytes: bytesOf(s), State: s.State, Reason: s.Reason, Exit: s.Exit, Argv: argv, Cwd: s.Cwd,
		Host: s.Host, Version: s.Version, Edited: s.Edited, Unredacted: s.Unredacted, Parent: s.Parent,
		Exchanges: s.Exchanged, ExchangedBytes: s.ExchangedBytes,
	}
}

// count adds what only the frames tell.
func (m *summary) count(t *transcript.Transcript) {
	m.Agent, m.Turns, m.Calls, m.Errors = t.Agent, len(t.Turns), len(t.Calls), len(t.Errors)
	if m.Dialect == "" {
		m.Dialect = t.Dialect.Name()
	}
	m.known = true
}

// copyCounts takes what another summary of the session has counted.
func (m *summary) copyCounts(from *summary) {
	m.Agent, m.Turns, m.Calls, m.Errors = from.Agent, from.Turns, from.Calls, from.Errors
	m.Dialect, m.known, m.countedIn = from.Dialect, from.known, from.countedIn
}

// ls prints the sessions of a recording, oldest first.
func ls(ctx context.Context, o lsOptions) error {
	db, err := tape.Open(ctx, o.File)
	if err != nil {
		return err
	}
	defer db.Close()
	list, err := db.Sessions(ctx)
	if err != nil {
		return err
	}
	set, err := dialect.LoadSet(o.Dialect)
	if err != nil {
		return err
	}
	p := newPrinter(o.Out, o.Color)
	var table []summary
	var broken []error // sessions that are damaged: the others are listed all the same
	for _, s := range list {
		if o.Filter.Session(s) == transcript.No {
			continue
		}
		m := summarize(s)
		in, err := m.look(ctx, s, set, o.Filter)
		if m.Damaged = store.IsDamaged(err); err != nil && !m.Damaged {
			return p.finish(err)
		}
		if err != nil {
			broken = append(broken, fmt.Errorf("%w (agentrec check tells what is whole)", err))
		} else if !in {
			continue
		}
		if o.JSON {
			p.json(m)
			if p.stopped() {
				break
			}
			continue
		}
		table = append(table, m)
	}
	if !o.JSON {
		for _, l := range sessionTable(table, o.Now, p.term.Width) {
			p.line(l)
		}
	}
	return p.finish(errors.Join(broken...))
}

// look counts what only the frames of a session tell, and reports whether one
// of them passes the filter.
func (m *summary) look(ctx context.Context, s *store.Session, set dialect.Set, filter *transcript.Filter) (bool, error) {
	d, err := transcript.Detect(ctx, s, set)
	if err != nil {
		return false, err
	}
	t, err := transcript.Open(ctx, s, d)
	if err != nil {
		return false, err
	}
	in, err := anyMatch(ctx, t, filter)
	if err == nil {
		m.count(t)
	}
	return in, err
}

// sessionColumns are those of the list of sessions.
var sessionColumns = []column[summary]{
	{"#", 0, true, 8, func(m *summary, _ time.Time) (string, tone) { return strconv.FormatInt(m.ID, 10), toneStrong }},
	{"name", 1, false, 24, func(m *summary, _ time.Time) (string, tone) { return dash(m.Name), tonePlain }},
	{"started", 2, false, 16, func(m *summary, now time.Time) (string, tone) { return when(m.Started, now), toneDim }},
	{"lasted", 5, true, 7, func(m *summary, _ time.Time) (string, tone) {
		return lasting(time.Duration(m.Seconds * float64(time.Second))), toneDim
	}},
	{"dialect", 7, false, 12, func(m *summary, _ time.Time) (string, tone) { return dash(m.Dialect), tonePlain }},
	{"agent", 8, false, 28, func(m *summary, _ time.Time) (string, tone) { return dash(m.Agent), tonePlain }},
	{"turns", 3, true, 6, number(func(m *summary) int { return m.Turns })},
	{"calls", 4, true, 6, number(func(m *summary) int { return m.Calls })},
	{"errors", 3, true, 6, func(m *summary, now time.Time) (string, tone) {
		text, t := number(func(m *summary) int { return m.Errors })(m, now)
		if m.Errors > 0 {
			t = toneError
		}
		return text, t
	}},
	{"frames", 6, true, 9, func(m *summary, _ time.Time) (string, tone) { return strconv.FormatInt(m.Frames, 10), tonePlain }},
	{"llm", 8, true, 6, func(m *summary, _ time.Time) (string, tone) { return zero(m.Exchanges), tonePlain }},
	{"size", 7, true, 7, func(m *summary, _ time.Time) (string, tone) { return size(m.Bytes + m.ExchangedBytes), toneDim }},
	{"tags", 9, false, 24, func(m *summary, _ time.Time) (string, tone) { return tagText(m.Tags), toneDim }},
	{"ended", 0, false, 40, func(m *summary, _ time.Time) (string, tone) {
		if m.Damaged {
			return "damaged", toneError
		}
		return ending(&store.Session{State: m.State, Reason: m.Reason, Exit: m.Exit})
	}},
}

func number(n func(m *summary) int) func(*summary, time.Time) (string, tone) {
	return func(m *summary, _ time.Time) (string, tone) {
		if m.Damaged {
			return "?", toneError
		}
		if !m.known {
			return "…", toneDim
		}
		return strconv.Itoa(n(m)), tonePlain
	}
}

func dash(s string) string { return cmp.Or(s, "-") }

// sessionTable lays sessions out in columns of at most width in all (0 is any).
func sessionTable(list []summary, now time.Time, most int) []line {
	return columnTable(sessionColumns, list, now, most)
}

func tagText(tags map[string]string) string {
	list := make([]string, 0, len(tags))
	for _, k := range sortedKeys(tags) {
		list = append(list, fmt.Sprintf("%s=%s", k, tags[k]))
	}
	return strings.Join(list, " ")
}
