package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"agentrec/internal/child"
	"agentrec/internal/dialect"
	"agentrec/internal/llm"
	"agentrec/internal/tape"
	"agentrec/internal/transcript"
	"agentrec/store"
)

// ForkOptions says where a session forks and how it goes on.
type ForkOptions struct {
	RerunOptions          // of one file
	At           int64    // the first recorded frame that is not played
	Edit         [][]byte // client frames to send there
	DB           string   // database that gets the fork; "" is the recording's, or AGENTREC_DB, or session.db
	Name         string
	Stdin        io.Reader
	Stdout       io.Writer
	Signals      <-chan os.Signal
}

// fork is the part of a rerun that goes on live.
type fork struct {
	o      *ForkOptions
	begun  bool
	in     chan arrival
	stop   chan struct{}
	first  int64            // how many client frames were sent before
	within bool             // a giant that began before is still on its way
	term   store.Terminator // of the agent's last frame
	asked  []string         // the questions that the caller was handed
	took   bool             // the caller has sent something
	silent bool             // it has ended without
}

// Fork plays the recorded client to the agent up to a frame, as Rerun does, and
// then lets the caller go on: its Stdin is the agent's from there on, and its
// Stdout gets what the agent sends. All of it is stored as a session that names
// the recorded one as its parent. It returns store.Exit as the agent left, or
// Divergence when the agent did not come to the frame.
func Fork(ctx context.Context, o ForkOptions) error {
	path, err := child.LookPath(o.Argv[0])
	if err != nil {
		return err
	}
	if path, err = filepath.Abs(path); err != nil {
		return fmt.Errorf("finding %s: %w", o.Argv[0], err)
	}
	file := o.Files[0]
	r, err := openRerun(ctx, &o.RerunOptions, file, o.At)
	if err != nil {
		return err
	}
	defer r.close()
	if o.At < 1 || o.At > int64(r.m.s.last) {
		return fmt.Errorf("%w: session %d of %s has no frame %d; it ends at %d", store.ErrUnusable, r.session.ID, file, o.At, r.m.s.last)
	}
	if err := r.forkInto(ctx, &o); err != nil {
		return err
	}
	r.fork = &fork{o: &o, in: make(chan arrival), stop: make(chan struct{})}
	r.m.report = func(n Entry) {
		r.v.diverged(n)
		io.WriteString(o.Stderr, human(n))
	}
	err = r.run(ctx, path)
	close(r.fork.stop)
	if err != nil {
		return err
	}
	if !r.fork.begun {
		for _, n := range r.stalls {
			io.WriteString(o.Stderr, human(r.v.diverged(n)))
		}
		if said := r.agent.stderr.text(); said != "" {
			fmt.Fprintf(o.Stderr, "agentrec: the agent's stderr ends:\n%s\n", visibleLines(said))
		}
		fmt.Fprintf(o.Stderr, "agentrec: the agent did not come to frame %d\n", o.At)
		return Divergence{Count: max(1, len(r.v.diverge))}
	}
	if err := r.forked(ctx); err != nil {
		return err
	}
	if r.exit.Code != 0 || r.exit.Signal != "" {
		return *r.exit
	}
	if r.fork.silent {
		fmt.Fprintf(o.Stderr, "agentrec: the agent waits for an answer to %s, and stdin held nothing\n", strings.Join(r.fork.asked, ", "))
		return Divergence{Count: len(r.fork.asked)}
	}
	return nil
}

// forkInto decides where the fork is stored and what it is called.
func (r *rerun) forkInto(ctx context.Context, o *ForkOptions) error {
	secret, err := r.db.Secret(ctx)
	if err != nil {
		return err
	}
	switch env := os.Getenv("AGENTREC_DB"); {
	case o.DB != "":
	case len(secret) > 0:
		o.DB = r.file
	case env != "":
		o.DB = env
	default:
		o.DB = "session.db"
	}
	if o.Name == "" {
		o.Name = fmt.Sprintf("fork at %d", o.At)
		if r.session.Name != "" {
			o.Name = r.session.Name + ", " + o.Name
		}
	}
	return nil
}

