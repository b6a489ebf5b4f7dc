//go:build unix

package record

import (
	"os"
	"os/signal"
	"syscall"

	"agentrec/internal/child"

	"golang.org/x/sys/unix"
)

// signals are those that reach us while the agent runs.
type signals struct{ c chan os.Signal }

// catchSignals keeps signals from ending us. HUP and INT that were ignored when
// we started stay ignored, here and in the agent. SIGPIPE and SIGXFSZ are caught to
// make the failing call return an error; ignoring them would be inherited.
func catchSignals() *signals {
	s := &signals{make(chan os.Signal, 64)}
	list := []os.Signal{syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGQUIT, syscall.SIGPIPE, syscall.SIGXFSZ}
	for _, sig := range []os.Signal{syscall.SIGHUP, syscall.SIGINT} {
		if !signal.Ignored(sig) {
			list = append(list, sig)
		}
	}
	signal.Notify(s.c, list...)
	return s
}

func (s *signals) stop() { signal.Stop(s.c) }

// passOn tells whether a signal is the agent's, and its name. The terminal
// sends INT and QUIT to its whole foreground group, so to the agent as well.
func passOn(sig os.Signal) (string, bool) {
	switch sig {
	case syscall.SIGINT, syscall.SIGQUIT:
		if inForeground() {
			return "", false
		}
	case syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2:
	default:
		return "", false
	}
	return child.SignalName(sig.(syscall.Signal)), true
}

// inForeground reports whether we belong to the foreground group of our
// terminal.
func inForeground() bool {
	tty, err := os.OpenFile("/dev/tty", os.O_RDONLY|syscall.O_NOCTTY, 0)
	if err != nil {
		return false
	}
	defer tty.Close()
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// survivesParent reports whether we were told to outlive the process that
// started us, as nohup does.
func survivesParent() bool { return signal.Ignored(syscall.SIGHUP) }
