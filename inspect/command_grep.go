package inspect

import (
	"os"

	"agentrec/internal/transcript"

	"github.com/spf13/cobra"
)

func newGrep() *cobra.Command {
	var o grepOptions
	var filter string
	cmd := &cobra.Command{
		Use:   "grep TEXT [FILE...]",
		Short: "Search sessions for a text",
		Long: `Search the frames of every session of a recording for a text. It is found as it
stands on the wire, as JSON spells it (\n, \u00e9), and in the text that deltas
make together, also when it is split over two of them; and in LLM exchanges (e3:
the third), of a request in what is new in it.

Each hit is one line: number of the frame (#11-14: a text joined from frames),
time since the start, label, and what stands around the match; sessions are named
when there are several. Leaves with status 1 when nothing was found.

With --json, one object a line: object "hit", file, session, uid, seq, last,
time_us, stream, label, turn, exchange and side (request or answer; seq is then
the frame before, label the model), text (what stands around the match) and where in it
the match starts and ends; with --count, object "count", file, session, uid, hits.`,
		Example: `  agentrec grep 'rate limit'
  agentrec grep -E 'time(d )?out' *.db --filter 'out and turn = 2..'
  agentrec grep -i error session.db --count`,
		Args: cobra.MinimumNArgs(1),
		PreRunE: func(_ *cobra.Command, args []string) (err error) {
			if o.Filter, err = transcript.ParseFilter(filter); err != nil {
				return err
			}
			o.Pattern, o.Files = args[0], args[1:]
			if len(o.Files) == 0 {
				o.Files = []string{fileOf(nil, os.Getenv)}
			}
			_, err = newPattern(o.Pattern, o.Regexp, o.IgnoreCase)
			return err
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Out = cmd.OutOrStdout()
			return grep(cmd.Context(), o)
		},
	}
	sessionFlag(cmd, &o.Session)
	f := cmd.Flags()
	f.BoolVarP(&o.Regexp, "regexp", "E", false, "TEXT is a regular expression (RE2)")
	f.BoolVarP(&o.IgnoreCase, "ignore-case", "i", false, "let letters match in either case")
	f.BoolVarP(&o.Count, "count", "c", false, "print only the number of hits, a line a session")
	f.IntVarP(&o.Most, "max", "m", 0, "show at most this many hits of a session")
	filterFlag(cmd, &filter)
	dialectFlag(cmd, &o.Dialect)
	f.BoolVar(&o.JSON, "json", false, "print JSON, one object a line")
	colorFlag(cmd, &o.Color)
	return cmd
}

// filterFlag adds --filter to a command that chooses frames.
func filterFlag(cmd *cobra.Command, filter *string) {
	cmd.Flags().StringVarP(filter, "filter", "f", "", "only frames that this expression chooses, see agentrec help filter")
	_ = cmd.RegisterFlagCompletionFunc("filter", func(_ *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
		return transcript.CompleteFilter(word, nil), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	})
}
