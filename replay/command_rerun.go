package replay

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

func rerunCommand(with With) *cobra.Command {
	o := RerunOptions{Version: with.Version, Onto: with.Onto}
	var unknown, pace string
	cmd := &cobra.Command{
		Use:   "rerun FILE... [flags] -- CMD ARGS...",
		Short: "Take the client's place: run the real agent again against recordings",
		Long: `rerun is replay turned round. It starts the agent CMD, sends it what the
recorded client sent, each frame when the agent has answered what it had
answered by then, answers the agent's requests and tool calls from the
recording (by tool and arguments, then in turn), and compares what the agent
sends with what was recorded: texts joined over deltas, calls and results, the
ends of turns, errors. What a dialect calls volatile, or a race, does not count.

The model is mocked by the exchanges of the recording (proxy --llm), by the route
they were recorded by; a request that they do not hold, and one that the agent
does not make any more, is a divergence. With --model live it is the real one; a
recording without exchanges needs that, or an agent without a model.

The agent starts in an empty temporary directory, or in that of --dir; the
recorded working directory stands for it. Tools that the agent runs itself run
again, for real: a recording with such calls needs --real-tools. A call that the
recording does not hold is a divergence and is answered with an error, or with
the text of --unknown-call.

It leaves with 0 when all was as recorded, with 3 when it was not, with 4 when
a recording cannot be used, and with 126 or 127 when CMD cannot be started.`,
		Example: `  agentrec rerun session.db -- phi serve --bridge
  agentrec rerun tests/*.agentrec -j 4 --report rerun.xml -- ./my-agent
  agentrec rerun weather.agentrec --runs 5 -- ./my-agent`,
		Args: func(cmd *cobra.Command, args []string) error {
			switch dash := cmd.ArgsLenAtDash(); {
			case dash < 0:
				return fmt.Errorf("rerun needs the agent's command; write agentrec rerun FILE -- CMD ARGS")
			case dash == 0:
				return fmt.Errorf("rerun needs a recording; write agentrec rerun FILE -- CMD ARGS")
			case dash == len(args):
				return fmt.Errorf("rerun needs the agent's command behind --; write agentrec rerun FILE -- CMD ARGS")
			}
			return nil
		},
		PreRunE: func(_ *cobra.Command, _ []string) error {
			if unknown != "error" {
				o.Decline = unknown
			}
			if err := checkModel(o.Model); err != nil {
				return err
			}
			var err error
			if o.Pace, err = ParsePace(pace); err != nil {
				return err
			}
			if o.Runs < 1 || o.Jobs < 1 {
				return fmt.Errorf("--runs and --jobs begin with 1")
			}
			if o.Runs > 1 && o.Update {
				return fmt.Errorf("--update takes one run; leave --runs out")
			}
			if err := checkBinds(o.Bind); err != nil {
				return err
			}
			return checkReport(o.Report)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			dash := cmd.ArgsLenAtDash()
			o.Files, o.Argv, o.Stderr = args[:dash], args[dash:], os.Stderr
			return Rerun(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Session, "session", "", "session in each FILE: number, name, id or last")
	f.StringVar(&o.Dialect, "dialect", "", "dialect by name or table file, instead of the recorded one")
	f.StringArrayVar(&o.Ignore, "ignore", nil, "path that may differ, such as result.agentInfo.** (repeatable)")
	f.StringArrayVar(&o.Bind, "bind", nil, "RECORDED=LIVE: a value and what takes its place, a redacted one too (repeatable)")
	f.StringVar(&o.Dir, "dir", "", "start the agent here, instead of in an empty temporary directory")
	f.BoolVar(&o.RealTools, "real-tools", false, "let the agent run its own tools again")
	f.StringVar(&o.Model, "model", ModelMock, "mock: the model's recorded answers, or live: the real model")
	f.StringVar(&pace, "pace", "fast", "of the mocked model: fast (with pauses of 1 ms at most), recorded, or xN for N times the recorded speed")
	f.BoolVar(&o.Unsent, "allow-unsent", false, "recorded exchanges that the agent does not ask for are no divergence")
	f.StringVar(&unknown, "unknown-call", "error", "what a call that was not recorded is answered with: error, or this text")
	f.DurationVar(&o.Wait, "wait", 10*time.Second, "silence of the agent after which it is given up, 0 for never")
	f.StringVar(&o.Report, "report", "", "write the verdicts to FILE.json, .xml or .tap, or into a directory, a file for each")
	f.BoolVar(&o.Update, "update", false, "accept what the agent sends now and write it into FILE")
	f.StringVar(&o.Keep, "keep", "", "store each rerun in this database, as a session that names the recorded one as its parent")
	f.IntVarP(&o.Jobs, "jobs", "j", 1, "how many recordings to run at a time")
	f.IntVar(&o.Runs, "runs", 1, "run each recording so many times and tell what is unstable")
	f.BoolVarP(&o.Verbose, "verbose", "v", false, "pass the agent's stderr on as it comes")
	return cmd
}

func checkModel(name string) error {
	if name != ModelMock && name != ModelLive {
		return fmt.Errorf("--model %q is not known; use mock or live", name)
	}
	return nil
}

// checkBinds refuses what is no RECORDED=LIVE.
func checkBinds(list []string) error {
	for _, b := range list {
		if recorded, _, ok := strings.Cut(b, "="); !ok || recorded == "" {
			return fmt.Errorf("--bind %q is no binding; write RECORDED=LIVE", b)
		}
	}
	return nil
}

// checkReport refuses a report whose format the name does not tell.
func checkReport(where string) error {
	if ext := filepath.Ext(where); where != "" && ext != "" && reportFormats[ext] == nil {
		if info, err := os.Stat(where); err != nil || !info.IsDir() {
			return fmt.Errorf("--report %s: end the name in one of %s, or name a directory", where, strings.Join(reportExtensions(), ", "))
		}
	}
	return nil
}
