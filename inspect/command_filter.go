package inspect

import (
	"agentrec/internal/transcript"

	"github.com/spf13/cobra"
)

// newFilterTopic is a page of help: agentrec help filter.
func newFilterTopic() *cobra.Command {
	return &cobra.Command{
		Use:   "filter",
		Short: "The language of --filter, one page",
		Long:  transcript.FilterHelp(),
	}
}
