package inspect

import (
	"fmt"

	"agentrec/internal/dialect"

	"github.com/spf13/cobra"
)

func newDiff() *cobra.Command {
	var o diffOptions
	var ignore []string
	cmd := &cobra.Command{
		Use:   "diff A B",
		Short: "Compare two sessions by turns, calls, frames and LLM exchanges",
		Long: `Compare two sessions. A and B are recordings, or FILE#SESSION where a file holds
several: session.db#3, session.db#last. Turns are aligned by their prompts; in
each, texts are compared joined, however they were cut into deltas, calls that
stand side by side as a set, other frames by structure. What the dialect calls
volatile (ids, times, known races) does not count. How long turns and calls took
is shown and never a difference. The exit status is 1 when the sessions differ.

LLM exchanges are paired by what they ask, as llm serve does, in any order: dates,
ids and the sessions' folders may differ. Of a pair that asks something else the
first message that differs is named; what differs again because a history repeats
it is told once. Answers are compared as what they say, however they were cut.

With --json, one object a line: "turn" (a, b, outside, prompt, missing,
differences, took_a_us, took_b_us), then its "call"s (turn, name, seq_a, seq_b,
took_a_us, took_b_us), its "difference"s (turn, kind, name, seq_a, seq_b, part,
path, a, b) and "frames" that one side has more of (turn, label, a, b); then an
"exchange" for each pair (a, b, name, missing, message, role, follows, more,
differences: part, path, a, b).`,
		Example: `  agentrec diff golden.agentrec session.db#last
  agentrec diff old.db new.db --ignore 'params.clientInfo.**' --no-frames`,
		Args: cobra.ExactArgs(2),
		PreRunE: func(_ *cobra.Command, _ []string) (err error) {
			if o.Ignore, err = dialect.ParsePaths(ignore...); err != nil {
				return fmt.Errorf("--ignore: %w", err)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.A, o.B, o.Out = args[0], args[1], cmd.OutOrStdout()
			return diff(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&ignore, "ignore", nil, "leave out this place of frames and model requests: keys joined by dots, * for any one, ** for any number")
	f.Int64Var(&o.From, "from", 0, "compare from this frame of A on, and B from the client's frame in its place: what a fork did otherwise")
	f.BoolVar(&o.NoFrames, "no-frames", false, "do not count which kinds of frames there were")
	dialectFlag(cmd, &o.Dialect)
	f.BoolVar(&o.JSON, "json", false, "print JSON, one object a line")
	colorFlag(cmd, &o.Color)
	return cmd
}
