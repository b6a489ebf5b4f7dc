package inspect

import (
	"context"

	"agentrec/store"
)

// checkIntegrity says whether a session is whole, still being recorded, cut,
// edited or damaged, by its proof. One finding is the verdict; each damaged
// part is another.
func checkIntegrity(ctx context.Context, l *look, _ *checkOptions, report func(Finding)) error {
	got, err := store.Verify(ctx, l.Session)
	if err != nil {
		return err
	}
	levels := map[store.Verdict]Level{store.Whole: LevelOK, store.StillRecording: LevelOK, store.IsEdited: LevelNote,
		store.IsCut: LevelWarning, store.Damaged: LevelError}
	message := got.Text
	if got.Verdict == store.IsCut || got.Verdict == store.Damaged {
		message = string(got.Verdict) + ": " + message
	}
	report(Finding{Seq: got.Seq, Rule: string(got.Verdict), Level: levels[got.Verdict], Message: message, verdict: true})
	if len(got.Flaws) > 1 { // one alone is what the verdict tells
		for _, flaw := range got.Flaws {
			report(Finding{Seq: flaw.From, Exchange: flaw.Exchange, Rule: "flaw", Level: LevelError, Message: flaw.Text})
		}
	}
	return nil
}
