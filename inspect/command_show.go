package inspect

import (
	"errors"

	"agentrec/internal/transcript"

	"github.com/spf13/cobra"
)

func newShow() *cobra.Command {
	var o showOptions
	var seq, filter, exchange string
	cmd := &cobra.Command{
		Use:   "show [FILE]",
		Short: "Read a session: how it ended, then the conversation",
		Long: `Read a session. First the outcome in six lines, each with the command that
shows what it speaks of; then the conversation: number of the first frame, way
(→ to the agent, ← to the client), time, what it is, how many deltas were joined
(x12), how long it took, its size, and the text.

The first look at a long session takes seconds: check looks through it, and what
that finds is kept in the user's cache directory.

LLM exchanges stand among the frames (e3 is the third): what was asked of whom,
how it went, the messages that no request before had, and the answer.

--frames prints one line a frame instead, --raw the exact bytes of frames (made
visible when stdout is a terminal). --exchanges prints a table of the exchanges;
--exchange 3 one of them whole, --exchange 3:request or 3:answer one side of it,
with --raw the exact bytes of its body.

With --json, one object a line: "session" first, then "item" and "exchange" or,
with --frames, "frame" and "event". An exchange has number, after (the frame
before it), turn, time_us, route, method, url, host, proto, status, end (open,
done, cut, cancelled or failed), attempt, attempts, ttfb_us, first_token_us,
took_us, request_bytes, answer_bytes, omitted_bytes, wire, operation, model,
answer_model, answer_id, messages (how many), new (those that no request before
had: role, text, reasoning, parts, calls, call_id, tool, failed), tools, text,
thought, calls (id, name, args or args_text), finish, usage (input, output,
cached, cache_write, reasoning, cost), models, vectors, dimensions, streamed,
events, unfinished (the stream lacks its end), error and error_kind. --exchange 3
--json gives all messages and whole texts, and adds request and answer: header,
trailer, body (JSON), text or base64, and pieces (time_us, bytes).`,
		Example: `  agentrec show session.db
  agentrec show session.db --session last --frames
  agentrec show session.db --filter 'failed or open'
  agentrec show session.db --raw --seq 12 | jq .
  agentrec show session.db --exchanges --filter 'status >= 400'
  agentrec show session.db --exchange 3:request --raw | jq .messages`,
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
			if o.Exchange, err = parseExchangePart(exchange); err != nil {
				return err
			}
			switch {
			case (o.Exchanges || exchange != "") && (o.Frames || seq != "" || o.Conversation != ""):
				return errors.New("--exchanges and --exchange are about LLM exchanges: leave out --frames, --seq and --conversation")
			case o.Exchanges && (exchange != "" || o.Raw):
				return errors.New("--exchanges is a table: leave out --exchange and --raw")
			case exchange != "" && filter != "":
				return errors.New("--exchange names one exchange: leave out --filter, or use --exchanges")
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
	f.BoolVar(&o.Exchanges, "exchanges", false, "only the LLM exchanges, as a table")
	f.StringVar(&exchange, "exchange", "", "only this exchange, whole: 3, 3:request or 3:answer")
	f.StringVar(&seq, "seq", "", "only these frames: 12, 12-20, 12- or -20")
	filterFlag(cmd, &filter)
	f.StringVar(&o.Conversation, "conversation", "", "only this conversation of the protocol")
	dialectFlag(cmd, &o.Dialect)
	f.BoolVar(&o.JSON, "json", false, "print JSON, one object a line")
	colorFlag(cmd, &o.Color)
	return cmd
}
