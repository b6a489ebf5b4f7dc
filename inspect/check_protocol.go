package inspect

import (
	"context"
)

// checkProtocol says what the session's protocol does not explain.
func checkProtocol(ctx context.Context, l *look, _ *checkOptions, report func(Finding)) error {
	t, err := l.transcript(ctx)
	if err != nil {
		return err
	}
	list, err := t.Findings(ctx)
	if err != nil {
		return err
	}
	for _, f := range list {
		report(Finding{Seq: f.Seq, Place: f.Path, Rule: f.Rule, Level: Level(f.Severity), Message: f.Message, More: f.More})
	}
	return nil
}
