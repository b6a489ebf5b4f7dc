package inspect

import (
	"errors"

	"agentrec/internal/transcript"

	"github.com/spf13/cobra"
)

func newShow() *cobra.Command {
	var o showOptions
	var seq, filter string
	cmd := &cobra.Command{
		Use:   "show [FILE]",
		Short: "Read a session: how it ended, then the conversation",
		Long: `Read a session. First the outcome in six lines, each with the command that
shows what it speaks of; then the conversation: number of the first frame, way
(→ to the agent, ← to the client), time, what it is, how many deltas were joined
(x12), how long it took, its size, and the text.

--frames prints one line a frame instead, --raw the exact bytes of frames (made
visible when stdout is a terminal). With --json, one object a line: "session"
first, then "item" or, with --frames, "frame" and "event".`,
		Example: `  agentrec show session.db
  agentrec show session.db --session last --frames
  agentrec show session.db --filter 'failed or open'
  agentrec show session.db --raw --seq 12 | jq .`,
		Args: cobra.MaximumNArgs(1),
		PreRunE: func(_ *cobra.Command, _ []string) (err error) {
			if o.Seq, err = parseSeqs(seq); err != nil {
				return err
			}
			if filter != "" {
				if o.Filter, err = transcript.ParseFilter(filter); err != nil {
					return err
				}
			}
			switch {
			case o.Raw && (o.Frames || o.JSON):
				return errors.New("--raw prints bytes: leave out --frames and --json")
			case o.Conversation != "" && (o.Raw || o.Frames):
				return errors.New("--conversation chooses from the conversation view: leave out --raw and --frames")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.File, o.Out = fileArg(args), cmd.OutOrStdout()
			return show(cmd.Context(), o)
		},
	}
	sessionFlag(cmd, &o.Session)
	f := cmd.Flags()
	f.BoolVar(&o.Frames, "frames", false, "one line a frame")
	f.BoolVar(&o.Raw, "raw", false, "the exact bytes of the frames")
	f.StringVar(&seq, "seq", "", "only these frames: 12, 12-20, 12- or -20")
	f.StringVarP(&filter, "filter", "f", "", "only what this matches; agentrec help filter explains it")
	f.StringVar(&o.Conversation, "conversation", "", "only this conversation of the protocol")
	dialectFlag(cmd, &o.Dialect)
	f.BoolVar(&o.JSON, "json", false, "print JSON, one object a line")
	colorFlag(cmd, &o.Color)
	return cmd
}
