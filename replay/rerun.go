package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"agentrec/internal/child"
	"agentrec/internal/dialect"
	"agentrec/internal/redact"
	"agentrec/internal/tape"
	"agentrec/internal/transcript"
	"agentrec/store"
)

// RerunOptions says what to run again and how.
type RerunOptions struct {
	Files   []string // databases or text forms
	Session string   // in each; "" is the only one
	Dialect string   // instead of the recorded or detected one
	Argv    []string // the agent's command

	Dir       string   // the agent's working directory; "" is an empty temporary one
	RealTools bool     // let the agent run its own tools
	Pace      float64  // of the mocked model: 0 fast, else the factor of the recorded speed
	Model     string   // ModelMock or ModelLive; "" is ModelMock
	Decline   string   // what a call that was not recorded is answered with; "" is an error that says so
	Ignore    []string // places that may differ
	Unsent    bool     // recorded exchanges that the agent does not ask for are no divergence
	Bind      []string // RECORDED=LIVE
	Wait      time.Duration

	Report  string
	Update  bool
	Keep    string // database that gets the reruns as sessions; "" for none
	Jobs    int    // files at a time
	Runs    int    // of each file
	Verbose bool   // pass the agent's stderr on as it comes
	Version string // of this agentrec
	Stderr  io.Writer
	Onto    Layer // keeps what did not change when a text form is updated
}

// Layer makes a session in temp that is now with what it says in common with
// old in old's own bytes, so that their text forms differ where the
// conversations differ.
type Layer func(ctx context.Context, temp *store.DB, now, old *store.Session) (*store.Session, error)

// rerun is one run of the agent against one session.
type rerun struct {
	o         *RerunOptions
	file      string
	db        *store.DB
	session   *store.Session
	dialect   *dialect.Dialect
	m         *mirror
	agent     *liveAgent
	model     *standIn
	v         *verdict
	refused   []Entry // hosts, noted
	stalls    []Entry // reported last: they follow from what differs
	temp      string  // directory of all that is thrown away
	dir       string  // of the agent
	uid       string  // of the session that is recorded
	exit      *store.Exit
	outs      int64
	exchanges *ReportCount // with the mocked model; nil without
	sent      int
	fed       string // label of what was sent last
	started   time.Time
	broken    error
	fork      *fork // nil for a rerun
}

// openRerun opens a recording and makes its mirror. The caller closes it.
func openRerun(ctx context.Context, o *RerunOptions, file string, until int64) (_ *rerun, err error) {
	r := &rerun{o: o, file: file, v: &verdict{}, started: time.Now()}
	r.db, r.session, err = find(ctx, &Options{File: file, Session: o.Session}, time.Sleep)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			r.close()
		}
	}()
	if r.dialect, err = dialectOf(ctx, r.session, o.Dialect); err != nil {
		return nil, err
	}
	if !o.RealTools {
		if err := r.guard(ctx, until); err != nil {
			return nil, err
		}
	}
	if r.m, err = newMirror(ctx, r.session, r.dialect, until); err != nil {
		return nil, err
	}
	secrets, err := redact.New(redact.Options{Environ: os.Environ()})
	if err != nil {
		return nil, err
	}
	secrets.SetDialect(r.dialect)
	r.v.mask = masker(secrets)
	r.m.decline = o.Decline
	r.m.report = func(n Entry) { r.v.diverged(n) }
	data := newPayloads(ctx, r.session)
	r.m.fetch = func(i int32) []byte {
		raw, err := data.text(int64(r.m.s.items[i].seq))
		if err != nil && r.broken == nil {
			r.broken = err
		}
		return raw
	}
	if r.temp, err = os.MkdirTemp("", "agentrec-rerun-*"); err != nil {
		return nil, fmt.Errorf("running %s again: %w", file, err)
	}
	if r.dir, err = r.workdir(); err != nil {
		return nil, err
	}
	r.bind()
	return r, nil
}

func (r *rerun) close() {
	r.db.Close()
	if r.temp != "" {
		os.RemoveAll(r.temp)
	}
}

// workdir returns the agent's working directory.
func (r *rerun) workdir() (string, error) {
	if r.o.Dir != "" {
		dir, err := filepath.Abs(r.o.Dir)
		if err == nil {
			_, err = os.Stat(dir)
		}
		if err != nil {
			return "", fmt.Errorf("running %s again in %s: %w", r.file, r.o.Dir, err)
		}
		return dir, nil
	}
	dir := filepath.Join(r.temp, "work")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", fmt.Errorf("running %s again: %w", r.file, err)
	}
	return filepath.EvalSymlinks(dir)
}

// bind binds what holds from the start: the working directory, and what was
// given by hand.
func (r *rerun) bind() {
	for _, b := range surroundings(r.session, r.dir) {
		r.m.bind(b)
	}
	for _, b := range r.o.Bind {
		recorded, live, _ := strings.Cut(b, "=")
		r.m.bind(binding{recorded: recorded, live: live, given: byHand})
	}
}

