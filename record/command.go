package record

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"agentrec/internal/address"
	"agentrec/internal/dialect"
	"agentrec/internal/redact"
	"agentrec/store"

	"github.com/spf13/cobra"
)

// Commands returns the commands of this package for the root command.
func Commands() []*cobra.Command { return []*cobra.Command{newProxy(), newShim()} }

func newProxy() *cobra.Command {
	var o Options
	var tags []string
	var route string
	cmd := &cobra.Command{
		Use:   "proxy [flags] {[--] CMD [ARGS...] | --listen ADDR --connect ADDR}",
		Short: "Run an agent and record what passes between it and its client",
		Long: `proxy runs CMD as the agent, passes its standard streams on unchanged and
records them. It prints nothing when all is well and leaves as the agent leaves.

With --listen and --connect it stands between clients and an agent on TCP or Unix
sockets instead, until it is interrupted; each connection becomes a session. An
address is HOST:PORT, :PORT for this machine only, or unix:PATH.

With --llm the requests that the agent sends to its model are recorded as well.
base-url sets the variables by which programs find a model's API (OPENAI_BASE_URL
and the like) to an address of agentrec's; a base URL that is set already, there
or in .env, is where the requests then go. mitm makes agentrec the agent's proxy,
with certificates that live as long as the session, for agents that ignore these
variables: requests to the known hosts of models, and to those that --llm-host
names (NAME, *.SUFFIX or address, with :PORT if only that is meant), are recorded,
everything else passes unread. Both reach the model by the proxy that agentrec's
own environment names, if any.

Exit statuses: the agent's own (it dies by the signal that ended the agent);
125 agentrec could not record, 126 CMD cannot be executed, 127 CMD was not found.`,
		Example: `  agentrec proxy -- phi serve
  agentrec proxy --db runs.db --name login --tag ci=1234 -- node agent.js --stdio
  agentrec proxy --llm base-url -- phi serve
  agentrec proxy --llm mitm --llm-host llm.example.com -- pi --mode rpc
  agentrec proxy --listen :7000 --connect 127.0.0.1:7001`,
		Args: cobra.ArbitraryArgs,
		PreRunE: func(cmd *cobra.Command, args []string) (err error) {
			o.Version, o.LLM, o.Argv = cmd.Root().Version, store.Route(route), args
			if err = o.checkAgent(); err != nil {
				return err
			}
			if o.Tags, err = parseTags(tags); err != nil {
				return err
			}
			if err := store.CheckName(o.Name); err != nil {
				return fmt.Errorf("--name: %w", err)
			}
			if err = o.checkLLM(); err != nil {
				return err
			}
			return o.check()
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.Listen != "" {
				ctx, stop := untilTerm(cmd.Context())
				defer stop()
				return Listen(ctx, o)
			}
			return Run(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.SetInterspersed(false)
	o.flags(cmd, &tags)
	f.StringVar(&o.Dialect, "dialect", "", "`DIALECT` of the agent, a table file, or a folder of tables; default: the first frames decide")
	f.StringVar(&route, "llm", "", "record model traffic by the `ROUTE` base-url or mitm")
	// The error says that the flag is not there.
	_ = cmd.RegisterFlagCompletionFunc("llm", cobra.FixedCompletions(
		[]string{"base-url\tby variables that name the model's API", "mitm\tas the agent's proxy"}, cobra.ShellCompDirectiveNoFileComp))
	f.StringArrayVar(&o.LLMHosts, "llm-host", nil, "`HOST` of a model, for mitm; may be repeated")
	f.StringVar(&o.Listen, "listen", "", "accept clients at `ADDR`")
	f.StringVar(&o.Connect, "connect", "", "connect them to the agent at `ADDR`")
	return cmd
}

// flags adds what every recorder takes.
func (o *Options) flags(cmd *cobra.Command, tags *[]string) {
	f := cmd.Flags()
	f.StringVar(&o.DB, "db", defaultDB(), "record into the database `FILE`; default $AGENTREC_DB")
	f.StringVar(&o.Name, "name", "", "name of the session")
	f.StringArrayVar(tags, "tag", nil, "tag of the session, `KEY=VALUE`; may be repeated")
	f.StringArrayVar(&o.Rules, "redact", nil, "regular expression `RULE`: what it matches is a secret; may be repeated")
	f.BoolVar(&o.NoRedact, "no-redact", false, "store secrets as they are; the session says so")
}

// checkAgent refuses what does not say where the agent is. It comes after the
// settings, which may name addresses.
func (o *Options) checkAgent() error {
	if o.Listen == "" && o.Connect == "" {
		if len(o.Argv) == 0 {
			return errors.New("name the agent's command, as in: agentrec proxy -- phi serve")
		}
		return nil
	}
	switch {
	case o.Listen == "" || o.Connect == "":
		return errors.New("--listen and --connect go together: agentrec proxy --listen ADDR --connect ADDR")
	case len(o.Argv) > 0:
		return errors.New("with --listen and --connect the agent runs already: leave CMD out")
	case o.LLM != "":
		return errors.New("with --listen and --connect the agent runs already: for --llm give its CMD, or see agentrec llm record")
	}
	if err := address.Check("listen", o.Listen); err != nil {
		return err
	}
	return address.Check("connect", o.Connect)
}

// check refuses a database, a dialect or a rule that cannot be used, and makes
// the name of a dialect's file good for any working directory.
func (o *Options) check() error {
	if o.DB == "" {
		return errors.New("--db: name a file, as in --db session.db")
	}
	if o.Dialect != "" {
		if _, err := dialect.LoadSet(o.Dialect); err != nil {
			return fmt.Errorf("--dialect: %w", err)
		}
		if _, err := dialect.Builtin(o.Dialect); err != nil {
			if o.Dialect, err = filepath.Abs(o.Dialect); err != nil {
				return fmt.Errorf("--dialect: %w", err)
			}
		}
	}
	if err := redact.CheckRules(o.Rules); err != nil {
		return fmt.Errorf("--redact: %w", err)
	}
	return nil
}

// untilTerm ends the context at TERM as well, and when the terminal goes away.
func untilTerm(ctx context.Context) (context.Context, context.CancelFunc) {
	list := []os.Signal{syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		list = append(list, syscall.SIGHUP)
	}
	return signal.NotifyContext(ctx, list...)
}

func defaultDB() string {
	if db := os.Getenv("AGENTREC_DB"); db != "" {
		return db
	}
	return "session.db"
}

func parseTags(list []string) (map[string]string, error) {
	if len(list) == 0 {
		return nil, nil
	}
	tags := map[string]string{}
	for _, tag := range list {
		key, value, ok := strings.Cut(tag, "=")
		if !ok || key == "" {
			return nil, fmt.Errorf("--tag %s: write --tag KEY=VALUE", tag)
		}
		tags[key] = value
	}
	return tags, nil
}
