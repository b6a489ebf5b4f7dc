// Package record runs an agent behind a transparent proxy and records what passes.
package record

import "github.com/spf13/cobra"

// Commands returns the commands of this package for the root command.
func Commands() []*cobra.Command { return nil }
