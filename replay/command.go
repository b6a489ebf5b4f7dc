// Package replay takes the agent's place and plays a recorded session to a client.
package replay

import "github.com/spf13/cobra"

// Commands returns the commands of this package for the root command.
func Commands() []*cobra.Command { return nil }
