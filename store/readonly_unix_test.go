//go:build unix

package store

import (
	"os"
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
		cmd := recorder(t, "read", copied)
		if os.Getuid() == 0 {
			for _, suffix := range append([]string{""}, c.left...) {
				if err := os.Chown(copied+suffix, nobody, nobody); err != nil {
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
			for d := dir; d != os.TempDir() && d != "/"; d = filepath.Dir(d) {
				os.Chmod(d, 0o755)
			}
			for d := filepath.Dir(cmd.Path); d != os.TempDir() && d != "/"; d = filepath.Dir(d) {
				os.Chmod(d, 0o755)
			}
			cmd.Dir = "/"
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		} else {
			os.Chmod(dir, 0o500)
			t.Cleanup(func() { os.Chmod(dir, 0o700) })
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
