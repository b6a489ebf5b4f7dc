// Package replay takes the agent's place and plays a recorded session to a client.
package replay

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"time"

	"agentrec/internal/address"
	"agentrec/internal/dialect"

	"github.com/spf13/cobra"
)

// Recorder records the agent argv, spoken to by this process's own standard
// streams, into the database file. Its error tells how the agent ended.
type Recorder func(ctx context.Context, file string, argv []string) error

// With is what the commands need from other packages on top.
type With struct {
	Record  Recorder
	Onto    Layer
	Version string // of this agentrec
}

// Commands returns the commands of this package for the root command.
func Commands(with With) []*cobra.Command {
	return []*cobra.Command{replayCommand(with.Record), rerunCommand(with), forkCommand(with), reportCommand(), faultsCommand()}
}

func replayCommand(record Recorder) *cobra.Command {
	var o Options
	var match, pace, mode, where string
	var explain, asJSON bool
	var faults []string
	cmd := &cobra.Command{
		Use:   "replay FILE [flags] [-- CMD ARGS...]",
		Short: "Take the agent's place: play a recorded session to a client",
		Long: `replay stands where the agent stood. It plays the recorded frames of the agent
on stdout, each when its cause has arrived on stdin, compares what the client
sends with what was recorded, and refuses what the recording does not hold with
the protocol's own error.

FILE is a database or a text session. With CMD, a missing FILE is recorded from
it (--record once, the default); AGENTREC_RECORD beats the flag, and with CI set
nothing is recorded.

The recorded working directory, home and temporary folder stand for the live
ones, in what is compared and in what is sent. For other folders write
--bind /opt/old=/opt/new.

It leaves as the agent left when all went as recorded, with 3 when the client
diverged and 4 when FILE cannot be played.`,
		Example: `  agentrec replay session.db
  agentrec replay session.db --session 3 --report report.json
  agentrec replay tests/hello.agentrec -- phi serve`,
		Args: func(cmd *cobra.Command, args []string) error {
			n := len(args)
			if dash := cmd.ArgsLenAtDash(); dash >= 0 {
				n = dash
			}
			switch {
			case n > 1:
				return fmt.Errorf("replay takes one FILE, and %q stands behind it; a command to record goes after --, and agentrec shim --drop leaves out a client's own arguments", args[1])
			case n < 1:
				return fmt.Errorf("replay takes one FILE; write agentrec replay FILE, and a command to record after --")
			}
			return nil
		},
		PreRunE: func(_ *cobra.Command, args []string) error {
			var err error
			if o.Match, err = parseMatch(match); err != nil {
				return err
			}
			if o.Pace, err = ParsePace(pace); err != nil {
				return err
			}
			if o.Order != "cause" && o.Order != "recorded" {
				return fmt.Errorf("--order %q is not known; use cause or recorded", o.Order)
			}
			if o.Exhausted != ExhaustedFail && !o.Lookup {
				return fmt.Errorf("--exhausted goes with --lookup")
			}
			if o.Exhausted != ExhaustedFail && o.Exhausted != ExhaustedLast && o.Exhausted != ExhaustedCycle {
				return fmt.Errorf("--exhausted %q is not known; use fail, last or cycle", o.Exhausted)
			}
			if err := checkReport(o.Report); err != nil {
				return err
			}
			for _, text := range faults {
				fault, err := ParseFault(text)
				if err != nil {
					return fmt.Errorf("--fault %w", err)
				}
				o.Faults = append(o.Faults, fault)
			}
			if _, err := dialect.ParsePaths(o.Ignore...); err != nil {
				return fmt.Errorf("--ignore: %w", err)
			}
			for _, v := range o.IgnoreValue {
				if _, err := regexp.Compile(v); err != nil {
					return fmt.Errorf("--ignore-value: %w", err)
				}
			}
			if explain && o.Session == AnySession {
				return fmt.Errorf("--explain plays to no client that could choose; name one session with --session")
			}
			if where != "" {
				if err := address.Check("listen", where); err != nil {
					return err
				}
			}
			if asJSON && !explain {
				return fmt.Errorf("--json goes with --explain; the verdict of a replay goes to --report FILE.json")
			}
			if _, err := recordMode(mode); err != nil {
				return err
			}
			return checkBinds(o.Bind)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.File = args[0]
			if explain {
				o.Stdout = cmd.OutOrStdout()
				return Explain(cmd.Context(), o, asJSON)
			}
			if done, err := recorded(cmd.Context(), o.File, mode, args[1:], record, cmd.ErrOrStderr()); done || err != nil {
				return err
			}
			signals, stop := listen()
			defer stop()
			o.Signals = signals
			o.Stdin, o.Stdout, o.Stderr = os.Stdin, os.Stdout, os.Stderr
			if where != "" { // each connection is a client of its own
				return Listen(cmd.Context(), o, where)
			}
			if o.Session == AnySession {
				o.claims = claims(o.File, o.Client)
			}
			return Run(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Session, "session", "", "session in FILE: number, name, id, last, or any: the one that begins as the client does and that none of its other agents plays")
	f.StringVar(&o.Client, "client", "", "with --session any: `NAME` of whose agents share out the sessions; the process that starts them when not given")
	f.StringVar(&o.Dialect, "dialect", "", "read the frames by this `DIALECT`: a name, a table file, or a folder of tables")
	f.StringVar(&match, "match", "content", "how live frames must fit: exact, content, shape or kind")
	f.StringArrayVar(&o.Ignore, "ignore", nil, "path that may differ, such as params._meta.** (repeatable)")
	f.StringArrayVar(&o.IgnoreValue, "ignore-value", nil, "regular expression of values that may differ (repeatable)")
	f.Var(&labelFlag{rules: &o.Labels}, "label", "LABEL:match=LEVEL, LABEL:ignore=PATH or LABEL:ignore-value=REGEX: the same for frames of one label (repeatable)")
	f.StringArrayVar(&o.Bind, "bind", nil, "RECORDED=LIVE: a value and what takes its place (repeatable)")
	f.StringArrayVar(&o.Free, "free", nil, "label of client frames that nothing waits for (repeatable)")
	f.StringVar(&o.Order, "order", "cause", "cause, or recorded: every frame waits for all recorded before it")
	f.BoolVar(&o.AllowUnsent, "allow-unsent", false, "recorded frames that the client does not send are no divergence")
	f.BoolVar(&o.Update, "update", false, "accept changed frames of the client and write them into FILE")
	f.BoolVar(&o.Lookup, "lookup", false, "answer requests in any order, each as an equal one was answered (MCP servers)")
	f.StringVar(&o.Exhausted, "exhausted", "fail", "with --lookup, when a request comes more often than recorded: fail, last or cycle")
	f.StringVar(&pace, "pace", "fast", "fast, recorded, or xN for N times the recorded speed")
	f.DurationVar(&o.PaceCap, "pace-cap", 0, "longest pause with --pace, 0 for none")
	f.DurationVar(&o.Wait, "wait", 10*time.Second, "silence after which a stall is reported, 0 for never")
	f.StringVar(&o.Report, "report", "", "write the verdict to FILE.json, .xml or .tap, or into a directory, a file for each process")
	f.StringArrayVar(&faults, "fault", nil, "ACTION@FRAME: damage what is written there, such as cut@12 or delay=2s@event#3 (repeatable)")
	f.Uint64Var(&o.Seed, "seed", 1, "seed of what faults choose at random")
	f.BoolVar(&explain, "explain", false, "print what each frame waits for, binds and leaves open, and play nothing")
	f.BoolVar(&asJSON, "json", false, "with --explain: one JSON object a line")
	f.StringVar(&where, "listen", "", "HOST:PORT or unix:PATH: play to every client that connects there, until a signal")
	f.StringVar(&mode, "record", "once", "with CMD: once records a missing FILE, always, never")
	return cmd
}

func parseMatch(s string) (Level, error) {
	if l, ok := levelNames[s]; ok {
		return l, nil
	}
	return None, fmt.Errorf("--match %q is not known; use exact, content, shape or kind", s)
}

func reportExtensions() []string {
	var out []string
	for ext := range reportFormats {
		out = append(out, ext)
	}
	slices.Sort(out)
	return out
}
