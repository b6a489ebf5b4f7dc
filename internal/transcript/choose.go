package transcript

import (
	"context"
	"fmt"
	"iter"
)

// Choose yields the seqs of the frames that a filter chooses, in order. It
// reads frames only where their entries do not decide. f may be nil.
func (t *Transcript) Choose(ctx context.Context, f *Filter) iter.Seq2[int64, error] {
	return func(yield func(int64, error) bool) {
		m := f.On(t)
		from, to := f.Range()
		if to == 0 || to > int64(len(t.Entries)) {
			to = int64(len(t.Entries))
		}
		if !f.NeedsPayload() {
			for seq := from; seq <= to; seq++ {
				if m.Quick(seq) == Yes && !yield(seq, nil) {
					return
				}
			}
			return
		}
		// Frames that need a look are read in runs: a run goes on over a few
		// frames that do not.
		const gap = 256
		for seq := from; seq <= to; seq++ {
			switch m.Quick(seq) {
			case Yes:
				if !yield(seq, nil) {
					return
				}
				continue
			case No:
				continue
			}
			last := seq
			for next := seq + 1; next <= to && next <= last+gap; next++ {
				if m.Quick(next) == Perhaps {
					last = next
				}
			}
			for frame, err := range t.Session.Frames(ctx, seq, last) {
				if err != nil {
					yield(0, fmt.Errorf("choosing frames: %w", err))
					return
				}
				if m.Match(frame) && !yield(frame.Seq, nil) {
					return
				}
			}
			seq = last
		}
	}
}
