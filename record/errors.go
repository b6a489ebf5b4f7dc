package record

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
)

// Failure is the proxy's own failure to start or run an agent. Status is the
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
	statusOwn           = 125
	statusNotExecutable = 126
	statusNotFound      = 127
)

// lookPath finds the agent's program as a shell would.
func lookPath(name string) (string, error) {
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
	status := statusNotExecutable
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		status = statusNotFound
		// A script whose interpreter is missing fails with the same error.
		if path != "" {
			if _, serr := os.Stat(path); serr == nil {
				status, err = statusNotExecutable, fmt.Errorf("its interpreter was not found")
			}
		}
	}
	return Failure{status, fmt.Errorf("start %s: %w", name, err)}
}
