package child

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
)

// process is one process: its number alone could be another's by the time it
// is used.
type process struct {
	pid   int
	began string // start time in the kernel's ticks
}

// Family is a process and its descendants.
type Family []process

// FamilyOf returns the process pid and all that descend from it by parent,
// wherever they have put themselves.
func FamilyOf(pid int) Family {
	root, _, ok := inspectProcess(pid)
	if !ok {
		return nil
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return []process{root}
	}
	children := map[int][]process{}
	for _, e := range entries {
		n, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if p, parent, ok := inspectProcess(n); ok {
			children[parent] = append(children[parent], p)
		}
	}
	list := []process{root}
	for i := 0; i < len(list); i++ {
		list = append(list, children[list[i].pid]...)
		delete(children, list[i].pid)
	}
	return list
}

// inspectProcess reads /proc/PID/stat: the parent is the second field after the
// command, the start time the twentieth.
func inspectProcess(pid int) (process, int, bool) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return process{}, 0, false
	}
	f := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(f) < 20 {
		return process{}, 0, false
	}
	parent, err := strconv.Atoi(string(f[1]))
	return process{pid, string(f[19])}, parent, err == nil
}

// Terminate asks all of them to end.
func (f Family) Terminate() { f.signal(syscall.SIGTERM) }

// Kill ends all of them.
func (f Family) Kill() { f.signal(syscall.SIGKILL) }

func (f Family) signal(sig syscall.Signal) {
	for _, p := range f {
		if now, _, ok := inspectProcess(p.pid); ok && now == p {
			syscall.Kill(p.pid, sig)
		}
	}
}
