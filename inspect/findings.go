package inspect

import (
	"context"
	"fmt"

	"agentrec/internal/transcript"
)

// checkedAtOnce is up to how many frames a session is checked unasked where
// findings are only mentioned: a moment's work.
const checkedAtOnce = 20_000

// findingsOf returns what check finds in a session, warnings and errors. The
// secrets of this environment are not looked for.
func findingsOf(ctx context.Context, l *look) ([]Finding, error) {
	var list []Finding
	session := *l.Session
	own := &look{Path: l.Path, DB: l.DB, Session: &session, Dialect: l.Dialect, llm: l.llm}
	for _, c := range checkers {
		err := c.run(ctx, own, &checkOptions{Level: LevelWarning}, func(f Finding) {
			if f.Level.below(LevelWarning) {
				return
			}
			f.File, f.Session, f.UID, f.Rule = l.Path, session.ID, session.UID, c.name+"/"+f.Rule
			list = append(list, f)
		})
		if err != nil {
			return nil, fmt.Errorf("checking session %d: %w", session.ID, err)
		}
	}
	return list, nil
}

// findingCount is how many findings the outcome of a session speaks of: of a
// session that is too long to look unasked what the last check came to, -1
// when there was none.
func findingCount(ctx context.Context, l *look) (int, error) {
	if l.Session.Count() > checkedAtOnce {
		if n, known := transcript.Found(l.Session, l.Dialect); known {
			return n, nil
		}
		return -1, nil
	}
	list, err := findingsOf(ctx, l)
	return len(list), err
}

// findingLine is a finding in a list.
func findingLine(f Finding) line {
	t := toneAsk
	if f.Level == LevelError {
		t = toneError
	}
	at := ""
	if f.Seq > 0 {
		at = fmt.Sprintf("#%d", f.Seq)
	}
	if f.Exchange > 0 {
		at = fmt.Sprintf("e%d", f.Exchange)
	}
	return line{}.pad(toneDim, at, 8).pad(t, string(f.Level), 8).pad(tonePlain, f.Rule, 26).add(tonePlain, " "+f.Message)
}
