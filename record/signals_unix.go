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
// we started stay ignored, here and in the agent.
func catchSignals() *signals {
	s := &signals{make(chan os.Signal, 64)}
	list := []os.Signal{syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGQUIT}
	for _, sig := range []os.Signal{syscall.SIGHUP, syscall.SIGINT} {
		if !signal.Ignored(sig) {
			list = append(list, sig)
		}
	}
	signal.Notify(s.c, list...)
	return s
}

// failingWrites makes a write that the system answers with a signal, to a broken
// pipe or beyond the longest file, return an error, until stop. To ignore the
// signals would do as well, but an agent would inherit that.
func failingWrites() (stop func()) {
	unread := make(chan os.Signal, 1)
	signal.Notify(unread, syscall.SIGPIPE, syscall.SIGXFSZ)
	return func() { signal.Stop(unread) }
}

func (s *signals) stop() { signal.Stop(s.c) }

// asksToEnd reports whether a signal, whoever passes it on, ends a process that
// does not care.
func asksToEnd(sig os.Signal) bool {
	switch sig {
	case syscall.SIGTERM, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGHUP:
		return true
	}
	return false
}

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
