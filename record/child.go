package record

import (
	"os"
	"runtime"

	"agentrec/store"
)

// child is the running agent. Its pipe ends here are the caller's to close.
type child struct {
	process               *os.Process
	stdin, stdout, stderr fd
	exit                  chan store.Exit
}

// startChild starts the agent from a thread that lives as long as it does: on
// Linux the agent dies with that thread, and so with us.
func startChild(path string, argv, environ []string) (*child, error) {
	c := &child{exit: make(chan store.Exit, 1)}
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		err := c.start(path, argv, environ)
		started <- err
		if err != nil {
			return
		}
		state, err := c.process.Wait()
		if err != nil {
			c.exit <- store.Exit{Code: statusOwn}
			return
		}
		c.exit <- exitOf(state)
	}()
	if err := <-started; err != nil {
		return nil, startFailure(argv[0], path, err)
	}
	return c, nil
}

func (c *child) wait() store.Exit { return <-c.exit }

// start makes the pipes and the process.
func (c *child) start(path string, argv, environ []string) error {
	var ends [6]fd // of stdin, stdout, stderr: read end, write end
	for i := 0; i < len(ends); i += 2 {
		if err := pipe(ends[i : i+2]); err != nil {
			closeAll(ends[:i])
			return err
		}
	}
	theirs := []fd{ends[0], ends[3], ends[5]}
	files := make([]*os.File, len(theirs))
	for i, f := range theirs {
		files[i] = os.NewFile(uintptr(f), "pipe")
	}
	process, err := os.StartProcess(path, argv, &os.ProcAttr{Env: environ, Files: files, Sys: attributes()})
	for _, f := range files {
		f.Close()
	}
	if err != nil {
		closeAll([]fd{ends[1], ends[2], ends[4]})
		return err
	}
	tie(process)
	c.process, c.stdin, c.stdout, c.stderr = process, ends[1], ends[2], ends[4]
	return nil
}
