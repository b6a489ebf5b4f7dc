package inspect

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// spool returns a file with what name stands for and a function that ends its
// use: the file itself, or a private copy of what comes from stdin, which is
// called "-", or from a pipe: such a stream can be read once, and a file has to
// be looked at twice, to tell what it is.
func spool(name string, stdin io.Reader) (path string, end func(), err error) {
	end = func() {}
	in := stdin
	if name != "-" {
		info, err := os.Stat(name)
		if err != nil || info.Mode().IsRegular() || info.IsDir() {
			return name, end, nil // what is wrong with it, opening it tells
		}
		f, err := os.Open(name)
		if err != nil {
			return "", end, err
		}
		defer f.Close()
		in = f
	}
	copied, err := os.CreateTemp("", "agentrec-")
	if err != nil {
		return "", end, fmt.Errorf("keep what it holds: %w", err)
	}
	_, err = io.Copy(copied, in)
	if err = errors.Join(err, copied.Close()); err != nil {
		os.Remove(copied.Name())
		return "", end, fmt.Errorf("keep what it holds: %w", err)
	}
	return copied.Name(), func() { os.Remove(copied.Name()) }, nil
}
