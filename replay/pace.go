package replay

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// pace decides how fast frames follow each other.
type pace struct {
	speed float64       // 0 fast, 1 as recorded, 2 twice as fast
	limit time.Duration // longest pause
	burst int           // frames that go out before the client must have taken them, 0 for no bound
	rest  time.Duration // pause after a burst
	gaps  func(seq int64) time.Duration
	drain func() // waits until the client has read what was written

	count int
}

// ParsePace reads fast, recorded or xN.
func ParsePace(s string) (float64, error) {
	switch s {
	case "", "fast":
		return 0, nil
	case "recorded":
		return 1, nil
	}
	if n, ok := strings.CutPrefix(s, "x"); ok {
		if speed, err := strconv.ParseFloat(n, 64); err == nil && speed > 0 && speed < 1e9 {
			return speed, nil
		}
	}
	return 0, fmt.Errorf("%q is no pace; use fast, recorded or xN, such as x10", s)
}

// before returns how long to wait before a recorded frame.
func (p *pace) before(seq int64, _ time.Duration) time.Duration {
	if p.speed == 0 || p.gaps == nil {
		return 0
	}
	wait := time.Duration(float64(p.gaps(seq)) / p.speed)
	if p.limit > 0 {
		wait = min(wait, p.limit)
	}
	return wait
}

// full reports that a burst is complete and must be written before more.
func (p *pace) full() bool {
	if p.burst == 0 {
		return false
	}
	p.count++
	return p.count >= p.burst
}

// flushed is called after every write.
func (p *pace) flushed() {
	if p.burst == 0 || p.count < p.burst {
		return
	}
	p.count = 0
	if p.drain != nil {
		p.drain()
	}
	time.Sleep(p.rest)
}

// maxDrain is how long a burst waits for its reader; after that the pipe's own
// bound is all there is.
const maxDrain = time.Second

// drainer returns a function that waits until the reader of a pipe has taken
// everything, nil when that cannot be known.
func drainer(out io.Writer) func() {
	f, ok := out.(interface{ Fd() uintptr })
	if !ok {
		return nil
	}
	fd := f.Fd()
	if _, ok := unread(fd); !ok {
		return nil
	}
	return func() {
		wait := 50 * time.Microsecond
		for waited := time.Duration(0); waited < maxDrain; waited += wait {
			if n, ok := unread(fd); !ok || n == 0 {
				return
			}
			time.Sleep(wait)
			wait = min(2*wait, 5*time.Millisecond)
		}
	}
}
