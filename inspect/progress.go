package inspect

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// Work that takes longer than patience says how far it is, each pace.
const (
	patience = time.Second
	pace     = 250 * time.Millisecond
)

// progress is the line. It may be told of frames by many goroutines.
type progress struct {
	out    io.Writer
	what   string
	began  time.Time
	frames atomic.Int64

	mu    sync.Mutex
	shown bool
	open  bool // something was printed that does not end a line: no place for ours
}

// start shows the line each pace until the returned function is called, which
// takes it away.
func (p *progress) start(pace time.Duration) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(pace)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case now := <-tick.C:
				p.show(now.Sub(p.began))
			}
		}
	}()
	return func() {
		cancel()
		<-done
		p.mu.Lock()
		defer p.mu.Unlock()
		p.clear()
	}
}

func (p *progress) show(after time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if after < patience || p.open {
		return
	}
	text := fmt.Sprintf("agentrec: %s: %v", p.what, after.Truncate(time.Second))
	if n := p.frames.Load(); n > 0 {
		text += ", " + count(int(n), "frame") + " read"
	}
	p.clear()
	fmt.Fprint(p.out, text)
	p.shown = true
}

// clear takes the line away. Callers hold mu.
func (p *progress) clear() {
	if p.shown {
		fmt.Fprint(p.out, "\r\x1b[K")
		p.shown = false
	}
}

// before returns w as a writer that takes the line away first.
func (p *progress) before(w io.Writer) io.Writer {
	c := clearing{w, p}
	if f, ok := w.(*os.File); ok {
		return clearingFile{c, f}
	}
	return c
}

type clearing struct {
	w io.Writer
	p *progress
}

func (c clearing) Write(b []byte) (int, error) {
	c.p.mu.Lock()
	defer c.p.mu.Unlock()
	c.p.clear()
	if len(b) > 0 {
		c.p.open = b[len(b)-1] != '\n'
	}
	return c.w.Write(b)
}

// clearingFile is one whose file can be asked what it is.
type clearingFile struct {
	clearing
	file *os.File
}

func (c clearingFile) Fd() uintptr { return c.file.Fd() }
