package inspect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"

	"agentrec/internal/dialect"
	"agentrec/internal/redact"
	"agentrec/internal/tape"
	"agentrec/internal/transcript"
	"agentrec/store"
)

// redactOptions is what `agentrec redact` is asked for.
type redactOptions struct {
	Files   []string
	Session string // "" is all
	Rules   []string
	Environ []string
	DotEnv  []byte
	Dialect string
	JSON    bool
	Out     io.Writer
}

// redacted is what redact did to one session, or to a file that is no
// recording. Its JSON names are documented in the help of redact.
type redacted struct {
	File    string `json:"file"`
	Session int64  `json:"session,omitempty"`
	Frames  int64  `json:"frames"` // that were changed

	Exchanges int64 `json:"exchanges"` // likewise
	Changed   bool  `json:"changed"`
}

// redactFiles takes the secrets out of files.
func redactFiles(ctx context.Context, o redactOptions) error {
	p := newPrinter(o.Out, ColorNever)
	tell := func(r redacted) {
		switch {
		case o.JSON:
			p.json(r)
		case r.Session == 0 && r.Changed:
			p.line(plain(r.File + ": secrets taken out"))
		case r.Session == 0:
			p.line(plain(r.File + ": no secrets found"))
		case r.Changed:
			p.line(plain(fmt.Sprintf("%s: session %d: secrets taken out of %s", r.File, r.Session, amount(store.Rewritten{Frames: r.Frames, Exchanges: r.Exchanges}))))
		default:
			p.line(plain(fmt.Sprintf("%s: session %d: no secrets found", r.File, r.Session)))
		}
		p.flush()
	}
	for _, file := range o.Files {
		if err := redactFile(ctx, file, o, tell); err != nil {
			return p.finish(err)
		}
	}
	return p.finish(nil)
}

// redactFile takes the secrets out of a database, a text file or any other
// file.
func redactFile(ctx context.Context, file string, o redactOptions, tell func(redacted)) error {
	if info, err := os.Stat(file); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return fmt.Errorf("redacting %s: it is no file that can be changed", file)
	}
	kind, err := fileKind(file)
	if err != nil {
		return fmt.Errorf("redacting %s: %w", file, err)
	}
	switch kind {
	case plainFile:
		if o.Session != "" {
			return fmt.Errorf("%w: %s holds no sessions", store.ErrUnusable, file)
		}
		return redactPlain(file, o, tell)
	case textFile:
		return redactTextFile(ctx, file, o, tell)
	}
	db, err := tape.OpenWrite(ctx, file)
	if err != nil {
		return err
	}
	defer db.Close()
	changed, err := redactSessions(ctx, db, file, o, tell)
	if changed { // also when another session could not be
		err = errors.Join(err, db.Scrub(ctx))
	}
	return err
}

// redactSessions rewrites the sessions of a database and reports whether any
// changed. Those that are being recorded are left for later, with an error.
func redactSessions(ctx context.Context, db *store.DB, file string, o redactOptions, tell func(redacted)) (bool, error) {
	list, err := sessionsOf(ctx, db, o.Session)
	if err != nil {
		return false, err
	}
	key, err := db.Secret(ctx)
	if err != nil {
		return false, err
	}
	any := false
	var live []error
	for _, s := range list {
		d, err := transcript.DialectOf(ctx, s, o.Dialect)
		if err != nil {
			return any, err
		}
		r, err := redact.New(redact.Options{Key: key, Environ: o.Environ, DotEnv: o.DotEnv, Rules: o.Rules})
		if err != nil {
			return any, err
		}
		n, changed, err := redactSession(ctx, db, s, r, d)
		if errors.Is(err, store.ErrRecording) {
			live = append(live, err)
			continue
		}
		if err != nil {
			return any, err
		}
		any = any || changed
		tell(redacted{File: file, Session: s.ID, Frames: n.Frames, Exchanges: n.Exchanges, Changed: changed})
	}
	return any, errors.Join(live...)
}

// redactSession rewrites one session. It reads it first, so that a secret
// which stands beside its name late in the session is also found where it
// stood alone before.
func redactSession(ctx context.Context, db *store.DB, s *store.Session, r *redact.Redactor, d *dialect.Dialect) (done store.Rewritten, changed bool, err error) {
	r.SetDialect(d)
	for f, err := range s.Frames(ctx, 1, 0) {
		if err != nil {
			return done, false, err
		}
		r.Learn(f.Stream, f.Raw)
	}
	for x, err := range s.Exchanges(ctx) {
		if err != nil {
			return done, false, err
		}
		r.Exchange(&x)
	}
	before := *s
	if done, err = db.Rewrite(ctx, s, redaction(r)); err != nil {
		return done, false, err
	}
	n, err := redactSplit(ctx, db, s, r, d)
	if done.Frames += n; err != nil {
		return done, false, err
	}
	if err := transcript.Forget(s.UID); err != nil {
		return done, true, err
	}
	return done, done != (store.Rewritten{}) || s.Edited != before.Edited || textDiffers(&before, s), nil
}