// run starts the agent and plays the client to it until it has ended. The
// result is in r; the error is of what kept us from it.
func (r *rerun) run(ctx context.Context, path string) error {
	environ := agentEnviron(os.Environ(), r.dir)
	start := tape.Start{
		Name: r.session.Name, Tags: r.session.Tags, Started: time.Now(), Argv: r.o.Argv, Cwd: r.dir, Folders: tape.Folders(),
		Version: r.o.Version, Dialect: r.session.Dialect, Environ: environ, Parent: r.session.UID,
	}
	if r.o.Dialect != "" {
		start.Dialect = r.o.Dialect
	}
	if r.fork != nil {
		start.Name = r.fork.o.Name
	}
	start.Host, _ = os.Hostname() // "" when the system has none
	t, err := tape.Create(r.database(), start)
	if err != nil {
		return fmt.Errorf("running %s again: %w", r.file, err)
	}
	r.uid = t.UID()
	var side io.Writer
	if r.o.Verbose {
		side = r.o.Stderr
	}
	if r.model, environ, err = r.startModel(ctx, t, environ); err != nil {
		t.Discard()
		return fmt.Errorf("running %s again: %w", r.file, err)
	}
	r.agent, err = startAgent(t, child.Start{Path: path, Argv: r.o.Argv, Environ: environ, Dir: r.dir}, side, r.fork != nil)
	if err != nil {
		r.model.close()
		t.Discard()
		return err
	}
	err = r.play(ctx)
	r.agent.close()
	r.model.close()
	t.Event(store.Event{Kind: store.EventExit, Exit: r.exit})
	err = errors.Join(err, r.store(context.WithoutCancel(ctx), t))
	if err == nil {
		err = r.broken
	}
	if err != nil {
		return fmt.Errorf("running %s again: %w", r.file, err)
	}
	return nil
}

// storeWait is how long a fork waits for a database that others hold.
const storeWait = 10 * time.Second

// store brings the tape of the run into its database. That of a fork is the
// user's, and may be held by others: then the tape stays beside it, to be read
// as a part of it and taken in by whoever writes there next.
func (r *rerun) store(ctx context.Context, t *tape.Tape) error {
	follower := t.Follower()
	defer follower.Close()
	end := t.Finish(r.exit)
	if r.fork == nil {
		return follower.Complete(ctx, end)
	}
	ctx, cancel := context.WithTimeout(ctx, storeWait)
	defer cancel()
	err := follower.Complete(ctx, end)
	if err != nil {
		t.Leave()
	}
	if errors.Is(err, tape.ErrBehind) {
		return nil
	}
	return err
}

// database is where the rerun is recorded.
func (r *rerun) database() string {
	if r.fork != nil {
		return r.fork.o.DB
	}
	return filepath.Join(r.temp, "session.db")
}

// compare compares what the agent did with what was recorded.
func (r *rerun) compare(ctx context.Context) error {
	db, err := tape.Open(ctx, r.database())
	if err != nil {
		return err
	}
	defer db.Close()
	now, err := db.Find(ctx, r.uid)
	if err != nil {
		return err
	}
	r.outs = now.Chains[store.Out].Frames
	a, err := transcript.Build(ctx, r.session, r.dialect)
	if err != nil {
		return err
	}
	b, err := transcript.Build(ctx, now, r.dialect)
	if err != nil {
		return err
	}
	ignore, err := dialect.ParsePaths(r.o.Ignore...)
	if err != nil {
		return fmt.Errorf("reading --ignore: %w", err)
	}
	d, err := transcript.DiffSessions(ctx, a, b, transcript.DiffOptions{Ignore: ignore, Rewrite: r.rewrite})
	if err != nil {
		return err
	}
	r.judge(d)
	return nil
}

// rewrite puts live values into what was recorded, and takes from both sides
// what tells one redacted value from another.
func (r *rerun) rewrite(side int, text string) string {
	if side == 0 && len(r.m.now.text) > 0 {
		if dialect.Valid([]byte(text)) {
			text = string(apply([]byte(text), literals(r.m.now.text, []byte(text), nil)))
		} else {
			text = string(apply([]byte(text), texts(r.m.now.text, text)))
		}
	}
	return plain(text)
}

// agentEnviron is what an agent inherits in a rerun: not our own settings, and
// the directory it starts in.
func agentEnviron(environ []string, dir string) []string {
	var kept []string
	for _, e := range environ {
		name, _, _ := strings.Cut(e, "=")
		if strings.HasPrefix(name, "AGENTREC_") || name == "PWD" || name == "OLDPWD" {
			continue
		}
		kept = append(kept, e)
	}
	return append(kept, "PWD="+dir)
}
