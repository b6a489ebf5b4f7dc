package inspect

import (
	"bytes"
	"context"
	"iter"
	"slices"

	"agentrec/internal/dialect"
	"agentrec/store"
)

// Two streams that end together end in either order: events with no frame
// between them, a run, have no cause in one another. So that a new recording
// does not differ from the old one by that, its runs take the order that a run
// of the same events has in the old one.

// eventRuns holds the runs of a session by what they are made of, in order.
type eventRuns map[string][][]frameKey

func runsOf(ctx context.Context, s *store.Session, d *dialect.Dialect) (eventRuns, error) {
	runs := eventRuns{}
	var run []frameKey
	end := func() {
		if len(run) > 1 {
			name := runName(run)
			runs[name] = append(runs[name], run)
		}
		run = nil
	}
	for p, err := range partsOf(ctx, s, d) {
		if err != nil {
			return nil, err
		}
		if p.Event == nil {
			end()
			continue
		}
		run = append(run, p.Key)
	}
	end()
	return runs, nil
}

// runName is the same for runs of the same events.
func runName(run []frameKey) string {
	sorted := slices.Clone(run)
	slices.SortFunc(sorted, func(a, b frameKey) int { return bytes.Compare(a[:], b[:]) })
	var b bytes.Buffer
	for _, k := range sorted {
		b.Write(k[:])
	}
	return b.String()
}

// order yields parts with their runs in the order of the runs given, each used
// once. The gaps stay where they are.
func (r eventRuns) order(parts iter.Seq2[part, error]) iter.Seq2[part, error] {
	return func(yield func(part, error) bool) {
		used := map[string]int{}
		var run []part
		flush := func() bool {
			keys := make([]frameKey, len(run))
			for i, p := range run {
				keys[i] = p.Key
			}
			name := runName(keys)
			if n := used[name]; n < len(r[name]) {
				used[name]++
				arrange(run, r[name][n])
			}
			for _, p := range run {
				if !yield(p, nil) {
					return false
				}
			}
			run = run[:0]
			return true
		}
		for p, err := range parts {
			if err == nil && p.Event != nil {
				run = append(run, p)
				continue
			}
			if !flush() || !yield(p, err) || err != nil {
				return
			}
		}
		flush()
	}
}

// arrange puts the events of a run into the order of keys, which are the same.
func arrange(run []part, keys []frameKey) {
	for i, k := range keys {
		for j := i; j < len(run); j++ {
			if run[j].Key == k {
				run[i].Key, run[j].Key = run[j].Key, run[i].Key
				run[i].Event, run[j].Event = run[j].Event, run[i].Event
				break
			}
		}
	}
}
