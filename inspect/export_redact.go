package inspect

import (
	"bytes"
	"context"
	"fmt"

	"agentrec/internal/redact"
	"agentrec/internal/transcript"
	"agentrec/store"
)

// forOthers returns the sessions of list as they may leave this machine: what
// redaction knows as a secret by now is taken out, and tokens are numbered, so
// that they tell nothing even to who has the key. Sessions without either stay
// as they are; the others are copies in temp. It returns how much held secrets.
func forOthers(ctx context.Context, db, temp *store.DB, list []*store.Session, o exportOptions) ([]*store.Session, store.Rewritten, error) {
	var taken store.Rewritten
	key, err := db.Secret(ctx)
	if err != nil {
		return nil, taken, err
	}
	out := make([]*store.Session, len(list))
	for i, s := range list {
		var n store.Rewritten
		if out[i], n, err = forOther(ctx, temp, s, key, o); err != nil {
			return nil, taken, fmt.Errorf("exporting session %d: %w", s.ID, err)
		}
		taken.Frames += n.Frames
		taken.Exchanges += n.Exchanges
	}
	return out, taken, nil
}

func forOther(ctx context.Context, temp *store.DB, s *store.Session, key []byte, o exportOptions) (own *store.Session, done store.Rewritten, err error) {
	own, done, tokens, err := withoutSecrets(ctx, temp, s, o.Dialect, !o.NoRedact, redact.Options{Key: key, Environ: o.Environ, DotEnv: o.DotEnv})
	if err != nil || own == s && !tokens {
		return s, done, err
	}
	if own == s {
		copies, err := temp.Copy(ctx, s)
		if err != nil {
			return nil, done, err
		}
		own = copies[0]
	}
	return own, done, numberTokens(ctx, temp, own)
}

// withoutSecrets returns a copy of a session in temp from which its secrets are
// taken, s itself when it has none or want is false; how much held secrets, and
// whether there are tokens.
func withoutSecrets(ctx context.Context, temp *store.DB, s *store.Session, table string, want bool, by redact.Options) (own *store.Session, done store.Rewritten, tokens bool, err error) {
	d, err := transcript.DialectOf(ctx, s, table)
	if err != nil {
		return nil, done, false, err
	}
	r, err := redact.New(by)
	if err != nil {
		return nil, done, false, err
	}
	r.SetDialect(d)
	secrets, tokens, err := sensitive(ctx, s, r)
	if err != nil || !secrets || !want {
		return s, done, tokens, err
	}
	copies, err := temp.Copy(ctx, s)
	if err != nil {
		return nil, done, tokens, err
	}
	done, _, err = redactSession(ctx, temp, copies[0], r, d)
	return copies[0], done, true, err
}

// sensitive reports whether there are secrets or tokens in a session.
func sensitive(ctx context.Context, s *store.Session, r *redact.Redactor) (secrets, tokens bool, err error) {
	has := func(b []byte) {
		start, _ := redact.NextToken(b)
		tokens = tokens || start >= 0
	}
	events, err := s.Events(ctx)
	if err != nil {
		return false, false, err
	}
	texts := append([]string{s.Name, s.Cwd, s.Reason}, s.Argv...)
	for _, e := range events {
		texts = append(texts, e.Detail)
	}
	for k, v := range s.Tags {
		texts = append(texts, k+"="+v)
	}
	for _, v := range s.Folders {
		texts = append(texts, v)
	}
	for _, t := range texts {
		has([]byte(t))
		secrets = secrets || len(r.Find(store.Err, []byte(t))) > 0
	}
	argv := r.Argv(s.Argv)
	for i := range argv {
		secrets = secrets || argv[i] != s.Argv[i]
	}
	frames := r.Session()
	for f, err := range s.Frames(ctx, 1, 0) {
		if err != nil {
			return false, false, err
		}
		if f.Raw == nil && f.Size > 0 {
			secrets, tokens = true, true // a copy will tell
			continue
		}
		if !tokens && bytes.IndexByte(f.Raw, '<') >= 0 {
			has(f.Raw)
		}
		secrets = secrets || len(frames.Find(f.Stream, f.Raw)) > 0
	}
	for x, err := range s.Exchanges(ctx) {
		if err != nil {
			return false, false, err
		}
		tokens = tokens || redact.HoldsToken(&x)
		secrets = secrets || len(r.FindExchange(&x)) > 0
	}
	return secrets, tokens, nil
}
