package record

import (
	"errors"
	"os"
	"os/signal"
	"syscall"
	"unsafe"

	"agentrec/store"

	"golang.org/x/sys/windows"
)

// What Windows does differently: a signal cannot be sent to another process
// but to end it, so none is passed on (the console sends ^C to the agent as
// well); an agent has an exit status only; and a job object ends the agent and
// all it started with us.

type fd = syscall.Handle

var (
	stdin  = syscall.Stdin
	stdout = syscall.Stdout
	stderr = syscall.Stderr
)

const termSignal = syscall.SIGKILL

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

func hungUp(fd) bool { return false }

func pipe(ends []fd) error { return syscall.Pipe(ends) }

func closeAll(list []fd) {
	for _, f := range list {
		syscall.CloseHandle(f)
	}
}

func attributes() *syscall.SysProcAttr { return nil }

// tie makes the agent end when this process does: the system closes the job
// then. It is best effort; without it the agent sees the end of its input.
func tie(p *os.Process) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return
	}
	info := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{
		BasicLimitInformation: windows.JOBOBJECT_BASIC_LIMIT_INFORMATION{LimitFlags: windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE},
	}
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation, uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)))
	if err != nil {
		windows.CloseHandle(job)
		return
	}
	agent, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(p.Pid))
	if err != nil {
		windows.CloseHandle(job)
		return
	}
	defer windows.CloseHandle(agent)
	if windows.AssignProcessToJobObject(job, agent) != nil {
		windows.CloseHandle(job)
	}
}

func exitOf(state *os.ProcessState) store.Exit { return store.Exit{Code: state.ExitCode()} }

func lowerPriority() {}

type signals struct{ c chan os.Signal }

func catchSignals() *signals {
	s := &signals{make(chan os.Signal, 16)}
	signal.Notify(s.c, os.Interrupt, syscall.SIGTERM)
	return s
}

func (s *signals) stop() { signal.Stop(s.c) }

func passOn(os.Signal) (string, bool) { return "", false }

func survivesParent() bool { return true }
