package replay

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"agentrec/internal/dialect"
)

// pace decides how fast frames follow each other.
type pace struct {
	speed float64       // 0 fast, 1 as recorded, 2 twice as fast
	limit time.Duration // longest pause
	burst int           // frames that go out before the client must have taken them, 0 for no bound
	rest  time.Duration // pause after a burst
	gaps  func(seq int64) time.Duration
	drain func(limit time.Duration) // waits until the client has read what was written

	count int
	noted bool // a notification went out since the client was last waited for
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
func (p *pace) before(seq int64) time.Duration {
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
		p.drain(maxDrain)
	}
	p.noted = false
	time.Sleep(p.rest)
}

// apart reports that a frame must not share a read with what went before it: a
// request or response behind a notification. Clients hand those on by different
// ways, so what they get at once they may take in another order: the MCP SDK
// 1.32.2 drops the progress that it reads together with the result, the Go ACP
// SDK 0.13.0 asks a permission before it shows the text that led to it.
func (p *pace) apart(role dialect.Role) bool {
	if role == dialect.Notification {
		p.noted = true
		return false
	}
	return p.noted && (role == dialect.Request || role == dialect.Response)
}

// settle waits, shortly, until the client has taken what was written.
func (p *pace) settle() {
	p.noted = false
	if p.drain != nil {
		p.drain(maxSettle)
	}
	time.Sleep(p.rest)
}

// How long a burst, and a frame that must stand alone, wait for the reader;
// after that the pipe's own bound is all there is.
const (
	maxDrain  = time.Second
	maxSettle = 20 * time.Millisecond
)

// drainer returns a function that waits until the reader of a pipe has taken
// everything, or a moment where that cannot be known; nil when out is no file,
// whose writes end when they are read.
func drainer(out io.Writer) func(time.Duration) {
	f, ok := out.(interface{ Fd() uintptr })
	if !ok {
		return nil
	}
	fd := f.Fd()
	return func(limit time.Duration) {
		wait := 50 * time.Microsecond
		for waited := time.Duration(0); waited < limit; waited += wait {
			n, ok := unread(fd)
			if !ok {
				time.Sleep(time.Millisecond)
				return
			}
			if n == 0 {
				return
			}
			time.Sleep(wait)
			wait = min(2*wait, 5*time.Millisecond)
		}
	}
}
