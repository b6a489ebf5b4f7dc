package record

import (
	"fmt"
	"io"
	"sync"
	"time"

	"agentrec/internal/tape"
)

// warner says one thing on stderr: people read the first line, and the stream
// belongs to the agent. What is said waits for nobody: a client that does not
// read stderr must not keep its stdout, or a signal, from passing.
type warner struct {
	w    io.Writer
	once sync.Once
	said chan struct{} // closed once it is written, or nothing will be said
}

func newWarner(w io.Writer) *warner { return &warner{w: w, said: make(chan struct{})} }

func (w *warner) say(format string, args ...any) {
	w.once.Do(func() {
		line := fmt.Sprintf("agentrec: "+format+"\n", args...)
		go func() {
			defer close(w.said)
			io.WriteString(w.w, line)
		}()
	})
}

// lost says that a tape does not hold everything, if that is so: what came after
// its end is no part of the session.
func (w *warner) lost(t *tape.Tape) {
	if why := t.Failure(); why != "" {
		w.say("not everything is recorded: %s; forwarding goes on", why)
	}
}

// sayPatience is how long wait waits.
const sayPatience = time.Second / 2

// wait leaves what was said a moment to be read. Nothing is said after it.
func (w *warner) wait() {
	w.once.Do(func() { close(w.said) })
	select {
	case <-w.said:
	case <-time.After(sayPatience):
	}
}
