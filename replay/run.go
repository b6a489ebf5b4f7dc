package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"time"

	"agentrec/internal/dialect"
	"agentrec/internal/tape"
	"agentrec/store"
)

// Options says what to replay and how.
type Options struct {
	File    string // database or text form
	Session string // number, name, id, "last" or AnySession; "" is the only one
	Client  string // with AnySession: whose agents share out the sessions; "" is the parent process
	Dialect string // instead of the recorded or detected one

	Match       Level    // Content when None
	Ignore      []string // paths
	IgnoreValue []string // regular expressions
	Labels      []LabelRule
	Bind        []string // RECORDED=LIVE
	Free        []string // labels taken out of the gates
	Order       string   // cause (default) or recorded
	AllowUnsent bool
	Lookup      bool   // answer requests in any order
	Exhausted   string // in lookup: fail (default), last or cycle

	Pace    float64       // 0 fast, else the factor of the recorded speed
	PaceCap time.Duration // longest pause, 0 for none
	Wait    time.Duration // until a stall is reported, 0 for never
	Report  string        // file or directory, "" for none
	Update  bool          // accept changed frames of the client and rewrite the recording with them
	Faults  []Fault       // damage done to what is written
	Seed    uint64        // of the faults' random choices

	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer
	Signals <-chan os.Signal // TERM, INT and HUP of the live client; may be nil

	greeted    int64      // frames of the agent up to this seq have been sent already
	claims     string     // where sessions are claimed, see claims; "" for not at all
	claimed    *tape.Held // the session, with AnySession
	connection int        // number of the connection, 0 on stdio
}

// Run plays the agent's side of a recorded session to the client on Stdin and
// Stdout until the client ends it. It returns nil or store.Exit when all went as
// recorded, Divergence when it did not, and an error that wraps
// store.ErrUnusable when the recording cannot be played.
//
// Data path: read (stdin, one goroutine) -> engine (the caller's goroutine) ->
// writer (one goroutine) -> stdout.
func Run(ctx context.Context, o Options) error {
	data := context.WithoutCancel(ctx)
	db, session, err := find(data, &o, time.Sleep)
	defer o.claimed.Release()
	if err != nil {
		return err
	}
	defer db.Close()
	p, err := newPlayer(data, o, session)
	if err != nil {
		return err
	}
	p.db = db
	return p.play(ctx)
}

// maxEnding is how long a replay waits for a recorder that is about to end.
const maxEnding = 500 * time.Millisecond

// find opens the recording and finds the session to play. The caller closes the
// database. A client that kills its agent goes on before the recorder is quite
// dead; until then the session counts as one that is being recorded, and the
// end of its tape is not seen. So such a session is looked at again, with sleep
// in between, before it is played as the cut recording that it then is.
func find(ctx context.Context, o *Options, sleep func(time.Duration)) (*store.DB, *store.Session, error) {
	wait := 10 * time.Millisecond
	for waited := time.Duration(0); ; waited += wait {
		db, err := tape.Open(ctx, o.File)
		if err != nil {
			return nil, nil, err
		}
		var session *store.Session
		if o.Session == AnySession {
			session, err = choose(ctx, db, o, sleep)
		} else {
			session, err = db.Find(ctx, o.Session)
		}
		if err != nil {
			db.Close()
			return nil, nil, err
		}
		if session.State != store.Recording || o.Session == AnySession || waited >= maxEnding {
			return db, session, nil
		}
		db.Close()
		sleep(wait)
	}
}

// player is one replay.
type player struct {
	o        Options
	matching matching
	session  *store.Session
	db       *store.DB
	data     context.Context
	side     *sideWriter
	in       *intake
	w        *writer
	e        *engine
	v        *verdict
	reporter *reporter
	started  time.Time
	ended    string
	dirty    bool
	reported time.Time
	problem  error
}

func newPlayer(data context.Context, o Options, s *store.Session) (*player, error) {
	p := &player{o: o, session: s, data: data, started: time.Now(), v: &verdict{allow: o.AllowUnsent}}
	if p.o.Match == None {
		p.o.Match = Content
	}
	if p.o.Update {
		p.o.Match = Kind
	}
	ignore, err := dialect.ParsePaths(o.Ignore...)
	if err != nil {
		return nil, fmt.Errorf("reading --ignore: %w", err)
	}
	p.matching = matching{least: p.o.Match, ignore: ignore, recorded: o.Order == "recorded", labels: byLabel(o.Labels), update: o.Update}
	if o.Lookup {
		if p.matching.lookup = o.Exhausted; o.Exhausted == "" {
			p.matching.lookup = ExhaustedFail
		}
	}
	for _, v := range o.IgnoreValue {
		re, err := regexp.Compile(v)
		if err != nil {
			return nil, fmt.Errorf("reading --ignore-value: %w", err)
		}
		p.matching.values = append(p.matching.values, re)
	}
	if o.Report != "" {
		if p.reporter, err = newReporter(o.Report, processName(s, o.connection)); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// processName is what a report in a directory is called after: processes of one
// number may share a directory, in containers or one after the other.
func processName(s *store.Session, connection int) string {
	name := fmt.Sprintf("replay-%s-%d-%s", s.UID, os.Getpid(), strconv.FormatInt(time.Now().UnixMicro(), 36))
	if connection > 0 {
		name += fmt.Sprintf("-%d", connection)
	}
	return name
}

func (p *player) play(ctx context.Context) error {
	if p.reporter != nil { // a client may kill its agent as soon as it has the first frame
		p.reporter.sync(p.report("running"))
	}
	p.side = newSideWriter(p.o.Stderr)
	p.w = newWriter(p.o.Stdout, p.side, newPayloads(p.data, p.session))
	stop := make(chan struct{})
	arrivals := make(chan arrival)
	p.in = &intake{r: p.o.Stdin}
	go read(p.in, arrivals, stop)
	written := make(chan struct{})
	go func() { defer close(written); p.w.run() }()

	err := p.prepare()
	if err == nil {
		err = p.loop(ctx, arrivals)
	}
	close(stop)
	if p.ended != "stall" && p.ended != "eof" && p.ended != "exit" {
		p.w.close(true)
		select {
		case <-written:
		case <-time.After(100 * time.Millisecond): // the client does not read; its pipe is all it gets
		}
	} else {
		p.w.close(p.ended == "stall")
		<-written
	}
	if err != nil {
		p.side.close()
		if p.reporter != nil {
			err = errors.Join(err, p.reporter.close(p.report("done")))
		}
		return err
	}
	return p.verdict()
}
