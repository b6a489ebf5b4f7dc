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

--html writes one session as a page for a browser instead: its conversation,
timeline and LLM exchanges, with no script and nothing fetched from anywhere.

--har writes the LLM exchanges as an HTTP archive (HAR 1.2), a page a session;
_pieces has when each piece of an answer came, in ms, and its bytes.

--otlp writes spans for OpenTelemetry: a trace a session, in it an invoke_agent
span a turn, in those a span for each LLM exchange (chat, generate_content,
embeddings) and an execute_tool span a call. Attributes follow the GenAI
conventions of schema 1.41.0; what was said is in them with --content only.
Ids are made from the session's: exporting again makes no second copy. A file
gets one request a line (OTLP/JSON), "-" is stdout; http://HOST:PORT is a
collector, at /v1/traces unless the address has a path, with the header lines of
$OTEL_EXPORTER_OTLP_HEADERS; it is tried five times where it says to come again.`,
		Example: `  agentrec export session.db > run.agentrec
  agentrec export session.db --session last --onto run.agentrec -o run.agentrec
  agentrec export session.db --session last --html -o run.html
  agentrec export session.db --har -o run.har
  agentrec export session.db --otlp http://127.0.0.1:4318 --content`,
		Args: cobra.MaximumNArgs(1),
		PreRunE: func(*cobra.Command, []string) error {
			forms := 0
			for _, given := range []bool{o.HTML, o.HAR, o.OTLP != ""} {
				if given {
					forms++
				}
			}
			switch {
			case forms > 1:
				return errors.New("one form at a time: --html, --har or --otlp")
			case forms > 0 && o.Onto != "":
				return errors.New("--onto is about the text form: leave out --html, --har and --otlp")
			case o.OTLP != "" && o.Output != "":
				return errors.New("--otlp names the file itself: leave out -o")
			case (o.HAR || o.OTLP != "") && o.Strip:
				return errors.New("--strip-binary is about frames: leave out --har and --otlp")
			case o.Content && o.OTLP == "":
				return errors.New("--content is about spans: add --otlp FILE or an address")
			case isCollector(o.OTLP):
				_, err := newCollector(o.OTLP, "")
				return err
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			o.File, o.Out, o.Err, o.Environ = fileArg(args), cmd.OutOrStdout(), cmd.ErrOrStderr(), os.Environ()
			if o.DotEnv, err = readDotEnv(); err != nil {
				return err
			}
			o.Headers = os.Getenv(envOTLPHeaders)
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
	f.BoolVar(&o.HAR, "har", false, "write the LLM exchanges as an HTTP archive")
	f.StringVar(&o.OTLP, "otlp", "", "write spans to this file, to stdout (-) or to the collector at this address")
	f.BoolVar(&o.Content, "content", false, "with --otlp: tell what was said, too")
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
all. Secrets are taken out first, as proxy does, unless the session was recorded
with --no-redact. Prints number and name of each session; with --json, one
object each: id, uid, name, file.`,
		Example: `  agentrec import run.agentrec
  agentrec import --db all.db ci/*.agentrec`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Files, o.In, o.Out, o.Err, o.Environ = args, cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr(), os.Environ()
			var err error
			if o.DotEnv, err = readDotEnv(); err != nil {
				return err
			}
			if o.DB == "" {
				o.DB = fileArg(nil)
			}
			return importFiles(cmd.Context(), o)
		},
	}
	cmd.Flags().StringVar(&o.DB, "db", "", "the database (default $AGENTREC_DB, else session.db)")
	cmd.Flags().BoolVar(&o.JSON, "json", false, "print one JSON object a session")
	cmd.Flags().BoolVar(&o.NoRedact, "no-redact", false, "keep secrets as they are")
	return cmd
}
