package replay

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

func faultsCommand() *cobra.Command {
	var o MatrixOptions
	cmd := &cobra.Command{
		Use:   "faults FILE [flags] -- TEST-COMMAND ARGS...",
		Short: "Try a matrix of faults over a recording on your own test command",
		Long: `faults runs your test command once for each fault. The test's client starts
agentrec replay FILE as its agent; the fault reaches that replay by a variable,
and damages what it writes: half a frame and then silence, a death, an end of
output, split and merged writes, garbage, duplicates, delays, giant frames.

A client survives a fault when its test comes to an end, passed or failed. It
does not when it hangs or crashes; then faults leaves with 3.`,
		Example: `  agentrec faults session.db -- go test ./client
  agentrec faults session.db --action cut --action die --frame 12 -- pytest -x`,
		Args: func(cmd *cobra.Command, args []string) error {
			if cmd.ArgsLenAtDash() != 1 || len(args) < 2 {
				return fmt.Errorf("faults takes one FILE and a test command; write agentrec faults FILE -- TEST-COMMAND")
			}
			return nil
		},
		PreRunE: func(_ *cobra.Command, _ []string) error {
			for _, a := range o.Actions {
				if !slices.Contains(FaultActions, a) {
					return fmt.Errorf("--action %q is not known; use %s", a, strings.Join(FaultActions, ", "))
				}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.File, o.Command = args[0], args[1:]
			o.Stdout, o.Stderr = cmd.OutOrStdout(), cmd.ErrOrStderr()
			return RunMatrix(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Session, "session", "", "session in FILE: number, name, id or last")
	f.StringVar(&o.Dialect, "dialect", "", "read the frames by this `DIALECT`: a name, a table file, or a folder of tables")
	f.StringArrayVar(&o.Actions, "action", nil, "fault to try (repeatable); all when not given")
	f.Int64SliceVar(&o.Frames, "frame", nil, "frame of the agent to damage, by seq (repeatable); a few telling ones when not given")
	f.Uint64Var(&o.Seed, "seed", 1, "seed of what faults choose at random")
	f.DurationVar(&o.Timeout, "timeout", 30*time.Second, "time for one run of the test command")
	f.StringVar(&o.Report, "report", "", "write JUnit XML to this file")
	f.BoolVar(&o.JSON, "json", false, "print one JSON object a trial")
	return cmd
}
