package inspect

import (
	"context"
	"fmt"

	"agentrec/internal/transcript"
)

// checkProtocol says what the session's protocol does not explain.
func checkProtocol(ctx context.Context, l *look, _ *checkOptions, report func(Finding)) error {
	t, err := transcript.Open(ctx, l.Session, l.Dialect)
	if err != nil {
		return err
	}
	list, err := t.Findings(ctx)
	if err != nil {
		return err
	}
	for _, f := range list {
		report(Finding{Seq: f.Seq, Rule: f.Rule, Level: Level(f.Severity), Message: f.Message})
	}
	return checkFields(ctx, l, report)
}

// checkFields says which load-bearing fields are missing or of the wrong type,
// as the dialect's table has them. Keys that it does not name are never wrong.
func checkFields(ctx context.Context, l *look, report func(Finding)) error {
	for f, err := range l.Session.Frames(ctx, 1, 0) {
		if err != nil {
			return fmt.Errorf("reading the frames: %w", err)
		}
		for _, p := range l.Dialect.Check(f.Stream, f.Raw) {
			report(Finding{Seq: f.Seq, Place: p.Path, Rule: "field", Level: LevelError,
				Message: fmt.Sprintf("%s: %s", l.Dialect.Read(f.Stream, f.Raw).Label, p)})
		}
	}
	return nil
}
