// Package inspect is every look at a session: lists, views, exports, checks and the terminal UI.
//
//	recording ─ tape.Open ─► look (session, dialect) ─► transcript, frames
//	                                                        │ models: lines of spans, each in a tone
//	                                                        ├─► printer ─► stdout (ls, show, ...)
//	                                                        └─► pane    ─► screen (inspect)
//
// Recorded text is hostile; the two ends on the right are the only places
// where it leaves, and both escape it.
package inspect

import (
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"
)

// With is what the commands need from other packages on top.
type With struct{ Causes Causes }

// Commands returns the commands of this package for the root command.
func Commands(with With) []*cobra.Command {
	list := []*cobra.Command{
		newInspect(with.Causes),
		newLs(),
		newShow(),
		newCheck(),
		newRedact(),
		newRename(),
		newTag(),
		newRm(),
		newPrune(),
		newExport(),
		newImport(),
		newFilterTopic(),
		newDialect(),
		newGrep(),
		newStats(),
		newDiff(),
	}
	for _, cmd := range list {
		switch cmd.Name() {
		case "ls", "show", "check", "redact", "rm", "prune", "export", "import", "grep", "stats", "diff":
			showProgress(cmd)
		}
	}
	return list
}

// colorFlag adds --color to a command that prints for people.
func colorFlag(cmd *cobra.Command, color *string) {
	cmd.Flags().StringVar(color, "color", ColorAuto, "colour the output: auto, always or never")
	inner := cmd.PreRunE
	cmd.PreRunE = func(c *cobra.Command, args []string) error {
		if words := []string{ColorAuto, ColorAlways, ColorNever}; !slices.Contains(words, *color) {
			return fmt.Errorf("--color %s: want auto, always or never", visibleCut(*color, 40))
		}
		if inner != nil {
			return inner(c, args)
		}
		return nil
	}
}

// sessionFlag adds --session to a command that reads one session.
func sessionFlag(cmd *cobra.Command, session *string) {
	cmd.Flags().StringVar(session, "session", "", "which session: its number, name or id, or last")
}

// dialectFlag adds --dialect to a command that reads frames by their protocol.
func dialectFlag(cmd *cobra.Command, dialect *string) {
	cmd.Flags().StringVar(dialect, "dialect", "", "read the frames by this `DIALECT`: a name, a table file, or a folder of tables")
}

// fileArg returns the recording that a command's words name.
func fileArg(args []string) string { return fileOf(args, os.Getenv) }
