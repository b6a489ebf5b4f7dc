//go:build unix

package record

import (
	"os"
	"strings"
	"syscall"

	"agentrec/store"

	"golang.org/x/sys/unix"
)

// closeAll closes pipe ends.
func closeAll(list []fd) {
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
	if name := signalName(status.Signal()); name != "" {
		return store.Exit{Signal: name}
	}
	return store.Exit{Code: 128 + int(status.Signal())}
}

// signalName is "TERM" for SIGTERM, "" for a signal without a name.
func signalName(sig syscall.Signal) string {
	return strings.TrimPrefix(unix.SignalName(sig), "SIG")
}
