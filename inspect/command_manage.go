package inspect

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"agentrec/store"

	"github.com/spf13/cobra"
)

// manageCommand completes a command that changes a database: --db, where it
// prints, and the time.
func manageCommand(cmd *cobra.Command, o *manageOptions, run func(cmd *cobra.Command, args []string) error) *cobra.Command {
	cmd.Flags().StringVar(&o.DB, "db", "", "the database `FILE` (default $AGENTREC_DB, else session.db)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if o.DB == "" {
			o.DB = fileArg(nil)
		}
		o.Out, o.Err, o.Now = cmd.OutOrStdout(), cmd.ErrOrStderr(), time.Now()
		return run(cmd, args)
	}
	return cmd
}

// named refuses an empty SESSION, which is a variable that is not set and no
// wish for the only session there is.
func named(sessions []string) error {
	if slices.Contains(sessions, "") {
		return errors.New("a SESSION is empty: give its number, name or id, or last")
	}
	return nil
}

func newRm() *cobra.Command {
	var o manageOptions
	cmd := &cobra.Command{
		Use:   "rm SESSION...",
		Short: "Delete sessions of a database",
		Long: `Delete sessions: each by its number, its name if no other has it, its id, or
last. No byte of them is left
in the database or its log, unless another program has it open.

With --json, one object a session: id, uid, name, started, frames, exchanges,
bytes (of both), deleted.`,
		Example: `  agentrec rm 3 4
  agentrec rm --db runs.db last`,
		Args:    cobra.MinimumNArgs(1),
		PreRunE: func(_ *cobra.Command, args []string) error { return named(args) },
	}
	cmd.Flags().BoolVar(&o.DryRun, "dry-run", false, "only say what would be deleted")
	cmd.Flags().BoolVar(&o.JSON, "json", false, "print one JSON object a session")
	return manageCommand(cmd, &o, func(cmd *cobra.Command, args []string) error {
		o.Sessions = args
		return remove(cmd.Context(), o)
	})
}

func newPrune() *cobra.Command {
	var o manageOptions
	cmd := &cobra.Command{
		Use:   "prune",
		Short: "Delete old sessions of a database",
		Long: `Delete the sessions that are older than --older-than and not among the --keep
newest. At least one of the two must be given. What is being recorded stays.

With --json, one object a session: id, uid, name, started, frames, exchanges,
bytes (of both), deleted.`,
		Example: `  agentrec prune --older-than 30d
  agentrec prune --keep 20 --dry-run`,
		Args: cobra.NoArgs,
		PreRunE: func(cmd *cobra.Command, _ []string) error {
			if o.Keep < 0 {
				return fmt.Errorf("--keep %d: want a number of sessions", o.Keep)
			}
			if !cmd.Flags().Changed("keep") && !cmd.Flags().Changed("older-than") {
				return errors.New("say what may go: --older-than 30d, --keep 20, or both")
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.Var(&o.Older, "older-than", "those that began longer ago, such as 12h, 30d or 2w")
	f.IntVar(&o.Keep, "keep", 0, "not the newest `N`")
	f.BoolVar(&o.DryRun, "dry-run", false, "only say what would be deleted")
	f.BoolVar(&o.JSON, "json", false, "print one JSON object a session")
	return manageCommand(cmd, &o, func(cmd *cobra.Command, _ []string) error { return prune(cmd.Context(), o) })
}

func newRename() *cobra.Command {
	var o manageOptions
	return manageCommand(&cobra.Command{
		Use:   "rename SESSION NAME",
		Short: "Give a session another name",
		Long:  "Give a session another name; an empty NAME takes it away.",
		Example: `  agentrec rename 3 login
  agentrec rename --db runs.db last "two tools at once"`,
		Args: cobra.ExactArgs(2),
		PreRunE: func(_ *cobra.Command, args []string) error {
			return cmp.Or(named(args[:1]), store.CheckName(args[1]))
		},
	}, &o, func(cmd *cobra.Command, args []string) error {
		o.Sessions, o.Name = args[:1], args[1]
		return rename(cmd.Context(), o)
	})
}

func newTag() *cobra.Command {
	var o manageOptions
	cmd := &cobra.Command{
		Use:   "tag SESSION [KEY=VALUE...]",
		Short: "Set, remove and list the tags of a session",
		Example: `  agentrec tag 3 ci=1234 flaky=yes
  agentrec tag 3 --remove flaky
  agentrec tag last`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("name the session: agentrec tag SESSION KEY=VALUE")
			}
			if err := named(args[:1]); err != nil {
				return err
			}
			for _, pair := range args[1:] {
				if key, _, ok := strings.Cut(pair, "="); !ok || key == "" {
					return fmt.Errorf("%s: want KEY=VALUE", visibleCut(pair, 40))
				}
			}
			return nil
		},
	}
	cmd.Flags().StringArrayVar(&o.Remove, "remove", nil, "take the tag `KEY` away (repeatable)")
	cmd.Flags().BoolVar(&o.JSON, "json", false, "print the tags as one JSON object")
	return manageCommand(cmd, &o, func(cmd *cobra.Command, args []string) error {
		o.Sessions, o.Set = args[:1], args[1:]
		return tag(cmd.Context(), o)
	})
}
