// Package inspect is every look at a session: lists, views, exports, checks and the terminal UI.
package inspect

import "github.com/spf13/cobra"

// Commands returns the commands of this package for the root command.
func Commands() []*cobra.Command {
	return []*cobra.Command{
		newFilterTopic(),
	}
}
