package child

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

func TestStartFailure(t *testing.T) {
	there := filepath.Join(t.TempDir(), "agent")
	if err := os.WriteFile(there, nil, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path   string
		err    error
		status int
		text   string
	}{
		{"", exec.ErrNotFound, StatusNotFound, "start agent: " + exec.ErrNotFound.Error()},
		{there + "-not", &fs.PathError{Op: "fork/exec", Err: syscall.ENOENT}, StatusNotFound, "start agent: " + syscall.ENOENT.Error()},
		{there, &fs.PathError{Op: "fork/exec", Err: syscall.ENOENT}, StatusNotExecutable, "start agent: its interpreter was not found"},
		{there, &fs.PathError{Op: "fork/exec", Err: syscall.EACCES}, StatusNotExecutable, "start agent: " + syscall.EACCES.Error()},
		{there, syscall.EMFILE, StatusOwn, "start agent: " + syscall.EMFILE.Error()},
		{there, &fs.PathError{Op: "fork/exec", Err: syscall.EAGAIN}, StatusOwn, "start agent: " + syscall.EAGAIN.Error()},
	} {
		err := startFailure("agent", c.path, c.err)
		var failed Failure
		if !errors.As(err, &failed) || failed.Status != c.status || err.Error() != c.text {
			t.Errorf("%v: status %d, %v; want %d, %s", c.err, failed.Status, err, c.status, c.text)
		}
	}
}
