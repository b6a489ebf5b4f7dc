package inspect

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
)

// notFound is what a search says that has no hit.
func notFound(text string) error { return fmt.Errorf("%q was not found", visibleCut(text, 40)) }

// runExternal runs a program on the terminal while the UI waits; input, when
// not nil, is its stdin.
func (u *ui) runExternal(argv []string, input []byte) error {
	var err error
	ok := u.app.Suspend(func() {
		cmd := exec.CommandContext(u.ctx, argv[0], argv[1:]...)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
		if input != nil {
			cmd.Stdin = bytes.NewReader(input)
		}
		err = cmd.Run()
	})
	if !ok {
		return fmt.Errorf("running %s: the screen cannot be left", argv[0])
	}
	if err != nil {
		return fmt.Errorf("running %s: %w", argv[0], err)
	}
	return nil
}
