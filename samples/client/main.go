// Command client is a small client of phi's bridge, version 1, as an SDK would
// be: it starts an agent server, registers a tool, runs two turns, answers the
// tool calls and prints the conversation.
//
//	go run ./samples/client -- phi serve
//	go run ./samples/client -- agentrec proxy -- phi serve
//
// It leaves with 1 when the agent breaks the protocol, answers with an error or
// leaves with another status than 0, and with 2 for wrong usage. Some flags
// make it misbehave, to see what a replay says about a changed client.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// options is what the flags say.
type options struct {
	prompts   []string
	session   string
	result    string
	key       string
	copy      string
	skipTool  bool
	extra     bool
	terminate bool
	timeout   time.Duration
	agent     []string
}

func main() {
	opts, err := parse(os.Args[1:], os.Stderr)
	if err != nil {
		os.Exit(2)
	}
	if err := run(opts, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "sample client:", err)
		os.Exit(1)
	}
}

// parse reads the command line and says on help what is wrong with it.
func parse(args []string, help io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("client", flag.ContinueOnError)
	flags.SetOutput(help)
	flags.Usage = func() {
		fmt.Fprintln(help, "usage: client [flags] -- AGENT ARGS...")
		flags.PrintDefaults()
	}
	flags.Func("prompt", "`text` to run as a turn; may be given several times", func(text string) error {
		o.prompts = append(o.prompts, text)
		return nil
	})
	flags.StringVar(&o.session, "session", "demo", "`name` of the conversation")
	flags.StringVar(&o.result, "result", "", "`text` to answer every tool call with, instead of the weather")
	flags.StringVar(&o.key, "api-key", "sample-key-0123456789", "`key` to send along with every run")
	flags.StringVar(&o.copy, "copy", "", "`file` to copy every byte of the agent to")
	flags.BoolVar(&o.skipTool, "skip-tool", false, "never answer a tool call")
	flags.BoolVar(&o.extra, "extra-request", false, "create a second conversation before the last turn")
	flags.BoolVar(&o.terminate, "terminate", false, "end the agent with TERM, not by closing its input")
	flags.DurationVar(&o.timeout, "timeout", 30*time.Second, "kill the agent after this `time`")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if o.agent = flags.Args(); len(o.agent) == 0 {
		fmt.Fprintln(help, "sample client: no agent to start; say: client -- AGENT ARGS...")
		return o, flag.ErrHelp
	}
	if len(o.prompts) == 0 {
		o.prompts = []string{"Make a plan and count these words", "What is the weather in Oslo?"}
	}
	return o, nil
}

// run starts the agent, holds the conversation and ends the agent. What the
// agent wrote to stderr is part of the error, and not shown otherwise.
func run(o options, out io.Writer) error {
	ctx, cancel := context.WithTimeout(context.Background(), o.timeout)
	defer cancel()
	var stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, o.agent[0], o.agent[1:]...)
	cmd.Stderr = &stderr
	cmd.WaitDelay = 2 * time.Second
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	from := io.Reader(stdout)
	if o.copy != "" {
		file, err := os.Create(o.copy)
		if err != nil {
			return err
		}
		defer file.Close()
		from = io.TeeReader(stdout, file)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting the agent: %w", err)
	}

	c := newConversation(from, stdin, out)
	err = c.hold(o)
	if o.terminate && cmd.Process.Signal(syscall.SIGTERM) != nil {
		cmd.Process.Kill() // where there is no TERM
	}
	stdin.Close()
	if rest := c.drain(); err == nil {
		err = rest
	}
	left := cmd.Wait()
	switch {
	case ctx.Err() != nil:
		err = fmt.Errorf("no end after %v", o.timeout)
	case left != nil && !o.terminate && err == nil:
		err = fmt.Errorf("the agent left with %w", left)
	case left != nil && !o.terminate:
		err = fmt.Errorf("%w; the agent left with %w", err, left)
	}
	if said := strings.TrimSpace(stderr.String()); err != nil && said != "" {
		err = fmt.Errorf("%w; the agent's stderr:\n%s", err, said)
	}
	return err
}
