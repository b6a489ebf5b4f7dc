package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"agentrec/internal/dialect"
	"agentrec/internal/llm"
	"agentrec/internal/redact"
	"agentrec/internal/tape"
	"agentrec/store"
)

// ModelOptions says which recorded exchanges to serve, and how.
type ModelOptions struct {
	File        string
	Session     string
	Listen      string   // HOST:PORT; "" for a free port of this machine and a path that nobody can guess
	Command     []string // runs with its variables set; "" serves until a signal
	OnMiss      string
	Exhausted   string
	Ignore      []string // paths
	Bind        []string // RECORDED=LIVE
	AllowUnsent bool
	Pace        float64
	PaceCap     time.Duration
	Report      string

	Stdin          *os.File
	Stdout, Stderr io.Writer
	Signals        <-chan os.Signal // end the serving; are passed on to Command
}

// ServeModel takes the place of the model for programs that speak to one by HTTP,
// until a signal comes or the command ends. It returns nil, or the store.Exit of
// the command, when all was as recorded, Divergence when a request was missed or
// an exchange left over, and an error that wraps store.ErrUnusable when there is
// nothing to serve.
func ServeModel(ctx context.Context, o ModelOptions) error {
	data := context.WithoutCancel(ctx)
	m, err := newModel(data, &o)
	if err != nil {
		return err
	}
	defer m.mock.Close()
	front, err := m.front()
	if err != nil {
		return m.neverServed(err)
	}
	stop := m.follow()
	var left error
	if len(o.Command) > 0 {
		left = m.run(front.Env(os.Environ()))
	} else {
		for _, line := range m.bases(front) {
			fmt.Fprintf(o.Stderr, "agentrec: %s\n", line)
		}
		select {
		case <-ctx.Done():
		case <-o.Signals:
		}
	}
	front.Close()
	stop()
	m.listener = front
	if left != nil && !errors.As(left, new(store.Exit)) { // it did not start
		return m.neverServed(left)
	}
	return m.verdict(left)
}

// neverServed writes the report of a serving that did not come to be, because of
// err, and returns that.
func (m *model) neverServed(err error) error {
	if m.reporter == nil {
		return err
	}
	return errors.Join(err, m.reporter.close(m.report("done")))
}

// model is one serving of a session's exchanges.
type model struct {
	o        ModelOptions
	session  *store.Session
	list     []store.Exchange
	mock     *llm.Mock
	listener *llm.Front // once it is closed
	reporter *reporter
	started  time.Time
	redactor *redact.Redactor

	mu sync.Mutex // of stderr
}

func newModel(ctx context.Context, o *ModelOptions) (*model, error) {
	m := &model{o: *o, started: time.Now()}
	db, err := tape.Open(ctx, o.File)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	if m.session, err = db.Find(ctx, o.Session); err != nil {
		return nil, err
	}
	for x, err := range m.session.Exchanges(ctx) {
		if err != nil {
			return nil, err
		}
		m.list = append(m.list, x)
	}
	if len(m.list) == 0 {
		return nil, fmt.Errorf("%w: session %d of %s holds no exchanges with a model; record them with agentrec proxy --llm or agentrec llm record", store.ErrUnusable, m.session.ID, o.File)
	}
	ignore, err := dialect.ParsePaths(o.Ignore...)
	if err != nil {
		return nil, fmt.Errorf("reading --ignore: %w", err)
	}
	if m.redactor, err = redact.New(redact.Options{Environ: os.Environ()}); err != nil {
		return nil, err
	}
	if o.Report != "" {
		if m.reporter, err = newReporter(o.Report, processName(m.session, 0)); err != nil {
			return nil, err
		}
	}
	options := llm.MockOptions{
		OnMiss: o.OnMiss, Exhausted: o.Exhausted, Pace: o.Pace, PaceCap: o.PaceCap, Ignore: ignore, Started: m.session.Started,
		Redact: m.redactor.Text, Missed: m.missed,
	}
	for _, b := range o.Bind {
		recorded, live, _ := strings.Cut(b, "=")
		options.Paths = append(options.Paths, llm.PathPair{Recorded: recorded, Live: live})
	}
	if m.reporter != nil {
		options.Where = m.reporter.path
	}
	m.mock = llm.NewMock(m.list, options)
	return m, nil
}

// front listens as the recording did for a command, else as a plain server.
func (m *model) front() (*llm.Front, error) {
	o := llm.FrontOptions{Route: store.RouteDirect, Handler: m.mock, Listen: m.o.Listen}
	if len(m.o.Command) > 0 {
		if o.Route = m.list[0].Route; o.Route != store.RouteMITM {
			o.Route = store.RouteBaseURL
		}
		o.Refuse = true
		for _, x := range m.list {
			if u, err := url.Parse(x.URL); err == nil && !slices.Contains(o.Hosts, u.Host) {
				o.Hosts = append(o.Hosts, u.Host)
			}
		}
		return llm.NewFront(o)
	}
	u, err := url.Parse(m.list[0].URL)
	if err != nil {
		return nil, fmt.Errorf("%w: exchange %d has no URL: %w", store.ErrUnusable, m.list[0].Number, err)
	}
	o.Upstream = &url.URL{Scheme: u.Scheme, Host: u.Host}
	return llm.NewFront(o)
}

