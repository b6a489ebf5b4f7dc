package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"agentrec": func() { os.Exit(run(os.Args[1:])) },
	})
}

// TestScripts runs testdata/script/*.txtar over the real binary. The sample
// programs stand on PATH as sample-agent and sample-client, $SAMPLES is samples/,
// $HOSTILE a name that is no friend of terminals.
func TestScripts(t *testing.T) {
	bin := t.TempDir()
	buildSamples(t, bin)
	samples, err := filepath.Abs("samples")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("PATH", bin+string(os.PathListSeparator)+env.Getenv("PATH"))
			env.Setenv("NO_COLOR", "1")
			env.Setenv("SAMPLES", samples)
			env.Setenv("HOSTILE", "a\x1b[31m\u202eb")
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"status": status,
		},
	})
}

// status runs a program and demands its exact exit status: status 3 agentrec
// replay x.agentrec. Its stdout and stderr are kept for the next commands;
// "status -stdin FILE N CMD..." gives it a standard input.
func status(ts *testscript.TestScript, neg bool, args []string) {
	stdin := ""
	if len(args) > 2 && args[0] == "-stdin" {
		stdin, args = args[1], args[2:]
	}
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status [-stdin FILE] N CMD ARGS...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	path, err := lookPath(ts.Getenv("PATH"), args[1])
	ts.Check(err)
	cmd := exec.Command(path, args[2:]...)
	cmd.Dir = ts.Getenv("PWD")
	if cmd.Dir == "" {
		cmd.Dir = ts.MkAbs(".")
	}
	cmd.Env = scriptEnv(ts)
	if stdin != "" {
		f, err := os.Open(ts.MkAbs(stdin))
		ts.Check(err)
		defer f.Close()
		cmd.Stdin = f
	}
	cmd.Stdout, cmd.Stderr = ts.Stdout(), ts.Stderr()
	got := 0
	var exit *exec.ExitError
	if err := cmd.Run(); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("%s left with status %d, want %d", strings.Join(args[1:], " "), got, want)
	}
}

func scriptEnv(ts *testscript.TestScript) []string {
	env := []string{}
	for _, name := range []string{"PATH", "HOME", "WORK", "TMPDIR", "NO_COLOR", "CI", "AGENTREC_DB", "AGENTREC_RECORD", "GOCOVERDIR"} {
		if v := ts.Getenv(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	return env
}

func lookPath(path, name string) (string, error) {
	for _, dir := range filepath.SplitList(path) {
		file := filepath.Join(dir, name)
		if info, err := os.Stat(file); err == nil && !info.IsDir() {
			return file, nil
		}
	}
	return "", fmt.Errorf("%s is not on PATH", name)
}

// buildSamples builds the sample programs into dir.
func buildSamples(t *testing.T, dir string) {
	t.Helper()
	for _, name := range []string{"agent", "client", "model"} {
		if _, err := os.Stat(filepath.Join("samples", name)); err != nil {
			continue
		}
		out := filepath.Join(dir, "sample-"+name)
		if b, err := exec.Command("go", "build", "-o", out, "./samples/"+name).CombinedOutput(); err != nil {
			t.Fatalf("building the sample %s: %v\n%s", name, err, b)
		}
	}
}
