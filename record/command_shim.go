package record

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
)

func newShim() *cobra.Command {
	var o ShimOptions
	cmd := &cobra.Command{
		Use:   "shim PATH [--js] [--drop N] -- AGENTREC-ARGUMENTS...",
		Short: "Write an executable that runs agentrec in an agent's place",
		Long: `shim writes an executable to PATH for clients that accept only the path of a
program. It runs agentrec with the arguments after -- and then the client's own
arguments. A path in them should be absolute: the client decides where it runs.`,
		Example: `  # phi's Python SDK runs $PHI_PATH serve
  agentrec shim /tmp/phi -- proxy --db $PWD/session.db -- /usr/local/bin/phi
  PHI_PATH=/tmp/phi python app.py

  # pi's RpcClient runs node CLIPATH --mode rpc ...
  agentrec shim /tmp/pi.js --js -- proxy --db $PWD/session.db -- pi

  # the same client against the recording, whatever arguments it gives
  agentrec shim /tmp/phi --drop 1 -- replay $PWD/session.db`,
		Args: func(cmd *cobra.Command, args []string) error {
			dash := cmd.ArgsLenAtDash()
			switch {
			case dash < 0 || len(args) == dash:
				return errors.New("say what the shim runs: agentrec shim PATH -- proxy -- CMD")
			case dash != 1:
				return errors.New("name one path to write: agentrec shim PATH -- proxy -- CMD")
			case o.Drop < 0:
				return errors.New("--drop takes a number of arguments, 0 or more")
			}
			return nil
		},
		PreRunE: func(cmd *cobra.Command, args []string) error {
			if found, _, err := cmd.Root().Find(args[1:]); err != nil || found == cmd.Root() {
				return fmt.Errorf("agentrec has no command %s: what follows -- is what the shim runs, as in: agentrec shim PATH -- proxy -- phi serve", args[1])
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			self, err := os.Executable()
			if err != nil {
				return fmt.Errorf("find agentrec's own path: %w", err)
			}
			o.Path, o.Args, o.Self = args[0], args[1:], self
			return Shim(o)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.JS, "js", false, "write JavaScript, for clients that run node PATH")
	f.IntVar(&o.Drop, "drop", 0, "leave out the client's first `N` arguments")
	return cmd
}
