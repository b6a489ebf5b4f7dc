package record

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
)

// Commands returns the commands of this package for the root command.
func Commands() []*cobra.Command { return []*cobra.Command{newProxy()} }

func newProxy() *cobra.Command {
	var o Options
	var tags []string
	cmd := &cobra.Command{
		Use:   "proxy [flags] [--] CMD [ARGS...]",
		Short: "Run an agent and record what passes between it and its client",
		Long: `proxy runs CMD as the agent, passes its standard streams on unchanged and
records them. It prints nothing when all is well and leaves as the agent leaves.

Exit statuses: the agent's own (it dies by the signal that ended the agent);
125 agentrec could not record, 126 CMD cannot be executed, 127 CMD was not found.`,
		Example: `  agentrec proxy -- phi serve
  agentrec proxy --db runs.db --name login --tag ci=1234 -- node agent.js --stdio`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("name the agent's command: agentrec proxy -- CMD ARGS...")
			}
			return nil
		},
		PreRunE: func(cmd *cobra.Command, _ []string) (err error) {
			o.Version = cmd.Root().Version
			o.Tags, err = parseTags(tags)
			return err
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Argv = args
			return Run(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.SetInterspersed(false)
	f.StringVar(&o.DB, "db", defaultDB(), "record into the database `FILE`; default $AGENTREC_DB")
	f.StringVar(&o.Name, "name", "", "name of the session")
	f.StringArrayVar(&tags, "tag", nil, "tag of the session, `KEY=VALUE`; may be repeated")
	f.StringVar(&o.Dialect, "dialect", "", "`DIALECT` of the agent or a table FILE; default: the first frames decide")
	f.StringArrayVar(&o.Rules, "redact", nil, "regular expression `RULE`: what it matches is a secret; may be repeated")
	f.BoolVar(&o.NoRedact, "no-redact", false, "store secrets as they are; the session says so")
	return cmd
}

func defaultDB() string {
	if db := os.Getenv("AGENTREC_DB"); db != "" {
		return db
	}
	return "session.db"
}

func parseTags(list []string) (map[string]string, error) {
	if len(list) == 0 {
		return nil, nil
	}
	tags := map[string]string{}
	for _, tag := range list {
		key, value, ok := strings.Cut(tag, "=")
		if !ok || key == "" {
			return nil, fmt.Errorf("--tag %s: write --tag KEY=VALUE", tag)
		}
		tags[key] = value
	}
	return tags, nil
}