// bases says which base URLs stand for the recorded ones, a line each.
func (m *model) bases(front *llm.Front) []string {
	var recorded []*url.URL
	hosts := map[string]bool{}
	for _, x := range m.list {
		u, err := url.Parse(x.URL)
		if err != nil || hosts[u.Host] {
			continue
		}
		hosts[u.Host] = true
		recorded = append(recorded, &url.URL{Scheme: u.Scheme, Host: u.Host, Path: versionOf(u.Path)})
	}
	var out []string
	for i, u := range recorded {
		at := &url.URL{Path: u.Path}
		if i > 0 {
			at.Path = "/" + u.Host + u.Path
		}
		out = append(out, fmt.Sprintf("the base URL is %s for %s", front.BaseURL(at), u))
	}
	out[0] += fmt.Sprintf("; it has %s of session %d; Ctrl-C ends it", count(len(m.list), "exchange"), m.session.ID)
	return out
}

// versionOf returns the segments of a path up to the version of the API, which
// base URLs end in; "" when there is none.
func versionOf(p string) string {
	for dir := path.Dir(p); len(dir) > 1; dir = path.Dir(dir) {
		if last := path.Base(dir); len(last) > 1 && last[0] == 'v' && last[1] >= '0' && last[1] <= '9' {
			return dir
		}
	}
	return ""
}

// follow keeps the report up to date while requests come, so that it is of use
// also after KILL, until the returned function is called.
func (m *model) follow() (stop func()) {
	if m.reporter == nil {
		return func() {}
	}
	m.reporter.sync(m.report("running"))
	ticker, done, ended := time.NewTicker(followEvery), make(chan struct{}), make(chan struct{})
	go func() { // ends with done
		defer close(ended)
		seen := 0
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				if n := m.mock.Report().Requests; n != seen {
					seen = n
					m.tell()
				}
			}
		}
	}()
	return func() {
		ticker.Stop()
		close(done)
		<-ended
	}
}

// followEvery is how old a report may be.
const followEvery = 200 * time.Millisecond

// missed tells a miss as it happens.
func (m *model) missed(miss llm.Miss) {
	m.mu.Lock()
	fmt.Fprint(m.o.Stderr, human(missEntry(miss)))
	m.mu.Unlock()
	m.tell()
}

// tell brings the report up to date.
func (m *model) tell() {
	if m.reporter != nil {
		m.reporter.update(m.report("running"))
	}
}

func (m *model) report(state string) *Report {
	seen := m.mock.Report()
	r := &Report{
		Format: 1, File: m.o.File, Session: ReportSession{m.session.ID, m.session.UID, m.session.Name}, Dialect: "llm", State: state,
		Verdict: "pass", Process: os.Getpid(), Started: m.started, Took: float64(time.Since(m.started).Microseconds()) / 1000,
		In: ReportCount{seen.Recorded, seen.Served}, Out: ReportCount{seen.Recorded, seen.Served}, Divergences: []Entry{}, Notes: []Entry{}, Dropped: seen.Dropped,
	}
	diverged, notes := modelEntries(&seen, m.o.AllowUnsent)
	r.Divergences, r.Notes = append(r.Divergences, diverged...), append(r.Notes, notes...)
	if m.listener != nil { // it has been closed
		r.Notes = append(r.Notes, refusedEntries(m.listener.Refused())...)
	}
	if r.Failed() > 0 {
		r.Verdict = "fail"
	}
	return r
}

// verdict writes the last report and tells how it went. left is how the command
// ended.
func (m *model) verdict(left error) error {
	r := m.report("done")
	unsent := 0
	for _, n := range r.Divergences {
		if n.Kind != Unsent {
			continue
		}
		if unsent++; unsent <= maxLoud {
			fmt.Fprint(m.o.Stderr, human(n))
		}
	}
	if more := unsent - maxLoud; more > 0 {
		fmt.Fprintf(m.o.Stderr, "agentrec: %s more that nothing asked for\n", count(more, "exchange"))
	}
	for _, n := range r.Notes {
		if n.Kind == Refused {
			fmt.Fprint(m.o.Stderr, human(n))
		}
	}
	what := fmt.Sprintf("%d of %d exchanges served", r.In.Played, r.In.Recorded)
	if n := r.Failed(); n > 0 {
		fmt.Fprintf(m.o.Stderr, "agentrec: the model of session %d failed: %s; %s\n", m.session.ID, count(n, "divergence"), what)
		left = Divergence{Count: n}
	} else {
		fmt.Fprintf(m.o.Stderr, "agentrec: the model of session %d passed: %s\n", m.session.ID, what)
	}
	if m.reporter != nil {
		if err := m.reporter.close(r); err != nil {
			return err
		}
	}
	return left
}
