//go:build !linux && !windows

package child

import "syscall"

const termSignal = syscall.SIGTERM
