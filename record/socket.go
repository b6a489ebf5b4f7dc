package record

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"agentrec/internal/tape"
	"agentrec/store"
)

// Servers that take what one read returns for a message need every frame in
// one write. A line that does not end is passed on all the same, once it is
// this long or nothing more came for this long.
const (
	longestHeld = 1 << 20
	longestWait = 20 * time.Millisecond
)

// drainAtHangup is how long the end of one connection's session is tried while
// others go on; the rest stays on the tape.
const drainAtHangup = time.Minute

// Listen accepts clients on o.Listen, connects each to the agent at o.Connect
// and records every connection as a session, until ctx ends. It returns nil
// then, after the connections have been closed and their sessions stored.
func Listen(ctx context.Context, o Options) error {
	if o.Stderr == nil {
		o.Stderr = os.Stderr
	}
	prepare()
	if err := usable(o.DB); err != nil {
		return err
	}
	l, err := listen(o.Listen)
	if err != nil {
		return Failure{Status: statusOwn, Err: err}
	}
	fmt.Fprintf(o.Stderr, "agentrec: listening on %s for the agent at %s\n", name(l.Addr()), o.Connect)
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()
	var sessions sync.WaitGroup
	defer sessions.Wait()
	for {
		client, err := l.Accept()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			l.Close()
			return Failure{Status: statusOwn, Err: fmt.Errorf("accept a client: %w", err)}
		}
		sessions.Go(func() {
			if err := o.serve(ctx, client); err != nil {
				fmt.Fprintf(o.Stderr, "agentrec: %v\n", err)
			}
		})
	}
}

// serve records one connection until both sides have ended it.
func (o *Options) serve(ctx context.Context, client net.Conn) error {
	defer client.Close()
	network, address := split(o.Connect)
	agent, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err != nil {
		return fmt.Errorf("connect to the agent: %w", err)
	}
	defer agent.Close()
	here := *o
	here.Argv = []string{o.Connect}
	start, err := here.start(os.Environ())
	if err != nil {
		return err
	}
	t, err := tape.Create(o.DB, start)
	if err != nil {
		return fmt.Errorf("record into %s: %w", o.DB, pathless(err))
	}
	t.Event(store.Event{Kind: store.EventStart, Detail: "connection from " + name(client.RemoteAddr())})
	stop := context.AfterFunc(ctx, func() { client.Close(); agent.Close() })
	defer stop()

	f := t.Follower()
	following, halt := context.WithCancel(context.WithoutCancel(ctx))
	var behind, pipes sync.WaitGroup
	behind.Go(func() { lowerPriority(); f.Run(following) })
	warn := &warner{w: o.Stderr}
	pipes.Go(func() { (&relay{t, warn, store.In, client, agent}).run() })
	pipes.Go(func() { (&relay{t, warn, store.Out, agent, client}).run() })
	pipes.Wait()
	halt()
	end := t.Finish(nil)
	behind.Wait()
	patience := drainAtHangup
	if ctx.Err() != nil {
		patience = drainAtExit
	}
	deadline, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	defer f.Close()
	if err := f.Complete(deadline, end); err != nil {
		t.Leave()
		if !errors.Is(err, tape.ErrBehind) {
			return fmt.Errorf("%w; the session stays on the tape %s", err, t.Path())
		}
	}
	return nil
}

// relay moves one direction of a connection, frame by frame.
type relay struct {
	tape     *tape.Tape
	warn     *warner
	stream   store.Stream
	src, dst net.Conn
}

// run relays until the source ends or one side is gone. The end of one
// direction leaves the other open.
func (r *relay) run() {
	var held []byte
	buf := make([]byte, tape.MaxChunk)
	for {
		r.src.SetReadDeadline(time.Time{})
		if len(held) > 0 {
			r.src.SetReadDeadline(time.Now().Add(longestWait))
		}
		n, err := r.src.Read(buf)
		if n > 0 {
			if failed := r.tape.Append(r.stream, buf[:n]); failed != nil {
				r.warn.lost(r.tape)
			}
			held = append(held, buf[:n]...)
		}
		ready := bytes.LastIndexByte(held, '\n') + 1
		if err != nil || len(held) >= longestHeld {
			ready = len(held)
		}
		if !r.forward(held[:ready]) {
			r.tape.Event(store.Event{Kind: store.EventHangup, Stream: r.stream})
			closeRead(r.src)
			return
		}
		held = append(held[:0], held[ready:]...)
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			break
		}
	}
	r.tape.Event(store.Event{Kind: store.EventEOF, Stream: r.stream})
	closeWrite(r.dst)
}

// forward writes whole frames, each with one call.
func (r *relay) forward(frames []byte) bool {
	for len(frames) > 0 {
		n := bytes.IndexByte(frames, '\n') + 1
		if n == 0 {
			n = len(frames)
		}
		if _, err := r.dst.Write(frames[:n]); err != nil {
			return false
		}
		frames = frames[n:]
	}
	return true
}

func closeWrite(c net.Conn) {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		half.CloseWrite()
		return
	}
	c.Close()
}

func closeRead(c net.Conn) {
	if half, ok := c.(interface{ CloseRead() error }); ok {
		half.CloseRead()
		return
	}
	c.Close()
}

// split reads an address as flags write it: unix:PATH, HOST:PORT, or :PORT for
// this machine only.
func split(addr string) (network, address string) {
	if path, ok := strings.CutPrefix(addr, "unix:"); ok {
		return "unix", path
	}
	if strings.HasPrefix(addr, ":") {
		addr = "127.0.0.1" + addr
	}
	return "tcp", addr
}

// name writes an address as flags do.
func name(a net.Addr) string {
	if a.Network() == "unix" {
		return "unix:" + a.String()
	}
	return a.String()
}

// listen opens the listener. A Unix socket that nobody answers on is what a
// killed process left, and makes room.
func listen(addr string) (net.Listener, error) {
	network, address := split(addr)
	l, err := net.Listen(network, address)
	if err == nil || network != "unix" {
		return l, err
	}
	if info, serr := os.Lstat(address); serr != nil || info.Mode()&os.ModeSocket == 0 {
		return nil, err
	}
	if c, derr := net.Dial(network, address); derr == nil {
		return nil, errors.Join(err, c.Close())
	}
	if rerr := os.Remove(address); rerr != nil {
		return nil, err
	}
	return net.Listen(network, address)
}
