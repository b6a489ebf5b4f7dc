package replay

import (
	"testing"
	"time"
)

func TestPace(t *testing.T) {
	gaps := func(int64) time.Duration { return 100 * time.Millisecond }
	for _, c := range []struct {
		p    pace
		want time.Duration
	}{
		{pace{gaps: gaps}, 0},
		{pace{speed: 1, gaps: gaps}, 100 * time.Millisecond},
		{pace{speed: 10, gaps: gaps}, 10 * time.Millisecond},
		{pace{speed: 1, limit: time.Millisecond, gaps: gaps}, time.Millisecond},
		{pace{speed: 0.5, limit: time.Second, gaps: gaps}, 200 * time.Millisecond},
	} {
		if got := c.p.before(1); got != c.want {
			t.Errorf("%+v waits %v, want %v", c.p, got, c.want)
		}
	}
}

// A burst is written as one piece, and the next one only when the client has
// taken it.
func TestBurst(t *testing.T) {
	drained := 0
	p := pace{burst: 3, drain: func(time.Duration) { drained++ }}
	var full []int
	for i := range 9 {
		if p.full() {
			full = append(full, i)
			p.flushed()
		}
	}
	if len(full) != 3 || full[0] != 2 || drained != 3 {
		t.Errorf("full at %v, drained %d times", full, drained)
	}
}

// The same bytes at every pace.
func TestPaceChangesNoBytes(t *testing.T) {
	lines := linesOf(t, "phi")
	for _, speed := range []float64{0, 1, 50} {
		c := startReplay(t, Options{File: recordLines(t, "phi", lines...), Pace: speed, PaceCap: 2 * time.Millisecond})
		for _, l := range lines {
			if frame, ok := cutIn(l); ok {
				c.send(frame)
			} else {
				c.want(l[len("out "):])
			}
		}
		if rest, err := c.close(); err != nil || len(rest) > 0 {
			t.Fatalf("speed %v: left with %v, unread %q", speed, err, rest)
		}
	}
}

func cutIn(line string) (string, bool) {
	if len(line) > 3 && line[:3] == "in " {
		return line[3:], true
	}
	return "", false
}
