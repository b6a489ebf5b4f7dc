package child

import (
	"os"
	"syscall"
	"unsafe"

	"agentrec/store"

	"golang.org/x/sys/windows"
)

// An agent has an exit status only here, and a job object ends it, and all it
// started, with us.

// FD is an open file of the operating system.
type FD = syscall.Handle

const termSignal = syscall.SIGKILL

func pipe(ends []FD) error { return syscall.Pipe(ends) }

func closeAll(list []FD) {
	for _, f := range list {
		syscall.CloseHandle(f)
	}
}

// widen does nothing.
func widen(FD) {}

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
