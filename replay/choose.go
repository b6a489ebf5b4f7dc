package replay

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"agentrec/internal/dialect"
	"agentrec/store"
)

// AnySession in place of a session lets the client's first frame choose: for
// clients that start several agents, of which each has its own session in FILE.
const AnySession = "any"

// candidate is a session with its opening: what the agent says unasked, and the client's first
// frame.
type candidate struct {
	session  *store.Session
	greeting [][]byte // as recorded, with terminators
	said     [][]byte // as it is sent here
	greeted  int64    // seq of its last frame
	script   *script
	first    []byte // nil when the client sent nothing
}

// maxOpening bounds how many frames are looked at for a session's opening.
const maxOpening = 1000

// choose sends the greeting that the sessions of a file have in common, reads
// the client's first frame and returns the session that begins so. o.Stdin then
// still yields that frame.
func choose(ctx context.Context, db *store.DB, o *Options, sleep func(time.Duration)) (*store.Session, error) {
	sessions, err := db.Sessions(ctx)
	if err != nil {
		return nil, err
	}
	var list []candidate
	for _, s := range sessions {
		c, err := candidateOf(ctx, s, *o)
		if err != nil {
			return nil, err
		}
		if len(list) == 0 || equalGreetings(list[0].greeting, c.greeting) {
			list = append(list, c)
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%w: %s holds no session", store.ErrUnusable, o.File)
	}
	others := len(sessions) - len(list)
	if len(list) == 1 {
		c, err := o.take(list, nil, others, sleep)
		return c.session, err
	}
	for _, g := range list[0].said {
		if _, err := o.Stdout.Write(g); err != nil {
			break // the client is gone; the replay will say so
		}
	}
	line, rest := firstLine(o)
	o.Stdin = rest
	c, err := o.take(list, line, others, sleep)
	o.greeted = c.greeted
	return c.session, err
}

func candidateOf(ctx context.Context, s *store.Session, o Options) (candidate, error) {
	c := candidate{session: s}
	p, err := newPlayer(ctx, Options{File: o.File, Dialect: o.Dialect, Bind: o.Bind}, s)
	if err != nil {
		return c, err
	}
	binds, err := p.binds()
	if err != nil {
		return c, err
	}
	folders := startView(binds)
	d, err := p.dialect()
	if err != nil {
		return c, err
	}
	b := newBuilder(d, nil, 0)
	for f, err := range s.Frames(ctx, 1, maxOpening) {
		if err != nil {
			return c, fmt.Errorf("reading the session's frames: %w", err)
		}
		if f.Stream == store.Err {
			continue
		}
		b.frame(f)
		if f.Stream == store.In {
			c.first = f.Raw
			break
		}
		c.greeting = append(c.greeting, append(append([]byte(nil), f.Raw...), f.Term.Bytes()...))
		c.said = append(c.said, folders.greeting(f))
		c.greeted = f.Seq
	}
	c.script = b.finish(store.Closed)
	return c, nil
}

func equalGreetings(a, b [][]byte) bool {
	return bytes.Equal(bytes.Join(a, nil), bytes.Join(b, nil))
}

// firstLine reads up to the end of the client's first frame, or until a signal
// comes, and returns a reader that yields everything.
func firstLine(o *Options) ([]byte, io.Reader) {
	done := make(chan []byte, 1)
	in := o.Stdin
	go func() { // ends with the first line; see read
		var all []byte
		buf := make([]byte, 64<<10)
		for {
			n, err := in.Read(buf)
			all = append(all, buf[:n]...)
			if err != nil || bytes.IndexByte(buf[:n], '\n') >= 0 || len(all) > store.MaxRaw {
				done <- all
				return
			}
		}
	}()
	select {
	case got := <-done:
		line, _, _ := bytes.Cut(got, []byte("\n"))
		return bytes.TrimSuffix(line, []byte("\r")), io.MultiReader(bytes.NewReader(got), in)
	case s := <-o.Signals:
		again := make(chan os.Signal, 1)
		again <- s
		o.Signals = again
		return nil, bytes.NewReader(nil)
	}
}

// best returns the place of the session whose first in frame fits the live one
// best, and how well.
func best(list []candidate, line []byte) (int, fit) {
	chosen, top := 0, fit{level: None}
	for n, c := range list {
		if c.first == nil {
			if line == nil && top.level == None {
				chosen, top = n, fit{level: Exact}
			}
			continue
		}
		e := newEngine(c.script, matching{least: Kind}, &verdict{}, func(int32) []byte { return c.first })
		live := c.script.dialect.Read(store.In, line)
		item := c.script.ins[0].item
		if recorded := c.script.dialect.Read(store.In, c.first); !sameFamily(&recorded, &live) {
			continue
		}
		if f := e.compare(item, line); top.level == None || better(f, false, top, false) {
			chosen, top = n, f
		}
	}
	return chosen, top
}

func sameFamily(a, b *dialect.Reading) bool { return a.Role == b.Role && a.Label == b.Label }
