//go:build unix

package store

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// nobody is an unprivileged user: permissions do not bind root.
const nobody = 65534

func TestReadOnlyDirectory(t *testing.T) {
	for _, c := range []struct {
		name string
		vfs  string   // of the recorder
		live bool     // copied while the recorder is at work
		left []string // the files beside it that are copied
		says string
	}{
		{"closed", "", false, nil, "10 "},
		{"log and index left", "", true, []string{"-wal", "-shm"}, "10 3 "},
		{"log left", "", true, []string{"-wal"}, "10 3 "},
		{"log lost", "", true, nil, "10 "},
		{"rollback journal", "unix-dotfile", false, nil, "10 "},
	} {
		path := filepath.Join(t.TempDir(), "a.db")
		db, err := open(t.Context(), path, c.vfs)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		first := begin(t, db, Start{})
		for range 10 {
			first.Frame(Out, 0, []byte("{}"), LF)
		}
		closeWriter(t, first)
		if c.live {
			second := begin(t, db, Start{})
			for range 3 {
				second.Frame(Out, 0, []byte("{}"), LF)
			}
			commit(t, second, "")
		} else {
			db.Close()
		}
		dir := t.TempDir()
		copied := filepath.Join(dir, "a.db")
		for _, suffix := range append([]string{""}, c.left...) {
			if err := copyFile(copied+suffix, path+suffix); err != nil {
				t.Fatal(err)
			}
		}
		files := []string{copied}
		for _, suffix := range c.left {
			files = append(files, copied+suffix)
		}
		cmd := unprivileged(t, recorder(t, "read", copied), files...)
		if err := os.Chmod(dir, 0o555); err != nil {
			t.Fatal(err)
		}
		out, err := cmd.CombinedOutput()
		if err != nil || string(out) != c.says {
			t.Errorf("%s: %q, %v; want %q", c.name, out, err, c.says)
		}
		os.Chmod(dir, 0o700)
		if names := besides(t, copied); strings.Join(names, "") != strings.Join(prefixed("a.db", c.left), "") {
			t.Errorf("%s: beside it are %v", c.name, names)
		}
	}
}

// unprivileged makes cmd run as a user whom permissions bind, the owner of the
// files.
func unprivileged(t *testing.T, cmd *exec.Cmd, files ...string) *exec.Cmd {
	t.Helper()
	if os.Getuid() != 0 {
		return cmd
	}
	for _, file := range files {
		if err := os.Chown(file, nobody, nobody); err != nil {
			t.Fatal(err)
		}
	}
	// The test binary and the directories above must be open to others.
	cmd.Path = filepath.Join(t.TempDir(), "recorder")
	if err := copyFile(cmd.Path, cmd.Args[0]); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(cmd.Path, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, file := range append(files, cmd.Path) {
		for d := filepath.Dir(file); d != os.TempDir() && d != filepath.Dir(d); d = filepath.Dir(d) {
			if err := os.Chmod(d, 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	return cmd
}

func TestPermissions(t *testing.T) {
	for _, c := range []struct {
		name, role string
		file, dir  os.FileMode
		says       string
	}{
		{"unreadable", "read", 0o000, 0o755, "cannot be opened; check the permissions of the file and its directory"},
		{"unreadable for writing", "short", 0o000, 0o755, "cannot be opened; check the permissions of the file and its directory"},
		{"read-only file", "short", 0o400, 0o755, "cannot be written; check the permissions of the file and its directory"},
		{"read-only directory", "short", 0o600, 0o555, "cannot be written; check the permissions of the file and its directory"},
		{"closed directory", "read", 0o600, 0o000, "permission denied"},
		{"nothing there, read-only directory", "short", 0, 0o555, "permission denied"},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "a.db")
		cmd := recorder(t, c.role, path)
		if c.file == 0 && c.role == "short" && c.dir == 0o555 {
			cmd = unprivileged(t, cmd)
			for d := dir; d != os.TempDir() && d != filepath.Dir(d); d = filepath.Dir(d) {
				os.Chmod(d, 0o755)
			}
		} else {
			recorded(t, path, 3)
			cmd = unprivileged(t, cmd, path)
			if err := os.Chmod(path, c.file); err != nil {
				t.Fatal(err)
			}
		}
		if os.Getuid() == 0 {
			if err := os.Chown(dir, nobody, nobody); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chmod(dir, c.dir); err != nil {
			t.Fatal(err)
		}
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), c.says) || strings.Count(string(out), "\n") != 1 {
			t.Errorf("%s: %q, %v; want it to say %q", c.name, out, err, c.says)
		}
		if err := os.Chmod(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if names := besides(t, path); len(names) > 0 {
			t.Errorf("%s: beside it are %v", c.name, names)
		}
	}
}

func prefixed(name string, suffixes []string) []string {
	var list []string
	for _, s := range suffixes {
		list = append(list, name+s)
	}
	if len(list) == 2 {
		list[0], list[1] = list[1], list[0] // as a directory lists them
	}
	return list
}
