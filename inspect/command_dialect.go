package inspect

import (
	"errors"
	"strings"

	"agentrec/internal/dialect"

	"github.com/spf13/cobra"
)

func newDialect() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "dialect",
		Short: "See, check and write the tables that say how a protocol is read",
		Long: `A dialect is a table that says how the frames of one protocol are read. These
commands show the built-in ones and help to write one for a protocol of your own,
which any command then takes by --dialect FILE.`,
		Example: `  agentrec dialect draft session.db > my.yaml
  agentrec dialect check my.yaml
  agentrec dialect test my.yaml session.db
  agentrec show --dialect my.yaml session.db`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newDialectList(), newDialectShow(), newDialectCheck(), newDialectDraft(), newDialectTest())
	return cmd
}

func newDialectList() *cobra.Command {
	var o dialectOptions
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the built-in dialects",
		Long:    "List the built-in dialects. With --json, one object a line: name, title, version, families.",
		Example: "  agentrec dialect list",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Out = cmd.OutOrStdout()
			return dialectList(o)
		},
	}
	o.flags(cmd)
	return cmd
}

func newDialectShow() *cobra.Command {
	var o dialectOptions
	cmd := &cobra.Command{
		Use:   "show [NAME | FILE]",
		Short: "Show what a table says, family by family",
		Long: `Show what a table says: what the protocol is, how its lanes go, what its clients
can take, and one line for each family. --source prints the table itself, --schema
the JSON Schema of all tables, for editors. With --json, one object a line: stream,
family, role, class, shows, when, flags, doc.`,
		Example: `  agentrec dialect show acp
  agentrec dialect show phi --source > my.yaml`,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case o.Schema && len(args) == 0:
				return nil
			case len(args) != 1:
				return errors.New("name one dialect, or a table file: agentrec dialect show acp")
			}
			return nil
		},
		ValidArgs: dialect.Names(),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Name, o.Out = strings.Join(args, ""), cmd.OutOrStdout()
			return dialectShow(o)
		},
	}
	cmd.Flags().BoolVar(&o.Source, "source", false, "print the table itself")
	cmd.Flags().BoolVar(&o.Schema, "schema", false, "print the JSON Schema of tables")
	o.flags(cmd)
	cmd.MarkFlagsMutuallyExclusive("source", "schema", "json")
	return cmd
}

func newDialectCheck() *cobra.Command {
	var o dialectOptions
	cmd := &cobra.Command{
		Use:   "check FILE",
		Short: "Check a table of your own",
		Long: `Check a table: is it sound, and is there a family that no frame can reach. Exit
status 1 when something is wrong. With --json, one object a line: file, level, message.`,
		Example: "  agentrec dialect check my.yaml",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Name, o.Out = args[0], cmd.OutOrStdout()
			return dialectCheck(o)
		},
	}
	o.flags(cmd)
	return cmd
}

func newDialectDraft() *cobra.Command {
	var o dialectOptions
	cmd := &cobra.Command{
		Use:   "draft [RECORDING]",
		Short: "Propose a table from a recording",
		Long: `Propose a table from a recording: what tells the kinds of frames apart, the kinds,
the ids (values first seen on one side and echoed by the other), what answers what,
the text that streams, and the places that differ from run to run. It is a start:
every line is a guess.`,
		Example: "  agentrec dialect draft session.db > my.yaml",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.File, o.Out = fileArg(args), cmd.OutOrStdout()
			return dialectDraft(cmd.Context(), o)
		},
	}
	sessionFlag(cmd, &o.Session)
	return cmd
}

func newDialectTest() *cobra.Command {
	var o dialectOptions
	cmd := &cobra.Command{
		Use:   "test TABLE [RECORDING]",
		Short: "See how a table reads a recording",
		Long: `See how a table reads a recording: how many frames of each family, what it pairs,
and what it leaves over: frames that no family fits, responses that answer nothing,
requests without an answer. TABLE is a file or the name of a built-in dialect. Exit
status 1 when frames fit no family or responses answer nothing. With --json, one
object a line: "family" (stream, family, label, role, frames, paired) or "left"
(seq, why, label).`,
		Example: `  agentrec dialect test my.yaml session.db
  agentrec dialect test acp session.db --json`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Name, o.File, o.Out = args[0], fileArg(args[1:]), cmd.OutOrStdout()
			return dialectTest(cmd.Context(), o)
		},
	}
	sessionFlag(cmd, &o.Session)
	o.flags(cmd)
	return cmd
}

func (o *dialectOptions) flags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&o.JSON, "json", false, "print JSON, one object a line")
	colorFlag(cmd, &o.Color)
}
