package inspect

import (
	"os"
	"time"

	"agentrec/store"

	"github.com/spf13/cobra"
)

// showProgress makes a command say on stderr how far it is when it takes long
// and stderr is a terminal: one line, which is gone before anything else is
// printed and at the end.
func showProgress(cmd *cobra.Command) {
	quiet := cmd.Flags().Bool("quiet", false, "no line on stderr that tells how far long work is")
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if *quiet || !terminalOf(cmd.ErrOrStderr(), ColorNever, os.Getenv).TTY {
			return run(cmd, args)
		}
		p := &progress{out: cmd.ErrOrStderr(), what: cmd.Name(), began: time.Now()}
		cmd.SetErr(p.before(cmd.ErrOrStderr()))
		cmd.SetOut(p.before(cmd.OutOrStdout()))
		cmd.SetContext(store.Watch(cmd.Context(), func(n int) { p.frames.Add(int64(n)) }))
		stop := p.start(pace)
		defer stop()
		return run(cmd, args)
	}
}
