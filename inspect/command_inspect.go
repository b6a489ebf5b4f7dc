package inspect

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"
)

func newInspect(causes Causes) *cobra.Command {
	o := inspectOptions{Causes: causes}
	cmd := &cobra.Command{
		Use:   "inspect [FILE]",
		Short: "Look at sessions in the terminal",
		Long: `Look at sessions in the terminal: a list of sessions; of each a timeline, the
conversation, the frames, what check finds and the LLM exchanges; of each frame
its tree, text and bytes, and what a replay waits for before it sends it; two
sessions side by side. ? lists the keys of a view, : runs a command by its name,
q leaves. A session that is being recorded grows on the screen.

FILE is a database or a text file; without it, $AGENTREC_DB, or session.db in the
working directory. When stdout is no terminal, it prints what show prints.`,
		Example: `  agentrec inspect
  agentrec inspect session.db --session last`,
		Args: cobra.MaximumNArgs(1),
		PreRunE: func(*cobra.Command, []string) error {
			if themes := []string{"auto", themeDark, themeLight, themeMono}; !slices.Contains(themes, o.Theme) {
				return fmt.Errorf("--theme %s: want auto, dark, light or mono", visibleCut(o.Theme, 40))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.File, o.Out = fileArg(args), cmd.OutOrStdout()
			return runInspect(cmd.Context(), o)
		},
	}
	sessionFlag(cmd, &o.Session)
	dialectFlag(cmd, &o.Dialect)
	cmd.Flags().StringVar(&o.Theme, "theme", "auto", "auto, dark, light or mono")
	colorFlag(cmd, &o.Color)
	return cmd
}
