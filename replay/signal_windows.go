package replay

import (
	"os"
	"os/signal"
	"syscall"
)

// listen returns the signals by which a client ends an agent: the closing of
// the console arrives as SIGTERM.
func listen() (<-chan os.Signal, func()) {
	ends := make(chan os.Signal, 4)
	signal.Notify(ends, syscall.SIGTERM, os.Interrupt)
	return ends, func() { signal.Stop(ends) }
}

// signalName returns TERM for SIGTERM.
func signalName(s os.Signal) string {
	if s == os.Interrupt {
		return "INT"
	}
	return "TERM"
}

// settled has nothing to wait for: no signal but the console's reaches us.
func settled() {}

// signalTo ends a process: there is no other signal here.
func signalTo(p *os.Process, _ string) bool { return p.Kill() == nil }
