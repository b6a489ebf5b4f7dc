// Command meddler stands between a client and its agent and spoils what the
// client sends: to see what a test says about a client that went wrong, without
// a wrong client.
//
//	meddler '[{"at":"tool_result","do":"drop"}]' -- agentrec replay FILE
//
// A deed says which frames it is about and what is done to them; see deed. What
// the agent sends passes unchanged, but for ids that a deed has changed.
//
// It leaves as the agent leaves. TERM, INT and HUP go on to the agent.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

func main() {
	args := os.Args[1:]
	if len(args) < 3 || args[1] != "--" {
		fmt.Fprintln(os.Stderr, "usage: meddler DEEDS -- AGENT ARGS...   (DEEDS is a JSON array, [] for none)")
		os.Exit(2)
	}
	var deeds []deed
	if err := json.Unmarshal([]byte(args[0]), &deeds); err != nil {
		fmt.Fprintln(os.Stderr, "meddler: reading the deeds:", err)
		os.Exit(2)
	}
	status, err := run(deeds, args[2:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "meddler:", err)
	}
	os.Exit(status)
}

// run starts the agent and returns its exit status, 128 and the signal's number
// when it died of one.
func run(deeds []deed, argv []string) (int, error) {
	m, err := newMeddler(deeds)
	if err != nil {
		return 2, err
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return 1, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return 1, err
	}
	if err := cmd.Start(); err != nil {
		return 127, fmt.Errorf("starting the agent: %w", err)
	}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	go func() { // ends with the process
		for s := range signals {
			cmd.Process.Signal(s)
		}
	}()
	go m.in(os.Stdin, stdin) // ends with the client's output, or with the process
	if err := m.out(stdout, os.Stdout); err != nil {
		io.Copy(io.Discard, stdout) // the client is gone; the agent need not notice
	}
	err = cmd.Wait()
	var left *exec.ExitError
	switch {
	case err == nil:
		return 0, nil
	case errors.As(err, &left):
		if s, ok := left.Sys().(syscall.WaitStatus); ok && s.Signaled() {
			return 128 + int(s.Signal()), nil
		}
		return left.ExitCode(), nil
	}
	return 1, err
}
