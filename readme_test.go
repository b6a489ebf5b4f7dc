//go:build unix

package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var updateReadme = flag.Bool("update-readme", false, "write what the README's commands print into the README")

// console matches one block of commands and their output.
var console = regexp.MustCompile("(?s)```console\n(.*?)```\n")

var trailing = regexp.MustCompile(`(?m)[ \t]+$`)

// TestReadme runs every command of the README's console blocks, in order, in
// one shell and one directory, and holds the output against what stands there.
// What differs between two runs (times, ids, the width of columns) is made
// equal first, and a line of three dots stands for any lines.
func TestReadme(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	var commands, outputs []string
	for _, block := range console.FindAllStringSubmatch(string(readme), -1) {
		c, o := splitConsole(block[1])
		if len(c) == 0 {
			t.Errorf("a console block without a command:\n%s", block[1])
		}
		commands, outputs = append(commands, c...), append(outputs, o...)
	}
	if len(commands) == 0 {
		t.Fatal("the README has no console block")
	}
	got := runConsole(t, commands)
	if *updateReadme {
		i := 0
		text := console.ReplaceAllStringFunc(string(readme), func(block string) string {
			var b strings.Builder
			c, o := splitConsole(console.FindStringSubmatch(block)[1])
			for n, command := range c {
				b.WriteString("$ " + command + "\n")
				if fits(alike(o[n]), alike(got[i])) {
					b.WriteString(o[n])
				} else {
					b.WriteString(elide(o[n], trailing.ReplaceAllString(got[i], "")))
				}
				i++
			}
			return "```console\n" + b.String() + "```\n"
		})
		if err := os.WriteFile("README.md", []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	for i, command := range commands {
		if !fits(alike(outputs[i]), alike(got[i])) {
			t.Errorf("$ %s\nprints\n%s\nbut the README says\n%s\nif that is right: go test -run TestReadme . -update-readme", command, got[i], outputs[i])
		}
	}
}

// splitConsole returns the commands of a block and what follows each of them.
// A command whose line ends with a backslash goes on in the next line.
func splitConsole(block string) (commands, outputs []string) {
	goesOn := false
	for line := range strings.Lines(block) {
		command, isNew := strings.CutPrefix(line, "$ ")
		switch {
		case isNew:
			commands, outputs = append(commands, strings.TrimSuffix(command, "\n")), append(outputs, "")
		case len(commands) == 0:
			continue
		case goesOn:
			commands[len(commands)-1] += "\n" + strings.TrimSuffix(line, "\n")
		default:
			outputs[len(outputs)-1] += line
		}
		goesOn = (isNew || goesOn) && strings.HasSuffix(line, "\\\n")
	}
	return commands, outputs
}

// builds maps what needs the Go command to what the test has built already.
// The first command runs with the real ones in .ci/run, in a clone.
var builds = strings.NewReplacer(
	"go build -o agentrec .", "ln -sf \"$(command -v agentrec)\" agentrec",
	"go install .", "true",
	"go test ./...", "true",
	"go run ./samples/client", "sample-client",
	"go run ./samples/agent", "sample-agent",
)

// agentrecPath is where this test's binary lies, in a shim.
var agentrecPath = regexp.MustCompile(`'[^ ']*/agentrec'`)

// runConsole runs the commands in one shell and returns what each printed on
// stdout and stderr together, with this machine's name and paths replaced.
func runConsole(t *testing.T, commands []string) []string {
	t.Helper()
	const mark = "=== next command ==="
	var script strings.Builder
	for _, command := range commands {
		fmt.Fprintf(&script, "s=$?; echo '%s'; (exit $s)\n%s\n", mark, builds.Replace(command))
	}
	bin, dir := t.TempDir(), t.TempDir()
	buildSamples(t, bin)
	if err := os.CopyFS(filepath.Join(dir, "samples"), os.DirFS("samples")); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(bin, "commands.sh")
	if err := os.WriteFile(file, []byte(script.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", file)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"),
		"HOME="+dir, "TMPDIR=/tmp", "NO_COLOR=1", "TZ=UTC", "COLUMNS=100", "AGENTREC_DB=", "AGENTREC_RECORD=", "CI=", "XDG_CACHE_HOME="+dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Logf("the shell left with %v", err)
	}
	host, _ := os.Hostname()
	text := strings.NewReplacer(`"home":"`+dir, `"home":"/home/you`, dir, "/home/you/project", `"host":"`+host+`"`, `"host":"laptop"`).Replace(string(out))
	text = agentrecPath.ReplaceAllString(text, "'/usr/local/bin/agentrec'")
	parts := strings.Split(text, mark+"\n")[1:]
	if len(parts) != len(commands) {
		t.Fatalf("%d of %d commands ran:\n%s", len(parts), len(commands), out)
	}
	return parts
}

// unstable is what differs between two runs of one command, in this order.
var unstable = []struct {
	re   *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`\b127\.0\.0\.1:\d+`), "127.0.0.1:PORT"},
	{regexp.MustCompile(`[ \t]+`), " "},
	{regexp.MustCompile(`(?m) $`), ""},
	{regexp.MustCompile(`\b[0-9A-HJKMNP-TV-Z]{26}\b`), "ULID"},
	{regexp.MustCompile(`\b[0-9a-f]{64}\b`), "HASH"},
	{regexp.MustCompile(`redacted:([a-z_]+):[0-9a-f]+`), "redacted:$1:TOKEN"},
	{regexp.MustCompile(`"version":"[^"]*"`), `"version":OWN`},
	{regexp.MustCompile(`(\["\w+", )\d+`), "${1}GAP"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?)?(Z|[+-]\d\d:\d\d)?`), "TIME"},
	{regexp.MustCompile(`\b\d\d:\d\d(:\d\d(\.\d+)?)?\b`), "TIME"},
	{regexp.MustCompile(`\b\d+(\.\d+)? ?(µs|us|ms|s)\b`), "SPAN"},
	{regexp.MustCompile(`\b\d+\.\d{3}\b`), "SPAN"},
	{regexp.MustCompile(`\bafter 0\b`), "after SPAN"}, // of two frames that came at one moment
	{regexp.MustCompile(`, in SPAN`), ""},             // of deltas that came at one moment
}

// alike makes equal what two runs of one command may print differently.
func alike(text string) string {
	for _, u := range unstable {
		text = u.re.ReplaceAllString(text, u.with)
	}
	return strings.TrimRight(text, "\n")
}

// fits says whether got is want, where a line of three dots in want stands for
// any number of lines.
func fits(want, got string) bool {
	parts := regexp.MustCompile(`(?m)^ ?\.\.\.$`).Split(want, -1)
	if len(parts) == 1 {
		return want == got
	}
	rest, ok := strings.CutPrefix(got, parts[0])
	if !ok {
		return false
	}
	last := parts[len(parts)-1]
	for _, part := range parts[1 : len(parts)-1] {
		at := strings.Index(rest, part)
		if at < 0 {
			return false
		}
		rest = rest[at+len(part):]
	}
	return strings.HasSuffix(rest, last)
}

// elide puts the three dots of the old text at the same places of the new one:
// as many lines as stood before and after them stay.
func elide(old, text string) string {
	before, after, found := strings.Cut(old, "\n...\n")
	if !found {
		return text
	}
	lines := strings.SplitAfter(strings.TrimSuffix(text, "\n")+"\n", "\n")
	lines = lines[:len(lines)-1]
	head, tail := strings.Count(before, "\n")+1, strings.Count(after, "\n")
	if head+tail >= len(lines) {
		return text
	}
	return strings.Join(lines[:head], "") + "...\n" + strings.Join(lines[len(lines)-tail:], "")
}

// TestFits holds the judge of TestReadme itself.
func TestFits(t *testing.T) {
	for _, c := range []struct {
		want, got string
		fits      bool
	}{
		{"a\nb", "a\nb", true},
		{"a\nb", "a\nc", false},
		{"a\n...\nd", "a\nb\nc\nd", true},
		{"a\n...\nd", "a\nb\nc\ne", false},
		{"a\n...\nc\n...\nd", "a\nb\nd", false},
		{alike("1  ms  at 2026-01-02 10:11:12.5"), alike("17.5ms at 2027-11-02 00:11:12"), true},
		{alike("2 frames"), alike("3 frames"), false},
	} {
		if got := fits(c.want, c.got); got != c.fits {
			t.Errorf("fits(%q, %q) = %v", c.want, c.got, got)
		}
	}
}
