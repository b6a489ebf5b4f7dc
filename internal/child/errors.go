package child

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"syscall"
)

// Failure is our own failure to start or run an agent. Status is the
// exit status that main leaves with: 125 our own failure, 126 the agent is not
// executable, 127 the agent was not found.
type Failure struct {
	Status int
	Err    error
}

func (f Failure) Error() string { return f.Err.Error() }

// Unwrap returns the cause.
func (f Failure) Unwrap() error { return f.Err }

// The statuses of a Failure, as shells and env(1) use them.
const (
	StatusOwn           = 125
	StatusNotExecutable = 126
	StatusNotFound      = 127
)

// LookPath finds the agent's program as a shell would. The error is a Failure.
func LookPath(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err == nil || errors.Is(err, exec.ErrDot) {
		return path, nil
	}
	return "", startFailure(name, path, err)
}

// startFailure tells why a program could not be started.
func startFailure(name, path string, err error) error {
	var cause *fs.PathError
	if errors.As(err, &cause) {
		err = cause.Err
	}
	var look *exec.Error
	if errors.As(err, &look) {
		err = look.Err
	}
	status := StatusNotExecutable
	for _, short := range []error{syscall.EMFILE, syscall.ENFILE, syscall.EAGAIN, syscall.ENOMEM} {
		if errors.Is(err, short) { // the system has no room for a process; the agent is not to blame
			status = StatusOwn
		}
	}
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		status = StatusNotFound
		// A script whose interpreter is missing fails with the same error.
		if path != "" {
			if _, serr := os.Stat(path); serr == nil {
				status, err = StatusNotExecutable, fmt.Errorf("its interpreter was not found")
			}
		}
	}
	return Failure{status, fmt.Errorf("start %s: %w", name, err)}
}
