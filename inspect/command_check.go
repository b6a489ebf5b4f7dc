package inspect

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"agentrec/internal/redact"

	"github.com/spf13/cobra"
)

func newCheck() *cobra.Command {
	var o checkOptions
	var level string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "check [FILE...]",
		Short: "Check recordings: are they whole, do they keep to their protocol, do they hold secrets",
		Long: `Check recordings, databases or text files; "-" reads one from stdin. Without
FILE, $AGENTREC_DB, or session.db in the working directory.

` + aboutCheckers() + `
With --only secrets FILE may be any file, so that this serves as a hook before
commits:

  agentrec check --only secrets $(git diff --cached --name-only --diff-filter=d)

Levels are note, warning and error; what is below --level is no finding. The
exit status is 1 when there is a finding. With --json, one object a line: file,
session, uid, seq, exchange, line, place, rule, level (also ok, for good news),
message, and more: how many like it are not listed.`,
		Example: `  agentrec check session.db
  agentrec check --only integrity --json session.db
  agentrec check --only secrets *.agentrec notes.txt
  agentrec check --format sarif session.db > findings.sarif`,
		PreRunE: func(*cobra.Command, []string) error {
			if asJSON {
				o.Format = formatJSON
			}
			if !slices.Contains(checkFormats, o.Format) {
				return fmt.Errorf("--format %s: want one of %s", visibleCut(o.Format, 40), strings.Join(checkFormats, ", "))
			}
			if o.Level = Level(level); !slices.Contains(levels[1:], o.Level) {
				return fmt.Errorf("--level %s: want note, warning or error", visibleCut(level, 40))
			}
			for _, name := range o.Only {
				if !slices.ContainsFunc(checkers, func(c checker) bool { return c.name == name }) {
					return fmt.Errorf("--only %s: want %s", visibleCut(name, 40), strings.Join(checkerNames(), ", "))
				}
			}
			return validRules(o.Rules)
		},
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if o.Files = args; len(args) == 0 {
				o.Files = []string{fileArg(nil)}
			}
			o.In, o.Out, o.Environ = cmd.InOrStdin(), cmd.OutOrStdout(), os.Environ()
			if o.DotEnv, err = readDotEnv(); err != nil {
				return err
			}
			return check(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&o.Only, "only", nil, "check only this: "+strings.Join(checkerNames(), ", "))
	f.StringVar(&level, "level", string(LevelWarning), "the least that is a finding: note, warning or error")
	f.StringVar(&o.Format, "format", formatText, "how to print: "+strings.Join(checkFormats, ", "))
	f.BoolVar(&asJSON, "json", false, "the same as --format json")
	f.StringArrayVar(&o.Rules, "rule", nil, "a regular expression; what it matches (or its first group) is a secret")
	dialectFlag(cmd, &o.Dialect)
	sessionFlag(cmd, &o.Session)
	colorFlag(cmd, &o.Color)
	return cmd
}

func aboutCheckers() string {
	var b strings.Builder
	for _, c := range checkers {
		fmt.Fprintf(&b, "  %-11s %s\n", c.name, strings.ReplaceAll(c.about, "\n", "\n"+strings.Repeat(" ", 14)))
	}
	return b.String()
}

func checkerNames() []string {
	var names []string
	for _, c := range checkers {
		names = append(names, c.name)
	}
	return names
}

// validRules refuses what is no rule of redaction.
func validRules(rules []string) error {
	if err := redact.CheckRules(rules); err != nil {
		return fmt.Errorf("--rule: %w", err)
	}
	return nil
}

// readDotEnv returns the .env file of the working directory, nil when there is
// none or it is no file that could be one.
func readDotEnv() ([]byte, error) {
	const most = 1 << 20
	info, err := os.Stat(".env")
	if errors.Is(err, fs.ErrNotExist) || err == nil && (!info.Mode().IsRegular() || info.Size() > most) {
		return nil, nil
	}
	b, err := os.ReadFile(".env")
	if errors.Is(err, fs.ErrPermission) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading .env: %w", err)
	}
	return b, nil
}
