package replay

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"sync"

	"agentrec/internal/address"
	"agentrec/store"
)

// Listen plays the session to every client that connects to where, each with
// a replay of its own, until ctx ends or a signal comes. An address is
// HOST:PORT, where an empty host is loopback, or unix:PATH. It returns
// Divergence when one of the replays diverged.
func Listen(ctx context.Context, o Options, where string) error {
	l, err := address.Listen(ctx, where)
	if err != nil {
		return fmt.Errorf("listening on %s: %w", where, err)
	}
	fmt.Fprintf(o.Stderr, "agentrec: listening on %s\n", address.Name(l.Addr()))
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stopped := make(chan struct{})
	go func() { // ends with ctx, which this function ends
		defer close(stopped)
		select {
		case <-ctx.Done():
		case <-o.Signals:
		}
		cancel()
		l.Close()
	}()
	var clients sync.WaitGroup
	var mu sync.Mutex
	count := 0
	var first error
	for n := 1; ; n++ {
		conn, err := l.Accept()
		if err != nil {
			if ctx.Err() == nil {
				cancel()
				first = fmt.Errorf("accepting a connection: %w", err)
			}
			break
		}
		clients.Go(func() {
			err := serveConn(ctx, o, conn, n)
			mu.Lock()
			defer mu.Unlock()
			var d Divergence
			var exit store.Exit
			switch {
			case errors.As(err, &d):
				count += d.Count
			case err != nil && !errors.As(err, &exit):
				if first == nil {
					first = err
				}
				// Its client got nothing, and this process may go on for long.
				fmt.Fprintf(o.Stderr, "agentrec: connection %d: %s\n", n, visible(err.Error()))
			}
		})
	}
	clients.Wait()
	<-stopped
	if first != nil {
		return first
	}
	if count > 0 {
		return Divergence{Count: count}
	}
	return nil
}

func serveConn(ctx context.Context, o Options, conn net.Conn, n int) error {
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	defer conn.Close()
	o.Stdin, o.Stdout, o.Signals = conn, conn, nil
	if ext := filepath.Ext(o.Report); o.Report != "" && ext != "" && n > 1 {
		o.Report = fmt.Sprintf("%s-%d%s", strings.TrimSuffix(o.Report, ext), n, ext)
	}
	o.connection = n
	return Run(ctx, o)
}
