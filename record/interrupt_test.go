package record

import (
	"context"
	"errors"
	"os"
	"testing"

	"agentrec/store"
)

// TestAnInterruptBeforeTheAgentStarts is not forgotten: the agent is not started.
func TestAnInterruptBeforeTheAgentStarts(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	var exit store.Exit
	if err := Run(interrupted, Options{DB: dir + "/session.db", Argv: []string{self}}); !errors.As(err, &exit) || exit.Signal != "INT" {
		t.Errorf("%v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}
