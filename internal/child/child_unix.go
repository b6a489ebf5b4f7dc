//go:build unix

package child

import (
	"os"
	"strings"
	"syscall"

	"agentrec/store"

	"golang.org/x/sys/unix"
)

// FD is an open file of the operating system.
type FD = int

// closeAll closes pipe ends.
func closeAll(list []FD) {
	for _, f := range list {
		syscall.Close(f)
	}
}

// exitOf reads a wait status. A signal without a name becomes the status that
// shells give it.
func exitOf(state *os.ProcessState) store.Exit {
	status, ok := state.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() {
		return store.Exit{Code: state.ExitCode()}
	}
	if name := SignalName(status.Signal()); name != "" {
		return store.Exit{Signal: name}
	}
	return store.Exit{Code: 128 + int(status.Signal())}
}

// SignalName is "TERM" for SIGTERM, "" for a signal without a name.
func SignalName(sig syscall.Signal) string {
	return strings.TrimPrefix(unix.SignalName(sig), "SIG")
}
