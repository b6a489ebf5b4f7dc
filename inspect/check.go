package inspect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"agentrec/internal/tape"
	"agentrec/internal/transcript"
	"agentrec/store"
)

// Level is how much a finding matters.
type Level string

// The levels. LevelOK is no finding but the good news about a session; it is
// printed and never counts.
const (
	LevelOK      Level = "ok"
	LevelNote    Level = "note"
	LevelWarning Level = "warning"
	LevelError   Level = "error"
)

// levels in rising order.
var levels = []Level{LevelOK, LevelNote, LevelWarning, LevelError}

func (l Level) below(m Level) bool { return slices.Index(levels, l) < slices.Index(levels, m) }

// Finding is what a check reports about a recording. Its JSON names are
// documented in the help of check and stay as they are.
type Finding struct {
	File     string `json:"file"`
	Session  int64  `json:"session,omitempty"` // 0: the file itself, which is no recording
	UID      string `json:"uid,omitempty"`
	Seq      int64  `json:"seq,omitempty"`      // 0: not about one frame
	Exchange int64  `json:"exchange,omitempty"` // 0: not about an LLM exchange
	Line     int    `json:"line,omitempty"`     // of a file that is no recording
	Place    string `json:"place,omitempty"`
	Rule     string `json:"rule"` // "secrets/api_key", "integrity/cut", ...
	Level    Level  `json:"level"`
	Message  string `json:"message"`
	More     int    `json:"more,omitempty"` // how many like this are not listed

	verdict bool // printed also below the level that counts
}

// checker looks at one session. It reports what it finds; an error means that
// it could not look.
type checker struct {
	name  string
	about string // for the help
	run   func(ctx context.Context, l *look, o *checkOptions, report func(Finding)) error
}

// checkers are the parts of check, in the order in which they report.
var checkers = []checker{
	{"integrity", `whole, cut (where and why), edited or damaged (which frame or exchange), by the
hash chain that every recording carries`, checkIntegrity},
	{"protocol", `stray lines, broken frames, answers without requests and requests
without answers, turns that never end, lines too long for known
clients, fields of the wrong type, known faults of agents`, checkProtocol},
	{"llm", `LLM exchanges that failed, were refused, cut or cancelled, streams
without their end or with an error, calls whose arguments are no JSON,
retries; what a retry made good is a note`, checkLLM},
	{"secrets", `what redaction missed: keys by their shape, values beside names
like api_key, values of secret variables of this environment and of
.env in the working directory. No secret is ever printed`, checkSecrets},
}

// checkOptions is what `agentrec check` is asked for.
type checkOptions struct {
	Files   []string
	Session string
	Only    []string // names of checkers, all when empty
	Level   Level    // the least that is a finding
	Format  string   // text, json, junit or sarif
	Color   string
	Dialect string
	Rules   []string // of secrets
	Environ []string // whose secrets are looked for
	DotEnv  []byte
	In      io.Reader // what "-" stands for
	Out     io.Writer
}

func (o *checkOptions) wants(name string) bool {
	return len(o.Only) == 0 || slices.Contains(o.Only, name)
}

// check looks at files and returns Findings when there is something to report.
func check(ctx context.Context, o checkOptions) error {
	report, err := newReport(o)
	if err != nil {
		return err
	}
	count := 0
	found := func(f Finding) {
		switch {
		case f.Level == LevelOK:
		case f.Level.below(o.Level):
			if !f.verdict {
				return
			}
		default:
			count += 1 + f.More
		}
		report.add(f)
	}
	for _, file := range o.Files {
		report.begin(file)
		if err := checkFile(ctx, file, &o, found); err != nil {
			return errors.Join(err, report.end())
		}
	}
	if err := report.end(); err != nil {
		return err
	}
	if count > 0 {
		return Findings{Count: count}
	}
	return nil
}

// checkFile looks at one file or stream. Where only secrets are looked for, it need not
// be a recording.
func checkFile(ctx context.Context, file string, o *checkOptions, found func(Finding)) error {
	onlySecrets := len(o.Only) > 0 && !slices.ContainsFunc(o.Only, func(name string) bool { return name != "secrets" })
	path, end, err := spool(file, o.In)
	if err != nil {
		return fmt.Errorf("checking %s: %w", file, err)
	}
	defer end()
	if onlySecrets {
		kind, err := fileKind(path)
		if err == nil && kind == plainFile {
			err = checkPlain(path, file, o, found)
		}
		if err != nil {
			return fmt.Errorf("checking %s: %w", file, err)
		}
		if kind == plainFile {
			return nil
		}
	}
	db, err := tape.Open(ctx, path)
	if err != nil {
		return err
	}
	defer db.Close()
	list, err := db.Sessions(ctx)
	if err != nil {
		return err
	}
	if o.Session != "" {
		s, err := db.Find(ctx, o.Session)
		if err != nil {
			return err
		}
		list = []*store.Session{s}
	}
	for _, s := range list {
		d, err := transcript.DialectOf(ctx, s, o.Dialect)
		if err != nil {
			return err
		}
		l := &look{Path: file, DB: db, Session: s, Dialect: d}
		kept := findings{File: fileState(file)}
		secrets := false
		err = runCheckers(ctx, l, o, func(f Finding) {
			secrets = secrets || strings.HasPrefix(f.Rule, "secrets/")
			kept.add(f)
			found(f)
		})
		if err != nil {
			return fmt.Errorf("checking session %d of %s: %w", s.ID, file, err)
		}
		// What it is a secret of may be this environment alone.
		if len(o.Only) == 0 && !secrets {
			keepFindings(l, kept)
		}
	}
	return nil
}

// runCheckers lets the checkers that are wanted look at a session, beside each
// other, and reports what they have found in their order.
func runCheckers(ctx context.Context, l *look, o *checkOptions, report func(Finding)) error {
	if o.wants("protocol") || o.wants("secrets") {
		// Both read it. Where it cannot be derived they say so, after the integrity.
		_, _ = l.transcript(ctx)
	}
	lists, errs := make([][]Finding, len(checkers)), make([]error, len(checkers))
	var at sync.WaitGroup
	for i, c := range checkers {
		if !o.wants(c.name) {
			continue
		}
		session := *l.Session
		own := &look{Path: l.Path, DB: l.DB, Session: &session, Dialect: l.Dialect, llm: l.llm, derived: l.derived}
		at.Go(func() {
			errs[i] = c.run(ctx, own, o, func(f Finding) {
				f.File, f.Session, f.UID, f.Rule = l.Path, session.ID, session.UID, c.name+"/"+f.Rule
				lists[i] = append(lists[i], f)
			})
		})
	}
	at.Wait()
	for i, list := range lists {
		for _, f := range list {
			report(f)
		}
		if errs[i] != nil {
			return errs[i]
		}
	}
	return nil
}
