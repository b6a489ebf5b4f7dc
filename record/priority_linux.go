package record

import (
	"runtime"
	"syscall"
)

// lowerPriority makes the calling goroutine's thread give way to the pumps and
// to the agent. The goroutine stays on it, and the thread ends with it.
func lowerPriority() {
	runtime.LockOSThread()
	// Of the thread only: Linux keeps a priority per thread.
	syscall.Setpriority(syscall.PRIO_PROCESS, 0, 10)
}
