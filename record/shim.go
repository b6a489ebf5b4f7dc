package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// ShimOptions says what a shim runs.
type ShimOptions struct {
	Path string   // the file to write
	JS   bool     // for clients that run "node PATH"
	Drop int      // leading arguments of the client that are left out
	Args []string // arguments of agentrec; the client's are appended
	Self string   // the agentrec to run
}

// shimMark is in the second line of every shim: what carries it may be
// overwritten.
const shimMark = "written by agentrec shim"

// Shim writes an executable that a client runs in place of its agent: it
// becomes agentrec (on Unix the same process, so that signals and status need no
// help) with the arguments given and then the client's own.
func Shim(o ShimOptions) error {
	if err := replaceable(o.Path); err != nil {
		return fmt.Errorf("write a shim: %w", err)
	}
	text := shellShim(o)
	if o.JS {
		text = nodeShim(o)
	}
	// Renamed into place: a client may be starting the old one.
	temp, err := os.CreateTemp(filepath.Dir(o.Path), ".shim-")
	if err != nil {
		return fmt.Errorf("write a shim: %w", err)
	}
	_, err = temp.WriteString(text)
	err = errors.Join(err, temp.Chmod(0o755), temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), o.Path)
	}
	if err != nil {
		os.Remove(temp.Name())
		return fmt.Errorf("write a shim: %w", err)
	}
	return nil
}

// replaceable refuses to write over what is not known to be a shim.
func replaceable(path string) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && info.IsDir() {
		return fmt.Errorf("%s is a directory; name the file to write", path)
	}
	head := make([]byte, 256)
	n := 0
	if err == nil && info.Mode().IsRegular() {
		var f *os.File
		if f, err = os.Open(path); err == nil {
			n, _ = f.Read(head) // nothing read is no shim
			f.Close()
		}
	}
	if err != nil {
		return err
	}
	if !strings.Contains(string(head[:n]), shimMark) {
		return fmt.Errorf("%s exists and is not a shim; name another path or remove it", path)
	}
	return nil
}

// shellShim execs agentrec: without exec a client's TERM would end the shell
// only.
func shellShim(o ShimOptions) string {
	var b strings.Builder
	fmt.Fprintf(&b, "#!/bin/sh\n# %s\n", shimMark)
	if o.Drop > 0 {
		// More than there are would be an error in a shell.
		fmt.Fprintf(&b, "n=%d\nwhile [ $n -gt 0 ] && [ $# -gt 0 ]; do shift; n=$((n - 1)); done\n", o.Drop)
	}
	b.WriteString("exec " + shellQuote(o.Self))
	for _, a := range o.Args {
		b.WriteString(" " + shellQuote(a))
	}
	b.WriteString(` "$@"` + "\n")
	return b.String()
}

func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// nodeShim is the same for clients that run node with a path. Node has no exec,
// so it passes signals on and leaves as agentrec left; the streams are
// inherited, so no byte passes through it.
func nodeShim(o ShimOptions) string {
	args, err := json.Marshal(o.Args)
	if err != nil || o.Args == nil {
		args = []byte("[]")
	}
	self, err := json.Marshal(o.Self)
	if err != nil {
		self = []byte(`"agentrec"`)
	}
	return fmt.Sprintf(`#!/usr/bin/env node
// %s
import("node:child_process").then(({ spawn }) => {
  const child = spawn(%s, %s.concat(process.argv.slice(%d)), { stdio: "inherit" });
  const passed = ["SIGTERM", "SIGHUP", "SIGINT", "SIGQUIT", "SIGUSR2"];
  for (const signal of passed) {
    // A terminal sends INT and QUIT to the whole group; agentrec has them then.
    process.on(signal, () => {
      if ((signal !== "SIGINT" && signal !== "SIGQUIT") || !process.stderr.isTTY) child.kill(signal);
    });
  }
  child.on("error", (error) => {
    console.error("agentrec: " + error.message);
    process.exit(127);
  });
  child.on("exit", (code, signal) => {
    if (!signal) process.exit(code);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
});
`, shimMark, self, args, 2+o.Drop)
}
