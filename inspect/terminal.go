package inspect

import (
	"io"

	"golang.org/x/term"
)

// The words of --color.
const (
	ColorAuto   = "auto"
	ColorAlways = "always"
	ColorNever  = "never"
)

// terminal is what a command knows about the place it prints to. stdout is
// data and stderr is people; this describes stdout.
type terminal struct {
	TTY    bool // a person's terminal: recorded bytes never reach it as they are
	Color  bool // escape sequences of ours are welcome
	Width  int  // columns, 0 when it is no terminal
	Height int  // rows, 0 when it is no terminal
}

// terminalOf describes w. mode is the value of --color ("" is auto) and getenv
// is os.Getenv but for tests. The order is: the flag, then NO_COLOR (set and
// not empty, as no-color.org has it), then TERM=dumb, then whether w is a
// terminal.
func terminalOf(w io.Writer, mode string, getenv func(string) string) terminal {
	var t terminal
	if f, ok := w.(interface{ Fd() uintptr }); ok && term.IsTerminal(int(f.Fd())) {
		t.TTY = true
		if cols, rows, err := term.GetSize(int(f.Fd())); err == nil {
			t.Width, t.Height = cols, rows
		}
	}
	switch {
	case mode == ColorAlways:
		t.Color = true
	case mode == ColorNever, getenv("NO_COLOR") != "", getenv("TERM") == "dumb":
	default:
		t.Color = t.TTY
	}
	return t
}
