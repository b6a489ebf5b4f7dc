//go:build !linux

package record

import "os"

// process is one process.
type process struct{ pid int }

// descendants returns the agent alone: there is no cheap way to its
// descendants here. They see the end of their input.
func descendants(pid int) []process { return []process{{pid}} }

func terminate(list []process) {
	for _, p := range list {
		if found, err := os.FindProcess(p.pid); err == nil {
			found.Signal(termSignal)
		}
	}
}

func kill(list []process) {
	for _, p := range list {
		if found, err := os.FindProcess(p.pid); err == nil {
			found.Kill()
		}
	}
}
