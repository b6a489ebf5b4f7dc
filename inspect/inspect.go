package inspect

import (
	"context"
	"fmt"
	"io"
	"os"

	"agentrec/internal/tape"

	"github.com/gdamore/tcell/v2"
)

// inspectOptions is what `agentrec inspect` is asked for.
type inspectOptions struct {
	File    string
	Session string
	Dialect string
	Theme   string
	Color   string
	Out     io.Writer
	In      io.Reader
	Screen  tcell.Screen // nil is the terminal
	Causes  Causes
}

// run opens the UI on a terminal; anywhere else it prints what show prints, of
// the last session when none is named.
func runInspect(ctx context.Context, o inspectOptions) error {
	t := terminalOf(o.Out, o.Color, os.Getenv)
	if o.Screen == nil && !t.TTY {
		if o.Session == "" {
			o.Session = "last"
		}
		return show(ctx, showOptions{File: o.File, Session: o.Session, Dialect: o.Dialect, Seq: seqs{From: 1}, Color: o.Color, Out: o.Out})
	}
	db, err := tape.Open(ctx, o.File)
	if err != nil {
		return err
	}
	defer db.Close()
	u := newUI(ctx, db, o.File, themeOf(o.Theme, t.Color, os.Getenv))
	u.dialect, u.causes = o.Dialect, o.Causes
	if err := u.sessionsView(); err != nil {
		return err
	}
	list, err := db.Sessions(ctx)
	if err != nil {
		return err
	}
	if o.Session != "" || len(list) == 1 {
		s, err := db.Find(ctx, o.Session)
		if err != nil {
			return err
		}
		if err := u.openSession(s); err != nil {
			return err
		}
	}
	if err := u.run(o.Screen); err != nil {
		return fmt.Errorf("drawing on the terminal: %w", err)
	}
	return nil
}
