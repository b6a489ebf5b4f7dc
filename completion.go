package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"agentrec/internal/dialect"
	"agentrec/internal/printable"
	"agentrec/internal/tape"

	"github.com/spf13/cobra"
)

// complete gives every command with --session or --dialect the words that can
// stand there, unless it has its own.
func complete(cmd *cobra.Command) {
	for name, fn := range map[string]cobra.CompletionFunc{"session": completeSession, "dialect": completeDialect} {
		if _, has := cmd.GetFlagCompletionFunc(name); !has && cmd.Flags().Lookup(name) != nil {
			// The error says that the flag is not there or has a function.
			_ = cmd.RegisterFlagCompletionFunc(name, fn)
		}
	}
	for _, sub := range cmd.Commands() {
		complete(sub)
	}
}

// completeSession lists the sessions of the recording that the words before
// name: by number, and by name where there is one.
func completeSession(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	file := os.Getenv("AGENTREC_DB")
	if s, err := findSettings(); err == nil && file == "" {
		if db, line := s.top("db"); line > 0 {
			file = db[0]
		}
	}
	if f := cmd.Flags().Lookup("db"); f != nil && f.Changed {
		file = f.Value.String()
	}
	if len(args) > 0 {
		file = args[0]
	}
	if file == "" {
		file = "session.db"
	}
	db, err := tape.Open(cmd.Context(), file)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer db.Close()
	list, err := db.Sessions(cmd.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	words := []string{"last\tthe newest"}
	for _, s := range list {
		about := fmt.Sprintf("%s, %d frames, %s", s.Started.Local().Format("2006-01-02 15:04"), s.Count(), printable.Line(s.Dialect))
		words = append(words, strconv.FormatInt(s.ID, 10)+"\t"+about)
		if name := s.Name; plainWord(name) {
			words = append(words, name+"\t"+about)
		}
	}
	return matching(words, word), cobra.ShellCompDirectiveNoFileComp
}

// plainWord reports whether a recorded name can be offered to a shell.
func plainWord(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(c rune) bool {
		return !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.ContainsRune("-_.,:+@%/", c))
	})
}

func completeDialect(_ *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
	return matching(dialect.Names(), word), cobra.ShellCompDirectiveDefault
}

func matching(words []string, word string) []string {
	var out []string
	for _, w := range words {
		if strings.HasPrefix(w, word) {
			out = append(out, w)
		}
	}
	return out
}
