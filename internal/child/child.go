// Package child starts an agent as a process of its own, with a pipe for each
// of its standard streams, and tells how it ended.
package child

import (
	"os"
	"runtime"

	"agentrec/store"
)

// Child is a running agent. Its pipe ends here are the caller's to close.
type Child struct {
	Process               *os.Process
	Stdin, Stdout, Stderr FD
	exit                  chan store.Exit
}

// Start says what to run.
type Start struct {
	Path    string   // of the program, as LookPath found it
	Argv    []string // with the name in front
	Environ []string
	Dir     string // working directory; "" is our own
}

// Run starts the agent from a thread that lives as long as it does: on Linux
// the agent dies with that thread, and so with us. The error is a Failure.
func Run(s Start) (*Child, error) {
	c := &Child{exit: make(chan store.Exit, 1)}
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		err := c.start(s)
		started <- err
		if err != nil {
			return
		}
		state, err := c.Process.Wait()
		if err != nil {
			c.exit <- store.Exit{Code: StatusOwn}
			return
		}
		c.exit <- exitOf(state)
	}()
	if err := <-started; err != nil {
		return nil, startFailure(s.Argv[0], s.Path, err)
	}
	return c, nil
}

// Exit receives once, how the agent ended.
func (c *Child) Exit() <-chan store.Exit { return c.exit }

// start makes the pipes and the process.
func (c *Child) start(s Start) error {
	var ends [6]FD // of stdin, stdout, stderr: read end, write end
	for i := 0; i < len(ends); i += 2 {
		if err := pipe(ends[i : i+2]); err != nil {
			closeAll(ends[:i])
			return err
		}
	}
	widen(ends[2])
	theirs := []FD{ends[0], ends[3], ends[5]}
	files := make([]*os.File, len(theirs))
	for i, f := range theirs {
		files[i] = os.NewFile(uintptr(f), "pipe")
	}
	process, err := os.StartProcess(s.Path, s.Argv, &os.ProcAttr{Dir: s.Dir, Env: s.Environ, Files: files, Sys: attributes()})
	for _, f := range files {
		f.Close()
	}
	if err != nil {
		closeAll([]FD{ends[1], ends[2], ends[4]})
		return err
	}
	tie(process)
	c.Process, c.Stdin, c.Stdout, c.Stderr = process, ends[1], ends[2], ends[4]
	return nil
}
