//go:build unix

package main

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	"agentrec/store"

	"golang.org/x/sys/unix"
)

// leave ends this process as an agent ended: it returns the exit status, or
// dies by the same signal where that can be done without Go's crash report
// (TERM, INT, HUP, KILL); other signals become 128+n.
func leave(e store.Exit) int {
	if e.Signal == "" {
		return e.Code
	}
	sig := unix.SignalNum("SIG" + e.Signal)
	switch sig {
	case syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGKILL:
		signal.Reset(sig)
		if p, err := os.FindProcess(os.Getpid()); err == nil && p.Signal(sig) == nil {
			time.Sleep(time.Second) // delivery is asynchronous; a blocked signal leaves us here
		}
	}
	return 128 + int(sig)
}
