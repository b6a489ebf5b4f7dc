//go:build !linux

package child

import "os"

// process is one process.
type process struct{ pid int }

// Family is a process and its descendants.
type Family []process

// FamilyOf returns the agent alone: there is no cheap way to its descendants
// here. They see the end of their input.
func FamilyOf(pid int) Family { return Family{{pid}} }

// Terminate asks all of them to end.
func (f Family) Terminate() {
	for _, p := range f {
		if found, err := os.FindProcess(p.pid); err == nil {
			found.Signal(termSignal)
		}
	}
}

// Kill ends all of them.
func (f Family) Kill() {
	for _, p := range f {
		if found, err := os.FindProcess(p.pid); err == nil {
			found.Kill()
		}
	}
}
