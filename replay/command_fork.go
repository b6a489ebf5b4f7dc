package replay

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
)

func forkCommand(with With) *cobra.Command {
	o := ForkOptions{RerunOptions: RerunOptions{Version: with.Version}}
	var unknown, edit string
	cmd := &cobra.Command{
		Use:   "fork FILE --at FRAME [flags] -- CMD ARGS...",
		Short: "Run the real agent to a frame of a recording and go on live from there",
		Long: `fork starts the agent CMD and plays the recorded client to it, as rerun does,
but for frame FRAME and what was recorded behind it. From there on the caller is
the client: what stands on stdin goes to the agent, and what the agent sends goes
to stdout, first the questions that are still open. --edit sends frames of your
own there first: JSON, or a file with a frame a line; recorded ids in them become
live ones. The model is mocked up to FRAME and real behind it.

All of it is stored as a session that names the recorded one as its parent, in
FILE when that is a database. It leaves as the agent leaves, or with 3 when the
agent did not come to FRAME, or waits there for an answer and stdin is empty.`,
		Example: `  agentrec fork session.db --at 38 -- phi serve --bridge
  agentrec fork session.db --at 38 --edit '{"type":"run","session_id":"demo","query":"And in Rome?"}' -- ./my-agent < /dev/null`,
		Args: func(cmd *cobra.Command, args []string) error {
			if dash := cmd.ArgsLenAtDash(); dash != 1 || len(args) < 2 {
				return fmt.Errorf("fork takes one FILE and the agent's command; write agentrec fork FILE --at FRAME -- CMD ARGS")
			}
			return nil
		},
		PreRunE: func(cmd *cobra.Command, _ []string) (err error) {
			if cmd.Flags().Changed("at") && o.At < 1 {
				return fmt.Errorf("--at %d: frames are numbered from 1 (agentrec show FILE tells the numbers)", o.At)
			}
			if o.At < 1 {
				return fmt.Errorf("fork needs the frame; write agentrec fork FILE --at FRAME -- CMD ARGS (agentrec show FILE numbers them)")
			}
			if unknown != "error" {
				o.Decline = unknown
			}
			if err := checkModel(o.Model); err != nil {
				return err
			}
			if edit != "" {
				if o.Edit, err = ParseEdit(edit); err != nil {
					return fmt.Errorf("--edit: %w", err)
				}
			}
			return checkBinds(o.Bind)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Files, o.Argv = args[:1], args[1:]
			o.Stdin, o.Stdout, o.Stderr = os.Stdin, os.Stdout, os.Stderr
			signals, stop := listen()
			defer stop()
			o.Signals = signals
			return Fork(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.Int64Var(&o.At, "at", 0, "the first recorded frame that is not played")
	f.StringVar(&edit, "edit", "", "send this there: JSON, or a file with a frame a line")
	f.StringVar(&o.DB, "db", "", "database that gets the fork")
	f.StringVar(&o.Name, "name", "", "name of the fork")
	f.StringVar(&o.Session, "session", "", "session in FILE: number, name, id or last")
	f.StringVar(&o.Dialect, "dialect", "", "dialect by name or table file, instead of the recorded one")
	f.StringArrayVar(&o.Bind, "bind", nil, "RECORDED=LIVE: a value and what takes its place, a redacted one too (repeatable)")
	f.StringVar(&o.Dir, "dir", "", "start the agent here, instead of in an empty temporary directory")
	f.BoolVar(&o.RealTools, "real-tools", false, "let the agent run its own tools again")
	f.StringVar(&o.Model, "model", ModelLive, "behind FRAME, live: the real model, or mock: the recorded answers that are left")
	f.StringVar(&unknown, "unknown-call", "error", "what a call that was not recorded is answered with: error, or this text")
	f.DurationVar(&o.Wait, "wait", 10*time.Second, "silence of the agent after which it is given up, 0 for never")
	f.BoolVarP(&o.Verbose, "verbose", "v", false, "pass the agent's stderr on as it comes")
	return cmd
}
