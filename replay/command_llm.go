package replay

import (
	"fmt"
	"os"

	"agentrec/internal/llm"

	"github.com/spf13/cobra"
)

// LLMCommands returns the commands of this package that stand under llm.
func LLMCommands() []*cobra.Command { return []*cobra.Command{llmServeCommand()} }

func llmServeCommand() *cobra.Command {
	var o ModelOptions
	var pace string
	cmd := &cobra.Command{
		Use:   "serve FILE [flags] [-- CMD ARGS...]",
		Short: "Take the model's place: answer requests as they were answered when recorded",
		Long: `serve answers HTTP requests from the exchanges of a session. A request is looked
for among those of the same method and path: equal but for spacing and the order
of keys; then less what is volatile on its wire, and --ignore; then less paths,
dates near now, ids, and the order of parallel calls. Of equal ones the first
that is unused answers: status, header and every piece of the body as it came,
errors and broken ends too.

With CMD the variables that point programs at a model are set for it, and serve
ends when it does, with its status. Without, serve says on stderr which base URL
to use, and ends with Ctrl-C.

It leaves with 3 when a request was not in the recording or an exchange was not
asked for, and with 4 when FILE holds none. Lists of models, token counts and
embeddings are answered as often as they are asked for.`,
		Example: `  agentrec llm serve tests/chat.agentrec -- go test ./...
  agentrec llm serve session.db --listen 127.0.0.1:8080 --exhausted cycle`,
		Args: func(cmd *cobra.Command, args []string) error {
			n := len(args)
			if dash := cmd.ArgsLenAtDash(); dash >= 0 {
				n = dash
			}
			if n != 1 {
				return fmt.Errorf("llm serve takes one FILE; write agentrec llm serve FILE, and a command to run after --")
			}
			return nil
		},
		PreRunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if o.Pace, err = ParsePace(pace); err != nil {
				return fmt.Errorf("--pace %w", err)
			}
			switch o.OnMiss {
			case llm.MissFail, llm.MissNearest, llm.MissPassthrough:
			default:
				return fmt.Errorf("--on-miss %q is not known; use fail, nearest or passthrough", o.OnMiss)
			}
			switch o.Exhausted {
			case llm.ExhaustedFail, llm.ExhaustedLast, llm.ExhaustedCycle:
			default:
				return fmt.Errorf("--exhausted %q is not known; use fail, last or cycle", o.Exhausted)
			}
			if err := checkBinds(o.Bind); err != nil {
				return err
			}
			if o.Listen != "" && len(args) > 1 {
				return fmt.Errorf("--listen goes without a command, which is told where to ask")
			}
			return checkReport(o.Report)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.File, o.Command = args[0], args[1:]
			signals, stop := listen()
			defer stop()
			o.Signals = signals
			o.Stdin, o.Stdout, o.Stderr = os.Stdin, os.Stdout, os.Stderr
			return ServeModel(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Session, "session", "", "session in FILE: number, name, id or last")
	f.StringVar(&o.Listen, "listen", "", "HOST:PORT to serve any path on; else a free port and a path that cannot be guessed")
	f.StringVar(&o.OnMiss, "on-miss", llm.MissFail, "a request that was not recorded: fail, nearest (the answer of the nearest), passthrough (to the real model)")
	f.StringVar(&o.Exhausted, "exhausted", llm.ExhaustedFail, "a request that comes more often than recorded: fail, last or cycle")
	f.StringArrayVar(&o.Ignore, "ignore", nil, "path in the body that may differ, such as max_tokens (repeatable)")
	f.StringArrayVar(&o.Bind, "bind", nil, "RECORDED=LIVE: a path and what takes its place (repeatable)")
	f.BoolVar(&o.AllowUnsent, "allow-unsent", false, "recorded exchanges that nothing asks for are no divergence")
	f.StringVar(&pace, "pace", "fast", "fast (with pauses of 1 ms at most, for real programs break at full speed), recorded, or xN for N times the recorded speed")
	f.DurationVar(&o.PaceCap, "pace-cap", 0, "longest pause with --pace, 0 for none")
	f.StringVar(&o.Report, "report", "", "write the verdict to FILE.json, .xml or .tap, or into a directory, a file for each process")
	return cmd
}