// amount says how much was changed.
func amount(d store.Rewritten) string {
	switch {
	case d.Exchanges == 0:
		return count(int(d.Frames), "frame")
	case d.Frames == 0:
		return count(int(d.Exchanges), "exchange")
	}
	return count(int(d.Frames), "frame") + " and " + count(int(d.Exchanges), "exchange")
}

func textDiffers(a, b *store.Session) bool {
	return a.Name != b.Name || a.Host != b.Host || a.Cwd != b.Cwd || a.Reason != b.Reason || !maps.Equal(a.Tags, b.Tags) || !maps.Equal(a.Folders, b.Folders) ||
		fmt.Sprintf("%q", a.Argv) != fmt.Sprintf("%q", b.Argv)
}

// redaction is the edit that takes secrets out of all text of a session.
func redaction(r *redact.Redactor) store.Edit {
	text := func(s *string) { *s = string(r.Text([]byte(*s))) }
	frames := r.Session()
	return store.Edit{
		Frame: func(f store.Frame) ([]byte, error) { return frames.Frame(f.Stream, f.Raw), nil },
		Giant: func(_ store.Frame, in io.Reader) (io.Reader, error) {
			return &giantReader{in: in, g: r.Stream(false)}, nil
		},
		Event: func(e *store.Event) error {
			text(&e.Detail)
			return nil
		},
		Exchange: func(x *store.Exchange) error {
			r.Exchange(x)
			return nil
		},
		Session: func(s *store.Session) error {
			s.Argv = r.Argv(s.Argv)
			for _, p := range []*string{&s.Name, &s.Cwd, &s.Reason} {
				text(p)
			}
			for k, v := range s.Folders {
				text(&v)
				s.Folders[k] = v
			}
			for k, v := range s.Tags {
				if pair := r.Argv([]string{k + "=" + v})[0]; pair != k+"="+v {
					s.Tags[k] = pair[min(len(k)+1, len(pair)):]
				}
			}
			return nil
		},
	}
}

// giantReader redacts a giant frame as it is read.
type giantReader struct {
	in   io.Reader
	g    *redact.Giant
	part []byte
	out  []byte
	done bool
}

func (g *giantReader) Read(b []byte) (int, error) {
	if g.part == nil {
		g.part = make([]byte, 256<<10)
	}
	for len(g.out) == 0 {
		if g.done {
			return 0, io.EOF
		}
		n, err := g.in.Read(g.part)
		g.out = g.g.Next(g.part[:n])
		if errors.Is(err, io.EOF) {
			g.out = append(append([]byte{}, g.out...), g.g.End()...)
			g.done = true
		} else if err != nil {
			return 0, err
		}
	}
	n := copy(b, g.out)
	g.out = g.out[n:]
	return n, nil
}

// redactTextFile rewrites a text file whole or not at all.
func redactTextFile(ctx context.Context, file string, o redactOptions, tell func(redacted)) error {
	db, err := tape.Open(ctx, file)
	if err != nil {
		return err
	}
	defer db.Close()
	temp, err := store.OpenTemp(ctx)
	if err != nil {
		return err
	}
	defer temp.Close()
	all, err := db.Sessions(ctx)
	if err != nil {
		return err
	}
	if _, err := temp.Copy(ctx, all...); err != nil {
		return err
	}
	changed, err := redactSessions(ctx, temp, file, o, tell)
	if err != nil || !changed {
		return err
	}
	if all, err = temp.Sessions(ctx); err != nil {
		return err
	}
	return replaceFile(file, func(w io.Writer) error {
		for _, s := range all {
			if err := numberTokens(ctx, temp, s); err != nil {
				return err
			}
			if err := store.WriteText(ctx, w, s); err != nil {
				return err
			}
		}
		return nil
	})
}

// replaceFile writes a file anew, through links, with the permissions it had.
func replaceFile(file string, write func(io.Writer) error) error {
	path, err := filepath.EvalSymlinks(file)
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if err := writeFile(path, write); err != nil {
		return err
	}
	if err := os.Chmod(path, info.Mode().Perm()); err != nil {
		return fmt.Errorf("writing %s: %w", file, err)
	}
	return nil
}

// redactPlain rewrites a file that is no recording, when it holds secrets.
func redactPlain(file string, o redactOptions, tell func(redacted)) error {
	r, err := redact.New(redact.Options{Environ: o.Environ, DotEnv: o.DotEnv, Rules: o.Rules})
	if err != nil {
		return err
	}
	found := false
	look := checkOptions{Rules: o.Rules, Environ: o.Environ, DotEnv: o.DotEnv}
	if err := checkPlain(file, file, &look, func(Finding) { found = true }); err != nil {
		return err
	}
	if found {
		err := replaceFile(file, func(w io.Writer) error {
			f, err := os.Open(file)
			if err != nil {
				return err
			}
			defer f.Close()
			_, err = io.Copy(w, &numberReader{in: &giantReader{in: f, g: r.Stream(true)}, n: redact.NewNumbering()})
			return err
		})
		if err != nil {
			return err
		}
	}
	tell(redacted{File: file, Changed: found})
	return nil
}
