//go:build unix

package replay

import (
	"os"
	"os/signal"
	"strings"
	"syscall"

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
