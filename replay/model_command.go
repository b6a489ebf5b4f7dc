package replay

import (
	"os"
	"os/exec"
	"syscall"

	"agentrec/internal/child"
	"agentrec/store"
)

// run runs the command with our standard streams until it ends, and returns its
// store.Exit unless that is 0. TERM and HUP are passed on to it; an interrupt
// comes to it from the terminal, so only a second one is.
func (m *model) run(environ []string) error {
	path, err := child.LookPath(m.o.Command[0])
	if err != nil {
		return err
	}
	cmd := exec.Command(path, m.o.Command[1:]...)
	cmd.Args[0] = m.o.Command[0]
	cmd.Env = environ
	cmd.Stdin, cmd.Stdout, cmd.Stderr = m.o.Stdin, m.o.Stdout, m.o.Stderr
	if err := cmd.Start(); err != nil {
		return child.Failure{Status: child.StatusNotExecutable, Err: err}
	}
	ended := make(chan struct{})
	go func() { // ends with the command
		defer close(ended)
		cmd.Wait() // how it ended is in ProcessState
	}()
	interrupted := false
	for {
		select {
		case <-ended:
			return exitOf(cmd.ProcessState)
		case sig := <-m.o.Signals:
			if sig == os.Interrupt && !interrupted {
				interrupted = true
				continue
			}
			cmd.Process.Signal(sig) // it may have ended just now
		}
	}
}

// exitOf returns how a process ended, nil for status 0.
func exitOf(state *os.ProcessState) error {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return store.Exit{Signal: signalName(status.Signal())}
	}
	if code := state.ExitCode(); code != 0 {
		return store.Exit{Code: code}
	}
	return nil
}
