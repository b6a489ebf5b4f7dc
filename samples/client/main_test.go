package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// scripts are agents of a few lines: each pair is what the agent says, and how
// many lines of the client it reads after that.
var scripts = map[string][]struct {
	say  string
	read int
}{
	"good": {
		{`{"type":"hello","protocol_version":1,"server_name":"toy","server_version":"0"}`, 1},
		{`{"type":"tool_registered","name":"get_weather","ok":true}`, 1},
		{`{"type":"session_created","session_id":"demo","internal_id":1}`, 1},
		{`{"type":"tools_listed","tools":[{"name":"get_weather"}]}`, 1},
		{`{"type":"event","seq":1,"runtimeEventType":"textDelta","text":"two "}` + "\n" +
			`{"type":"event","seq":2,"runtimeEventType":"textDelta","text":"words"}` + "\n" +
			`{"type":"event","seq":3,"runtimeEventType":"neverHeardOf"}` + "\n" +
			`{"type":"tool_call","seq":4,"call_id":"c","name":"get_weather","args":{"city":"Oslo"}}`, 1},
		{`{"type":"done","seq":4,"outcome":"completed"}`, 1},
	},
	"old":     {{`{"type":"hello","protocol_version":7}`, 1}},
	"rude":    {{`good morning`, 1}},
	"refuses": {{`{"type":"hello","protocol_version":1}`, 1}, {`{"type":"error","code":"PARSE_ERROR","message":"no"}`, 9}},
	"leaves":  {{`{"type":"hello","protocol_version":1}`, 1}},
	"extra": {
		{`{"type":"hello","protocol_version":1}`, 1},
		{`{"type":"tool_registered"}`, 1}, {`{"type":"session_created"}`, 1}, {`{"type":"tools_listed"}`, 1},
		{`{"type":"done","outcome":"completed"}` + "\n" + `{"type":"event"}`, 9},
	},
	"mute": {{`{"type":"hello","protocol_version":1}`, 9}},
}

// TestMain makes the test binary an agent when SAMPLE_SCRIPT names a script.
func TestMain(m *testing.M) {
	name := os.Getenv("SAMPLE_SCRIPT")
	if name == "" {
		os.Exit(m.Run())
	}
	fmt.Fprintln(os.Stderr, "toy agent")
	in := bufio.NewReader(os.Stdin)
	for _, step := range scripts[name] {
		fmt.Println(step.say)
		for range step.read {
			if _, err := in.ReadString('\n'); err != nil {
				break
			}
		}
	}
	if name == "leaves" {
		os.Exit(5)
	}
}

func hold(t *testing.T, script string, flags ...string) (string, error) {
	t.Helper()
	t.Setenv("SAMPLE_SCRIPT", script)
	opts, err := parse(append(flags, "--prompt", "Weather in Oslo?", "--", os.Args[0]), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	err = run(opts, &out)
	return out.String(), err
}

func TestConversation(t *testing.T) {
	file := filepath.Join(t.TempDir(), "bytes")
	out, err := hold(t, "good", "--copy", file)
	if err != nil {
		t.Fatal(err)
	}
	want := "hello    toy 0\ntools    get_weather\nyou      Weather in Oslo?\nagent    two words\ndone     completed\n"
	if out != want {
		t.Errorf("printed\n%s\nwant\n%s", out, want)
	}
	said := ""
	for _, step := range scripts["good"] {
		said += step.say + "\n"
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != said {
		t.Errorf("the copy holds %q (%v), want %q", got, err, said)
	}
}

func TestBrokenAgents(t *testing.T) {
	for script, want := range map[string]string{
		"old":     "protocol version 7",
		"rude":    "no frame",
		"refuses": "PARSE_ERROR: no",
		"leaves":  "exit status 5",
		"extra":   "after the last turn",
		"mute":    "no end after 2s",
	} {
		t.Run(script, func(t *testing.T) {
			limit := time.Minute
			if script == "mute" {
				limit = 2 * time.Second
			}
			if _, err := hold(t, script, "--timeout", limit.String()); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "toy agent") {
				t.Errorf("error %v, want one with %q and the agent's stderr", err, want)
			}
		})
	}
}

// TestTerminate holds that an agent that was ended on purpose is no failure.
func TestTerminate(t *testing.T) {
	if _, err := hold(t, "good", "--terminate"); err != nil {
		t.Error(err)
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{{}, {"--prompt"}, {"--nosuch", "--", "agent"}, {"--timeout", "soon", "agent"}} {
		var help strings.Builder
		if _, err := parse(args, &help); err == nil || help.Len() == 0 {
			t.Errorf("%q was taken, help %q", args, help.String())
		}
	}
	if o, err := parse([]string{"--", "agent", "--prompt"}, io.Discard); err != nil || strings.Join(o.agent, " ") != "agent --prompt" || len(o.prompts) != 2 {
		t.Errorf("got %+v, %v", o, err)
	}
}
