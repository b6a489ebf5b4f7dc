// Command agentrec records, replays and shows conversations between a client
// and an agent server that speaks one JSON object a line.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"time"

	"agentrec/inspect"
	"agentrec/internal/printable"
	"agentrec/record"
	"agentrec/replay"
	"agentrec/store"

	"github.com/spf13/cobra"
)

// The exit statuses of every command; proxy passes the child's on.
const (
	exitFindings   = 1
	exitUsage      = 2
	exitDivergence = 3
	exitUnusable   = 4
)

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	ran := false
	root := newRoot(&ran)
	root.SetArgs(args)
	ctx := context.Background()
	if !signal.Ignored(os.Interrupt) { // what was ignored when we started stays so, for an agent too
		var stop context.CancelFunc
		ctx, stop = signal.NotifyContext(ctx, os.Interrupt)
		defer stop()
	}
	cmd, err := root.ExecuteContextC(ctx)

	var exit store.Exit
	var failed record.Failure
	var findings inspect.Findings
	var divergence replay.Divergence
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return leave(exit)
	case errors.As(err, &findings):
		return exitFindings
	case errors.As(err, &divergence):
		return exitDivergence
	}
	message := printable.Lines(strings.TrimSpace(err.Error()))
	if !ran && !errors.As(err, &failed) {
		if !strings.Contains(message, "\n") && !strings.Contains(message, "agentrec ") { // says nothing yet that can be typed
			message += "; see " + cmd.CommandPath() + " --help"
		}
		fmt.Fprintf(os.Stderr, "agentrec: %s\n", message)
		return exitUsage
	}
	fmt.Fprintf(os.Stderr, "agentrec: %s\n", message)
	if errors.As(err, &failed) {
		return failed.Status
	}
	return exitUnusable
}

// newRoot assembles the commands. ran is set once a command starts its work:
// what fails before that is wrong usage.
func newRoot(ran *bool) *cobra.Command {
	root := &cobra.Command{
		Use:   "agentrec",
		Short: "Record, replay and inspect conversations with agents that speak NDJSON",
		Example: `  agentrec proxy -- phi serve         record what passes into session.db
  agentrec replay session.db          take the agent's place in a test
  agentrec show session.db            read the conversation`,
		Long: `agentrec sits between a client and an agent server that speaks one JSON object
a line, records what passes, plays it back later and shows what happened.

Exit statuses:
  0        fine
  1        findings or differences
  2        wrong usage
  3        the live side diverged from the recording
  4        the recording cannot be used
  proxy and replay leave as the agent left; 125, 126 and 127 are proxy's own
  failures (125 its own, 126 the agent is not executable, 127 not found).

Flags may also stand in variables (AGENTREC_DB for --db) and in .agentrec.yaml;
see agentrec help settings.`,
		Version:       version(),
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetVersionTemplate("agentrec {{.Version}}\n")
	for _, list := range [][]*cobra.Command{record.Commands(), replay.Commands(replay.With{Record: recordInto, Onto: inspect.Onto, Version: version()}), inspect.Commands(inspect.With{Causes: replay.Causes})} {
		root.AddCommand(list...)
	}
	root.AddCommand(newLLM(record.LLMCommands(), replay.LLMCommands()))
	root.AddCommand(&cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "agentrec %s\n", version())
			return err
		},
	})
	root.AddCommand(newSettingsTopic())
	complete(root)
	helpFor(root)
	speak(root)
	mark(root, ran)
	return root
}

// newLLM is the parent of the commands that need no agent.
func newLLM(lists ...[]*cobra.Command) *cobra.Command {
	llm := &cobra.Command{
		Use:   "llm",
		Short: "Record and serve the model traffic of programs that speak no NDJSON",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	for _, list := range lists {
		llm.AddCommand(list...)
	}
	return llm
}

// helpFor makes "agentrec help NOSUCH" and "agentrec completion NOSUCH" wrong
// usage, which cobra takes for a wish to see the whole help.
func helpFor(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "help":
			cmd.Args = func(_ *cobra.Command, args []string) error {
				_, rest, err := root.Find(args)
				if err == nil && len(rest) > 0 {
					err = fmt.Errorf("there is no help for %q below agentrec %s", rest[0], strings.Join(args[:len(args)-len(rest)], " "))
				}
				return err
			}
		case "completion":
			cmd.Args = cobra.NoArgs
			cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		}
	}
}

// recordInto is how replay records a missing file. The file is of use only
// whole, so the recorder stays until it has stored all of the session.
func recordInto(ctx context.Context, file string, argv []string) error {
	return record.Run(ctx, record.Options{DB: file, Argv: argv, Version: version(), Patience: time.Minute})
}

// mark wraps every command so that its settings are applied before it looks at
// its flags, and ran is set when it begins.
func mark(cmd *cobra.Command, ran *bool) {
	if inner := cmd.RunE; inner != nil {
		check := cmd.PreRunE
		cmd.PreRunE = func(c *cobra.Command, args []string) error {
			if err := applySettings(c); err != nil || check == nil {
				return err
			}
			return check(c, args)
		}
		cmd.RunE = func(c *cobra.Command, args []string) error {
			*ran = true
			return inner(c, args)
		}
	}
	for _, sub := range cmd.Commands() {
		mark(sub, ran)
	}
}

func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}
