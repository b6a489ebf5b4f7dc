package record

import (
	"errors"
	"os"
	"os/signal"
	"syscall"

	"agentrec/internal/child"
)

// What Windows does differently: a signal cannot be sent to another process
// but to end it, so none is passed on (the console sends ^C to the agent as
// well).

type fd = child.FD

var (
	stdin  = syscall.Stdin
	stdout = syscall.Stdout
	stderr = syscall.Stderr
)

func read(f fd, p []byte) (int, error) {
	n, err := syscall.Read(f, p)
	if errors.Is(err, syscall.ERROR_BROKEN_PIPE) {
		return 0, nil
	}
	return n, err
}

func writeAll(f fd, p []byte) error {
	for len(p) > 0 {
		n, err := syscall.Write(f, p)
		if err != nil {
			return err
		}
		p = p[n:]
	}
	return nil
}

func release(f fd) {
	if f != stderr {
		syscall.CloseHandle(f)
	}
}

// putOut does nothing: os.Stderr holds its handle.
func putOut(fd) {}

func hungUp(fd) bool { return false }

func lowerPriority() {}

type signals struct{ c chan os.Signal }

func catchSignals() *signals {
	s := &signals{make(chan os.Signal, 16)}
	signal.Notify(s.c, os.Interrupt, syscall.SIGTERM)
	return s
}

func failingWrites() (stop func()) { return func() {} }

func (s *signals) stop() { signal.Stop(s.c) }

func asksToEnd(os.Signal) bool { return true }

func passOn(os.Signal) (string, bool) { return "", false }

func survivesParent() bool { return true }
