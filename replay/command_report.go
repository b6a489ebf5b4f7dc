package replay

import (
	"fmt"

	"github.com/spf13/cobra"
)

func reportCommand() *cobra.Command {
	var o SummaryOptions
	cmd := &cobra.Command{
		Use:   "report DIR...",
		Short: "Sum up the reports that replays have left in a directory",
		Long: `report reads the JSON reports that replays have written with --report, sums them
up and leaves with 3 when one of them failed. A test suite that lets its client
start replays by itself gives each the same directory and runs this at its end.

A report that was left unfinished belongs to a replay that was killed; it counts
by what it had found out until then, with frames not sent as divergences.`,
		Example: `  agentrec report build/replays
  agentrec report --format junit build/replays > replays.xml`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return fmt.Errorf("report needs a directory; write agentrec report DIR, as given to replay --report")
			}
			return nil
		},
		PreRunE: func(_ *cobra.Command, _ []string) error {
			switch o.Format {
			case "", "junit", "tap":
				return nil
			}
			return fmt.Errorf("--format %q is not known; use junit or tap", o.Format)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Paths, o.Stdout = args, cmd.OutOrStdout()
			return Summarise(o)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.JSON, "json", false, "print the reports, one a line")
	f.StringVar(&o.Format, "format", "", "print as junit or tap")
	f.BoolVarP(&o.Quiet, "quiet", "q", false, "list only what failed")
	return cmd
}
