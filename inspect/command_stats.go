package inspect

import (
	"agentrec/internal/transcript"

	"github.com/spf13/cobra"
)

func newStats() *cobra.Command {
	var o statsOptions
	var filter string
	cmd := &cobra.Command{
		Use:   "stats [FILE]",
		Short: "Count what a session is made of, and how long it took",
		Long: `Count the frames of a session: by stream and label, with bytes, failures and, for
requests, the time to their responses (median, 90th and 99th percentile by
nearest rank, longest); calls by tool; turns; tokens and cost where the protocol
says them; and the LLM exchanges by model, with the time to the first byte and to
the end, tokens, and cost where the provider says it.

With --json, one object: object "stats", session, uid, name, dialect, agent,
seconds, frames, bytes, failed, streams, turns (ended, failed, open, latency),
usage (frames, input, output, cached, cost), labels and tools, each with latency:
count, p50_us, p90_us, p99_us, max_us, slowest (the frame that began the longest).
llm has an entry for each model: model, host, exchanges, failed, retries, open,
input, output, cached, reasoning (tokens), cost, sent, received (bytes), took and
ttfb (latencies; slowest is an exchange).`,
		Example: `  agentrec stats session.db
  agentrec stats session.db --filter 'turn = 2..'
  agentrec stats session.db --json | jq '.labels[] | select(.latency.p90_us > 1e6)'`,
		Args: cobra.MaximumNArgs(1),
		PreRunE: func(_ *cobra.Command, _ []string) (err error) {
			o.Filter, err = transcript.ParseFilter(filter)
			return err
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.File, o.Out = fileArg(args), cmd.OutOrStdout()
			return stats(cmd.Context(), o)
		},
	}
	sessionFlag(cmd, &o.Session)
	filterFlag(cmd, &filter)
	dialectFlag(cmd, &o.Dialect)
	cmd.Flags().BoolVar(&o.JSON, "json", false, "print JSON")
	colorFlag(cmd, &o.Color)
	return cmd
}
