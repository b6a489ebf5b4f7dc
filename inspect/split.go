package inspect

import (
	"context"
	"strings"

	"agentrec/internal/dialect"
	"agentrec/internal/redact"
	"agentrec/internal/transcript"
	"agentrec/store"
)

// splitSecret is a secret in a text that came in deltas: no single frame shows
// it, the joined text does.
type splitSecret struct {
	hit    redact.Hit
	secret string
	pieces []piece
}

// piece is the part of it in one frame: text[from:to] of the delta.
type piece struct {
	seq      int64
	text     string
	from, to int
}

// longestFold bounds how much joined text is looked at at once, in bytes.
const longestFold = 16 << 20

// splitSecrets looks through the texts of a session that came in deltas.
func splitSecrets(ctx context.Context, t *transcript.Transcript, r *redact.Redactor) ([]splitSecret, error) {
	var found []splitSecret
	for i := range t.Folds {
		if t.Folds[i].Frames < 2 || t.Folds[i].Size > longestFold {
			continue
		}
		if text, whole := t.Folds[i].Text(); whole && len(r.Find(store.Err, []byte(text))) == 0 {
			continue
		}
		text, deltas, err := joined(ctx, t, i)
		if err != nil {
			return nil, err
		}
		for _, h := range r.Find(store.Err, []byte(text)) {
			one := splitSecret{hit: h, secret: text[h.Start:h.End]}
			at := 0
			for _, p := range deltas {
				if from, to := max(h.Start-at, 0), min(h.End-at, len(p.text)); from < to {
					one.pieces = append(one.pieces, piece{p.seq, p.text, from, to})
				}
				at += len(p.text)
			}
			if len(one.pieces) > 1 {
				found = append(found, one)
			}
		}
	}
	return found, nil
}

// joined returns the text of a fold and the deltas it is made of; nothing for
// one that comes in snapshots, each of which is a whole text.
func joined(ctx context.Context, t *transcript.Transcript, fold int) (string, []piece, error) {
	var b strings.Builder
	var deltas []piece
	f := &t.Folds[fold]
	for frame, err := range t.Session.Frames(ctx, f.First, f.Last) {
		if err != nil {
			return "", nil, err
		}
		if e := t.Entries[frame.Seq-1]; !e.Flags.Has(transcript.InFold) || int(e.Part) != fold+1 || frame.Raw == nil {
			continue
		}
		r := t.Dialect.Read(frame.Stream, frame.Raw)
		for _, x := range readings(&r) {
			if x.Snapshot {
				return "", nil, nil
			}
			if x.Delta && x.Text != "" {
				text := strings.Clone(x.Text)
				b.WriteString(text)
				deltas = append(deltas, piece{seq: frame.Seq, text: text})
			}
		}
	}
	return b.String(), deltas, nil
}

// readings returns what a frame says: it, or its members, or the frame inside.
func readings(r *dialect.Reading) []*dialect.Reading {
	switch {
	case r.Inner != nil:
		return readings(r.Inner)
	case len(r.Members) > 0:
		var out []*dialect.Reading
		for i := range r.Members {
			out = append(out, readings(&r.Members[i])...)
		}
		return out
	case len(r.Parts) > 0:
		var out []*dialect.Reading
		for i := range r.Parts {
			out = append(out, &r.Parts[i])
		}
		return out
	}
	return []*dialect.Reading{r}
}

// redactSplit takes split secrets out: the token stands in the first frame, the
// other pieces go. It reports how many frames changed.
func redactSplit(ctx context.Context, db *store.DB, s *store.Session, r *redact.Redactor, d *dialect.Dialect) (int64, error) {
	t, err := transcript.Build(ctx, s, d) // and no index: what goes must not be kept anywhere
	if err != nil {
		return 0, err
	}
	found, err := splitSecrets(ctx, t, r)
	if err != nil || len(found) == 0 {
		return 0, err
	}
	with := map[int64][]piece{}
	tokens := map[int64][]string{}
	for _, one := range found {
		for i, p := range one.pieces {
			token := ""
			if i == 0 {
				token = r.Token(one.hit.Kind, []byte(one.secret))
			}
			with[p.seq], tokens[p.seq] = append(with[p.seq], p), append(tokens[p.seq], token)
		}
	}
	done, err := db.Rewrite(ctx, s, store.Edit{Frame: func(f store.Frame) ([]byte, error) {
		raw, now := f.Raw, ""
		// From the last on: what stands before keeps its place.
		for i := len(with[f.Seq]) - 1; i >= 0; i-- {
			p, token := with[f.Seq][i], tokens[f.Seq][i]
			if i == len(with[f.Seq])-1 || with[f.Seq][i+1].text != p.text {
				now = p.text
			}
			raw = redact.ReplaceIn(raw, now, p.from, p.to, token)
			now = now[:p.from] + token + now[p.to:]
		}
		return raw, nil
	}})
	return done.Frames, err
}
