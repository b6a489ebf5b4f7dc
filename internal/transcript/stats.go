package transcript

import (
	"cmp"
	"context"
	"slices"
	"time"

	"agentrec/internal/dialect"
	"agentrec/store"
)

// Stats are the numbers of a session, or of the frames that a filter chose.
type Stats struct {
	Frames  int64
	Bytes   int64 // without terminators
	Streams [store.Streams]struct{ Frames, Bytes int64 }
	Failed  int64
	Labels  []LabelStats // most bytes first
	Tools   []ToolStats  // most calls first
	Turns   Latency      // of turns that ended
	Ended   int          // turns that ended
	Bad     int          // turns that failed
	Open    int          // turns without an end
	Usage   Usage
}

// LabelStats are the numbers of one label.
type LabelStats struct {
	Label   string
	Stream  string // "in", "out", "err", or "both"
	Frames  int64
	Bytes   int64
	Failed  int64
	Open    int64   // requests without response
	Latency Latency // from these requests to their responses
}

// ToolStats are the numbers of one tool.
type ToolStats struct {
	Tool    string
	Calls   int64
	Failed  int64
	Open    int64
	Latency Latency // from calls to results
}

// Latency is how long things took: of Count measured ones the median, the
// nearest ranks of 90 and 99 in a hundred, and the longest.
type Latency struct {
	Count              int
	P50, P90, P99, Max time.Duration
	Slowest            int64 // the frame that began the longest
}

// LatencyOf returns the latency of durations; Slowest is from 1 the place of the
// longest in the list.
func LatencyOf(list []time.Duration) Latency {
	measured := make([]took, len(list))
	for i, d := range list {
		measured[i] = took{d, int64(i + 1)}
	}
	return latency(measured)
}

// took is one measurement.
type took struct {
	d   time.Duration
	seq int64
}

func latency(list []took) Latency {
	if len(list) == 0 {
		return Latency{}
	}
	slices.SortFunc(list, func(a, b took) int { return cmp.Or(cmp.Compare(a.d, b.d), cmp.Compare(b.seq, a.seq)) })
	rank := func(percent int) time.Duration { return list[(len(list)*percent+99)/100-1].d }
	last := list[len(list)-1]
	return Latency{Count: len(list), P50: rank(50), P90: rank(90), P99: rank(99), Max: last.d, Slowest: last.seq}
}

// Stats counts the frames that a filter chooses; f may be nil. Turns and calls
// count when the frame that begins them is chosen, usage is of the session.
func (t *Transcript) Stats(ctx context.Context, f *Filter) (*Stats, error) {
	s := &Stats{Usage: t.Usage}
	labels := make([]LabelStats, len(t.Labels))
	times := make([][]took, len(t.Labels))
	tools := map[string]*ToolStats{}
	toolTimes := map[string][]took{}
	var turns []took
	for seq, err := range t.Choose(ctx, f) {
		if err != nil {
			return nil, err
		}
		e := t.Entries[seq-1]
		l := &labels[e.Label]
		s.Frames++
		s.Bytes += int64(e.Size)
		s.Streams[e.Stream].Frames++
		s.Streams[e.Stream].Bytes += int64(e.Size)
		switch name := e.Stream.String(); l.Stream {
		case "", name:
			l.Stream = name
		default:
			l.Stream = "both"
		}
		l.Frames++
		l.Bytes += int64(e.Size)
		if e.Flags.Has(Failed) {
			l.Failed++
			s.Failed++
		}
		if e.Role == dialect.Request {
			if d := t.Took(seq); d >= 0 {
				times[e.Label] = append(times[e.Label], took{d, seq})
			} else if !e.Flags.Has(Cancelled) {
				l.Open++
			}
		}
		if e.Flags.Has(InCall) && t.Calls[e.Part-1].Seq == seq {
			c := &t.Calls[e.Part-1]
			u := tools[c.Name]
			if u == nil {
				u = &ToolStats{Tool: c.Name}
				tools[c.Name] = u
			}
			u.Calls++
			switch {
			case c.ResultSeq == 0:
				u.Open++
			case c.Failed:
				u.Failed++
			}
			if d := c.Took(); d >= 0 {
				toolTimes[c.Name] = append(toolTimes[c.Name], took{d, seq})
			}
		}
		if e.Turn > 0 && t.Turns[e.Turn-1].First == seq {
			switch u := t.Turns[e.Turn-1]; {
			case u.Last == 0:
				s.Open++
			default:
				s.Ended++
				if u.Failed {
					s.Bad++
				}
				turns = append(turns, took{u.Took(), seq})
			}
		}
	}
	s.Turns = latency(turns)
	for i, l := range labels {
		if l.Frames > 0 {
			l.Label, l.Latency = t.Labels[i].Name, latency(times[i])
			s.Labels = append(s.Labels, l)
		}
	}
	slices.SortFunc(s.Labels, func(a, b LabelStats) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Label, b.Label))
	})
	for name, u := range tools {
		u.Latency = latency(toolTimes[name])
		s.Tools = append(s.Tools, *u)
	}
	slices.SortFunc(s.Tools, func(a, b ToolStats) int {
		return cmp.Or(cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.Tool, b.Tool))
	})
	return s, nil
}
