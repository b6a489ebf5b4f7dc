package inspect

import (
	"time"

	"agentrec/internal/transcript"

	"github.com/spf13/cobra"
)

func newLs() *cobra.Command {
	var o lsOptions
	var filter string
	cmd := &cobra.Command{
		Use:   "ls [FILE]",
		Short: "List the sessions of a recording",
		Long: `List the sessions of a recording, oldest first. FILE is a database or a text
file; without it, $AGENTREC_DB, or session.db in the working directory.

With --json, one object a line: id, uid, name, tags, started (RFC 3339), seconds,
dialect, agent, turns, calls, errors, frames, bytes, state (recording, closed or
cut), reason (why it was cut), exit (code, signal), argv, cwd, host, version (of
the agentrec that recorded it), edited, unredacted, parent, exchanges (with LLMs),
exchanged_bytes (in their bodies), damaged (then nothing is counted).`,
		Example: `  agentrec ls
  agentrec ls --filter failed
  agentrec ls session.db --json | jq .name`,
		Args: cobra.MaximumNArgs(1),
		PreRunE: func(*cobra.Command, []string) (err error) {
			if filter != "" {
				o.Filter, err = transcript.ParseFilter(filter)
			}
			return err
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.File, o.Out, o.Now = fileArg(args), cmd.OutOrStdout(), time.Now()
			return ls(cmd.Context(), o)
		},
	}
	dialectFlag(cmd, &o.Dialect)
	cmd.Flags().BoolVar(&o.JSON, "json", false, "print one JSON object a session")
	cmd.Flags().StringVarP(&filter, "filter", "f", "", "only sessions with something that this matches; agentrec help filter explains it")
	colorFlag(cmd, &o.Color)
	return cmd
}
