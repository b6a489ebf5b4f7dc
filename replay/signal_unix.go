//go:build unix

package replay

import (
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// listen returns the signals by which a client ends an agent. SIGPIPE is caught
// so that a client that stops reading gives an error instead of a death.
func listen() (<-chan os.Signal, func()) {
	ends := make(chan os.Signal, 4)
	signal.Notify(ends, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE)
	return ends, func() { signal.Stop(ends); signal.Stop(pipe) }
}

// signalName returns TERM for SIGTERM.
func signalName(s os.Signal) string {
	if n, ok := s.(syscall.Signal); ok {
		return strings.TrimPrefix(unix.SignalName(n), "SIG")
	}
	return s.String()
}

// settled returns when every signal that was sent to this process before the
// call has reached the channels of package signal. Clients send TERM and close
// the pipe in one go; the pipe's end may be seen first. The runtime hands
// signals on in order of number, so a CONT to ourselves, which does nothing,
// comes out behind a TERM that was pending.
func settled() {
	marker := make(chan os.Signal, 1)
	signal.Notify(marker, syscall.SIGCONT)
	defer signal.Stop(marker)
	if syscall.Kill(os.Getpid(), syscall.SIGCONT) != nil {
		return
	}
	select {
	case <-marker:
	case <-time.After(time.Second): // blocked by whoever started us
	}
}

// signalTo sends a signal by its name, such as TERM, and reports whether it was
// sent.
func signalTo(p *os.Process, name string) bool {
	n := unix.SignalNum("SIG" + name)
	return n != 0 && p.Signal(n) == nil
}
