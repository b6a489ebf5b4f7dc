package record

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"agentrec/internal/address"
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
	defer failingWrites()()
	if err := usable(o.DB); err != nil {
		return err
	}
	l, err := address.Listen(ctx, o.Listen)
	if err != nil {
		return Failure{Status: statusOwn, Err: err}
	}
	fmt.Fprintf(o.Stderr, "agentrec: listening on %s for the agent at %s\n", address.Name(l.Addr()), o.Connect)
	return o.accept(ctx, l)
}

// acceptPause is how long nobody is accepted when that has failed.
const acceptPause = 100 * time.Millisecond

// accept serves the clients of l until ctx ends.
func (o *Options) accept(ctx context.Context, l net.Listener) error {
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()
	defer l.Close()
	warn := newWarner(o.Stderr)
	defer warn.wait()
	var sessions sync.WaitGroup
	defer sessions.Wait()
	for {
		client, err := l.Accept()
		var passes interface{ Temporary() bool }
		switch {
		case ctx.Err() != nil:
			if err == nil {
				client.Close()
			}
			return nil
		case errors.As(err, &passes) && passes.Temporary():
			// The client has gone, or there are too many: those who are here go on.
			warn.say("a client was not accepted: %v", err)
			select {
			case <-ctx.Done():
			case <-time.After(acceptPause):
			}
			continue
		case err != nil:
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
	network, where := address.Split(o.Connect)
	agent, err := (&net.Dialer{}).DialContext(ctx, network, where)
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
	warn := newWarner(o.Stderr)
	defer warn.wait()
	r, err := o.record(start, warn)
	if err != nil {
		return err
	}
	r.tape.Event(store.Event{Kind: store.EventStart, Detail: "connection from " + address.Name(client.RemoteAddr())})
	stop := context.AfterFunc(ctx, func() { client.Close(); agent.Close() })
	defer stop()
	r.follow()
	var pipes sync.WaitGroup
	pipes.Go(newRelay(r, store.In, client, agent).run)
	pipes.Go(newRelay(r, store.Out, agent, client).run)
	pipes.Wait()
	return r.finish(ctx, nil, drainAtHangup)
}

// relay moves one direction of a connection, frame by frame.
type relay struct {
	tape     *tape.Tape
	append   func(store.Stream, []byte) error // the tape's
	warn     *warner
	stream   store.Stream
	src, dst net.Conn
}

func newRelay(r *recording, s store.Stream, src, dst net.Conn) *relay {
	return &relay{tape: r.tape, append: r.tape.Append, warn: r.warn, stream: s, src: src, dst: dst}
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
			held = append(held, buf[:n]...)
			if !r.keep(buf[:n]) {
				buf = make([]byte, tape.MaxChunk) // the append has the other one
			}
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

// keep puts a chunk on the tape. An append that does not come back is given up
// after tape.Patience, and the tape with it; keep reports false then, and the
// append still reads p.
func (r *relay) keep(p []byte) bool {
	done := make(chan error, 1)
	var waits atomic.Bool
	waits.Store(true)
	go func() {
		err := r.append(r.stream, p)
		if !waits.CompareAndSwap(true, false) {
			r.tape.Undo(r.stream, len(p)) // it has counted the chunk itself, if that was lost
		}
		done <- err
	}()
	patience := time.NewTimer(tape.Patience)
	defer patience.Stop()
	var err error
	select {
	case err = <-done:
	case <-patience.C:
		if waits.CompareAndSwap(true, false) {
			r.tape.Abandon()
			r.tape.Lost(r.stream, len(p))
			r.warn.lost(r.tape)
			return false
		}
		err = <-done
	}
	if err != nil {
		r.warn.lost(r.tape)
	}
	return true
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
