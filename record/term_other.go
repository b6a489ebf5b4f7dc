//go:build !linux && !windows

package record

import "syscall"

const termSignal = syscall.SIGTERM
