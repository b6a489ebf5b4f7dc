package inspect

import (
	"errors"
	"os"

	"github.com/spf13/cobra"
)

func newExport() *cobra.Command {
	var o exportOptions
	cmd := &cobra.Command{
		Use:   "export FILE",
		Short: "Write sessions as text, for git and for other people",
		Long: `Write sessions in the text form: a header line, then one array a line for each
frame and event, then the proof. It holds all there is; import reads it back,
and every command that takes a recording takes it.

--onto OLD keeps each line of OLD whose frame says the same in this recording:
equal but for what the dialect calls volatile, and for ids that were minted
anew. So recording again makes a small diff. What is not in OLD is written with
the ids that OLD has. Secrets that the recording still holds are taken out, and
tokens get numbers: <redacted:api_key:1>. Number, host and start of the session stand in the header.

--strip-binary leaves a description in the place of base64 data, such as
"<image/png, cat.png, 12 kB>"; frames over 64 MB stay as they are.

--html writes one session as a page for a browser instead: its conversation and
timeline, with no script and nothing fetched from anywhere.`,
		Example: `  agentrec export session.db > run.agentrec
  agentrec export session.db --session last --onto run.agentrec -o run.agentrec
  agentrec export session.db --session last --html -o run.html`,
		Args: cobra.MaximumNArgs(1),
		PreRunE: func(*cobra.Command, []string) error {
			if o.HTML && o.Onto != "" {
				return errors.New("--onto is about the text form: leave out --html")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			o.File, o.Out, o.Err, o.Environ = fileArg(args), cmd.OutOrStdout(), cmd.ErrOrStderr(), os.Environ()
			if o.DotEnv, err = readDotEnv(); err != nil {
				return err
			}
			return export(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	dialectFlag(cmd, &o.Dialect)
	f.StringVar(&o.Session, "session", "", "only this session: its number, name or id, or last")
	f.BoolVar(&o.NoRedact, "no-redact", false, "leave secrets in that the recording still holds")
	f.StringVar(&o.Onto, "onto", "", "keep the lines of this text file that say the same")
	f.BoolVar(&o.Strip, "strip-binary", false, "write what images, documents and sounds are, not their bytes")
	f.BoolVar(&o.HTML, "html", false, "write one session as a page for a browser")
	f.StringVarP(&o.Output, "output", "o", "", "write this file, not stdout")
	return cmd
}

func newImport() *cobra.Command {
	var o importOptions
	cmd := &cobra.Command{
		Use:   "import FILE...",
		Short: "Read sessions into a database",
		Long: `Read sessions into a database: from text files, from other databases, and from
the logs of simple line tees, one object a line with "dir" (c2s, s2c or err),
"line" and perhaps "t_ms". "-" reads stdin. Each file comes in whole or not at
all. Prints number and name of each session; with --json, one object each: id,
uid, name, file.`,
		Example: `  agentrec import run.agentrec
  agentrec import --db all.db ci/*.agentrec`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Files, o.In, o.Out = args, cmd.InOrStdin(), cmd.OutOrStdout()
			if o.DB == "" {
				o.DB = fileArg(nil)
			}
			return importFiles(cmd.Context(), o)
		},
	}
	cmd.Flags().StringVar(&o.DB, "db", "", "the database (default $AGENTREC_DB, else session.db)")
	cmd.Flags().BoolVar(&o.JSON, "json", false, "print one JSON object a session")
	return cmd
}
