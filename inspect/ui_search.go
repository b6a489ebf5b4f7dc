package inspect

import (
	"bytes"
	"context"
	"errors"
	"time"

	"agentrec/store"
)

// searchFor is how long a search may hold the keys.
const searchTime = 3 * time.Second

// errSearchTime says that a search was given up.
var errSearchTime = errors.New("not found within 3 seconds; n goes on from here")

// find returns the next frame after (before, when back) seq whose bytes hold
// text, ASCII case aside; it goes round at the end.
func (su *sessionUI) find(text string, seq int64, back bool) (int64, error) {
	needle := []byte(lower(text))
	ctx, cancel := context.WithTimeout(su.story.ctx, searchTime)
	defer cancel()
	count := su.story.look.Session.Count()
	ranges := [][2]int64{{seq + 1, count}, {1, seq}}
	if back {
		ranges = [][2]int64{{1, seq - 1}, {seq, count}}
	}
	for _, r := range ranges {
		if r[0] > r[1] {
			continue
		}
		at, err := firstHit(ctx, su.story.look.Session, needle, r, back)
		if ctx.Err() != nil {
			return 0, errSearchTime
		}
		if at != 0 || err != nil {
			return at, err
		}
	}
	return 0, notFound(text)
}

// firstHit returns the first (last, when back) frame of a range that holds
// needle, 0 for none.
func firstHit(ctx context.Context, s *store.Session, needle []byte, r [2]int64, back bool) (int64, error) {
	const step = 4096
	from, to := r[0], r[1]
	for from <= to {
		a, b := from, min(from+step-1, to)
		if back {
			a, b = max(to-step+1, from), to
		}
		hit := int64(0)
		for f, err := range s.Frames(ctx, a, b) {
			if err != nil {
				return 0, err
			}
			if bytes.Contains(lowerBytes(f.Raw), needle) {
				hit = f.Seq
				if !back {
					return hit, nil
				}
			}
		}
		if hit != 0 {
			return hit, nil
		}
		if back {
			to = a - 1
		} else {
			from = b + 1
		}
	}
	return 0, nil
}

// lowerBytes is lower for bytes; it may return b itself.
func lowerBytes(b []byte) []byte {
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			out := bytes.Clone(b)
			for ; i < len(out); i++ {
				if c := out[i]; c >= 'A' && c <= 'Z' {
					out[i] = c + 'a' - 'A'
				}
			}
			return out
		}
	}
	return b
}

// searchItems searches from the selected item and selects the item of the hit.
func (su *sessionUI) searchItems(text string, back bool, rowOf func(int) int) error {
	p := su.u.top().pane
	seq := su.seq
	row := p.sel
	for range 64 { // a hit in the item that is selected already is no news
		next, err := su.find(text, seq, back)
		if err != nil {
			return err
		}
		if at := rowOf(max(su.story.t.ItemAt(next), 0)); at != row || next == su.seq {
			p.to(at)
			su.seq = next
			return nil
		}
		seq = next
	}
	return nil
}