// forked tells where the fork is and how it differs from there on.
func (r *rerun) forked(ctx context.Context) error {
	db, err := tape.Open(ctx, r.fork.o.DB)
	if err != nil {
		return err
	}
	defer db.Close()
	now, err := db.Find(ctx, r.uid)
	if err != nil {
		return err
	}
	a, err := transcript.Build(ctx, r.session, r.dialect)
	if err != nil {
		return err
	}
	b, err := transcript.Build(ctx, now, r.dialect)
	if err != nil {
		return err
	}
	from := [2]int64{r.fork.o.At, transcript.FrameAfter(b, r.fork.first)}
	d, err := transcript.DiffSessions(ctx, a, b, transcript.DiffOptions{From: from, Rewrite: r.rewrite})
	if err != nil {
		return err
	}
	pairs, err := llm.PairSessions(ctx, r.session, now, llm.PairOptions{From: from})
	if err != nil {
		return err
	}
	fmt.Fprintf(r.o.Stderr, "agentrec: forked session %d at frame %d into session %d of %s; %s from there on: agentrec diff %s#%d %s#%d --from %d\n",
		r.session.ID, r.fork.o.At, now.ID, r.fork.o.DB, count(d.Differences+llm.CountDifferences(pairs), "difference"), r.file, r.session.ID, r.fork.o.DB, now.ID, r.fork.o.At)
	return nil
}

// live reports whether the caller has taken over.
func (f *fork) live() bool { return f != nil && f.begun }

// client returns where the caller's frames arrive.
func (f *fork) client() <-chan arrival {
	if f == nil {
		return nil
	}
	return f.in
}

func (f *fork) signals() <-chan os.Signal {
	if f == nil {
		return nil
	}
	return f.o.Signals
}

// begin hands over to the caller: the edited frames go to the agent, and the
// agent's open questions to the caller.
func (f *fork) begin(r *rerun) {
	f.begun = true
	f.first = int64(r.sent)
	r.model.goLive()
	for _, raw := range f.o.Edit {
		r.agent.feeder.push(feed{raw: r.m.adapt(raw), term: store.LF})
	}
	for _, i := range slices.Sorted(maps.Keys(r.m.open)) {
		raw := r.m.open[i]
		label := r.dialect.Read(store.Out, raw).Label
		f.asked = append(f.asked, fmt.Sprintf("%s (frame %d)", visible(label), r.m.s.items[i].seq))
		f.write(append(raw[:len(raw):len(raw)], f.term.Bytes()...))
	}
	go readAll(f.o.Stdin, f.in, f.stop, true)
}

// pass gives the caller what the agent sends, byte for byte, once it has taken
// over, and reports whether it had. A giant is passed from its beginning or not.
func (f *fork) pass(a arrival) bool {
	switch {
	case f == nil:
		return false
	case a.piece != nil:
		if f.within = f.within || !f.begun; !f.within {
			f.write(a.piece)
		}
		return true
	case !f.begun:
		f.within, f.term = false, a.term
		return false
	case !a.giant:
		f.write(append(a.frame[:len(a.frame):len(a.frame)], a.term.Bytes()...))
	}
	f.within = false
	return true
}

func (f *fork) write(b []byte) {
	f.o.Stdout.Write(b) // a caller that reads no more has its reasons
}

// take gives the agent what the caller sends, byte for byte.
func (f *fork) take(r *rerun, a arrival) {
	switch {
	case a.eof:
		f.in = nil
		f.silent = !f.took && len(f.o.Edit) == 0 && len(f.asked) > 0
		r.agent.feeder.push(feed{eof: true})
		return
	case a.piece != nil:
		r.agent.feeder.push(feed{raw: a.piece})
	case !a.giant:
		r.agent.feeder.push(feed{raw: a.frame, term: a.term})
	}
	f.took = true
}

// adapt puts live values in the place of recorded ones in a frame that was
// written by hand.
func (m *mirror) adapt(raw []byte) []byte {
	if !dialect.Valid(raw) {
		return raw
	}
	var edits []edit
	for _, slot := range m.s.dialect.Slots(store.In, raw) {
		if live, ok := m.now.values[naming(slot.Namespace, string(raw[slot.Start:slot.End]))]; ok && !slot.Ref {
			edits = append(edits, edit{slot.Start, slot.End, live})
		}
	}
	return apply(raw, sorted(append(edits, literals(m.now.text, raw, edits)...)))
}

// ParseEdit reads what --edit names: JSON, or a file with a frame a line.
func ParseEdit(text string) ([][]byte, error) {
	if t := strings.TrimSpace(text); strings.HasPrefix(t, "{") || strings.HasPrefix(t, "[") {
		if !dialect.Valid([]byte(t)) || strings.ContainsAny(t, "\r\n") {
			return nil, errors.New("it is not one JSON value in one line")
		}
		return [][]byte{[]byte(t)}, nil
	}
	b, err := os.ReadFile(text)
	if err != nil {
		return nil, err
	}
	var out [][]byte
	for line := range strings.Lines(string(b)) {
		if line = strings.TrimRight(line, "\r\n"); line != "" {
			out = append(out, []byte(line))
		}
	}
	if len(out) == 0 {
		return nil, errors.New("it holds no frame")
	}
	return out, nil
}
