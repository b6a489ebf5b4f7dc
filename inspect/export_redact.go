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
	d, err := transcript.DialectOf(ctx, s, o.Dialect)
	if err != nil {
		return nil, done, err
	}
	r, err := redact.New(redact.Options{Key: key, Environ: o.Environ, DotEnv: o.DotEnv})
	if err != nil {
		return nil, done, err
	}
	r.SetDialect(d)
	secrets, tokens, err := sensitive(ctx, s, r)
	if err != nil {
		return nil, done, err
	}
	secrets = secrets && !o.NoRedact
	if !secrets && !tokens {
		return s, done, nil
	}
	copies, err := temp.Copy(ctx, s)
	if err != nil {
		return nil, done, err
	}
	own = copies[0]
	if secrets {
		if done, _, err = redactSession(ctx, temp, own, r, d); err != nil {
			return nil, done, err
		}
	}
	return own, done, numberTokens(ctx, temp, own)
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
