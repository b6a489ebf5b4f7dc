package main

import "agentrec/store"

// leave returns the exit status of an agent. Windows has no death by signal.
func leave(e store.Exit) int {
	if e.Signal != "" {
		return 1
	}
	return e.Code
}
