package inspect

import (
	"os"

	"github.com/spf13/cobra"
)

func newRedact() *cobra.Command {
	var o redactOptions
	cmd := &cobra.Command{
		Use:   "redact FILE...",
		Short: "Take secrets out of recordings and other files",
		Long: `Take secrets out of FILE: what check --only secrets finds, what --rule matches,
and all that was found once wherever it stands. Each becomes a token; equal
secrets become equal tokens, and everything else stays as it is.

A session that changes counts as edited. No old byte is left in the database or
its log; that fails while another program has the database open. Text files and
files that are no recording are replaced whole.

With --json, one object a session or file: file, session, frames and exchanges
(that changed), changed.`,
		Example: `  agentrec redact session.db
  agentrec redact --rule 'CUST-\d{6}' run.agentrec`,
		Args:    cobra.MinimumNArgs(1),
		PreRunE: func(*cobra.Command, []string) error { return validRules(o.Rules) },
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			o.Files, o.Out, o.Environ = args, cmd.OutOrStdout(), os.Environ()
			if o.DotEnv, err = readDotEnv(); err != nil {
				return err
			}
			return redactFiles(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&o.Rules, "rule", nil, "a regular expression; what it matches (or its first group) is a secret")
	f.StringVar(&o.Session, "session", "", "only this session: its number, name or id, or last")
	dialectFlag(cmd, &o.Dialect)
	f.BoolVar(&o.JSON, "json", false, "print one JSON object a session")
	return cmd
}
