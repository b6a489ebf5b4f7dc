package record

import (
	"fmt"

	"agentrec/store"

	"github.com/spf13/cobra"
)

// LLMCommands returns the commands of this package that stand below llm.
func LLMCommands() []*cobra.Command { return []*cobra.Command{newLLMRecord()} }

func newLLMRecord() *cobra.Command {
	var o Options
	var tags []string
	cmd := &cobra.Command{
		Use:   "record --upstream URL [--listen ADDR]",
		Short: "Record the requests of any program to a model",
		Long: `record stands between programs and one model's API, forwards their requests and
records them as one session until it is interrupted. The base URL to give to the
programs stands on stderr: a free port of this machine and a path that nobody can
guess or, with --listen, just that address and the path of the URL.

A program that is started here needs no address: agentrec proxy --llm base-url.`,
		Example: `  agentrec llm record --upstream https://api.openai.com/v1
  agentrec llm record --upstream http://127.0.0.1:11434 --listen :8080 --db ollama.db`,
		Args: cobra.NoArgs,
		PreRunE: func(cmd *cobra.Command, _ []string) (err error) {
			o.Version = cmd.Root().Version
			if o.Tags, err = parseTags(tags); err != nil {
				return err
			}
			if err = store.CheckName(o.Name); err != nil {
				return fmt.Errorf("--name: %w", err)
			}
			if err = o.checkUpstream(); err != nil {
				return err
			}
			return o.check()
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := untilTerm(cmd.Context())
			defer stop()
			return ListenLLM(ctx, o)
		},
	}
	f := cmd.Flags()
	o.flags(cmd, &tags)
	f.StringVar(&o.Upstream, "upstream", "", "forward requests to the API at `URL`")
	f.StringVar(&o.Listen, "listen", "", "accept requests at `ADDR`")
	return cmd
}
