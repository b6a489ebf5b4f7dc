package transcript

import (
	"context"
	"fmt"
	"iter"
	"sort"
)

// UseText lets searches read only where the text index says that there may be
// something. Frames that it does not know are read as well.
func (t *Transcript) UseText(x *Text) { t.index.Store(x) }

// Where returns the ranges of frames in which a needle may be, in order.
func (t *Transcript) Where(n Needle) ([]Span, error) { return t.index.Load().Where(n) }

// searchStep is how many frames are looked at between two reports of a search.
const searchStep = 2048

// Choose yields the seqs of the frames that a filter chooses, in order. It
// reads frames only where their entries do not decide. f may be nil.
func (t *Transcript) Choose(ctx context.Context, f *Filter) iter.Seq2[int64, error] {
	return func(yield func(int64, error) bool) {
		err := t.Search(ctx, f, func(seq int64) bool { return yield(seq, nil) }, func(int64) {})
		if err != nil {
			yield(0, fmt.Errorf("choosing frames: %w", err))
		}
	}
}

// Search calls hit for the frames that a filter chooses, in order, until that
// returns false; and progress now and then with the last frame looked at, also
// where nothing is found.
func (t *Transcript) Search(ctx context.Context, f *Filter, hit func(seq int64) bool, progress func(seq int64)) error {
	return t.SearchFrom(ctx, f, 1, hit, progress)
}

// SearchFrom is Search in the frames from one on.
func (t *Transcript) SearchFrom(ctx context.Context, f *Filter, first int64, hit func(seq int64) bool, progress func(seq int64)) error {
	spans, err := t.Where(f.Needle())
	if err != nil {
		return err
	}
	from, to := f.Range()
	from = max(from, first)
	if to == 0 || to > int64(len(t.Entries)) {
		to = int64(len(t.Entries))
	}
	m := f.On(t)
	for _, s := range spans {
		for at := max(from, s.First); at <= min(to, s.Last); at += searchStep {
			end := min(at+searchStep-1, to, s.Last)
			more, err := t.step(ctx, m, at, end, hit)
			if err == nil {
				err = ctx.Err()
			}
			if err != nil || !more {
				return err
			}
			progress(end)
		}
	}
	return nil
}

// step is Search in the frames from..to. It reads from the first to the last
// that need a look.
func (t *Transcript) step(ctx context.Context, m *Matcher, from, to int64, hit func(seq int64) bool) (more bool, err error) {
	first, last := int64(0), int64(0)
	for seq := from; seq <= to; seq++ {
		switch m.Quick(seq) {
		case Perhaps:
			if first == 0 {
				first = seq
			}
			last = seq
		case Yes:
			if first == 0 && !hit(seq) {
				return false, nil
			}
		}
	}
	if first == 0 {
		return true, nil
	}
	for frame, err := range t.Session.Frames(ctx, first, last) {
		if err != nil {
			return false, err
		}
		if v := m.Quick(frame.Seq); (v == Yes || v == Perhaps && m.Match(frame)) && !hit(frame.Seq) {
			return false, nil
		}
	}
	for seq := last + 1; seq <= to; seq++ {
		if m.Quick(seq) == Yes && !hit(seq) {
			return false, nil
		}
	}
	return true, nil
}

// WithFrames returns the spans with those of single frames among them, in order
// and apart from each other.
func WithFrames(spans []Span, seqs []int64) []Span {
	out := make([]Span, 0, len(spans)+len(seqs))
	out = append(out, spans...)
	for _, seq := range seqs {
		out = append(out, Span{seq, seq})
	}
	sort.Slice(out, func(i, j int) bool { return out[i].First < out[j].First })
	n := 0
	for _, s := range out {
		if n > 0 && s.First <= out[n-1].Last+1 {
			out[n-1].Last = max(out[n-1].Last, s.Last)
			continue
		}
		out[n] = s
		n++
	}
	return out[:n]
}
