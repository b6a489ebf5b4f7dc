//go:build unix

package record_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// hops are what can stand between a client and an agent. Figures of one run may
// be compared with each other, and with nothing else.
func hops(b *testing.B) map[string]func(agent ...string) *exec.Cmd {
	b.Helper()
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	dir := b.TempDir()
	n := 0
	file := func() string { n++; return filepath.Join(dir, strconv.Itoa(n)) }
	return map[string]func(agent ...string) *exec.Cmd{
		"direct": func(agent ...string) *exec.Cmd { return exec.Command(self, agent...) },
		"tee": func(agent ...string) *exec.Cmd {
			return exec.Command("sh", append([]string{"-c", `tee "$0" | "$@" | tee "$0.out"`, file(), self}, agent...)...)
		},
		"agentrec": func(agent ...string) *exec.Cmd {
			return exec.Command(agentrec(b), append([]string{"proxy", "--db", file(), "--", self}, agent...)...)
		},
	}
}

// BenchmarkRoundTrip sends one small frame at a time and waits for its echo.
func BenchmarkRoundTrip(b *testing.B) {
	frame := []byte(`{"jsonrpc":"2.0","id":1,"method":"session/update","params":{"text":"` + strings.Repeat("word ", 25) + "\"}}\n")
	for _, name := range []string{"direct", "tee", "agentrec"} {
		b.Run(name, func(b *testing.B) {
			cmd := hops(b)[name]()
			in, out := run(b, cmd, "echo")
			got := make([]byte, len(frame))
			for b.Loop() {
				if _, err := in.Write(frame); err != nil {
					b.Fatal(err)
				}
				if _, err := io.ReadFull(out, got); err != nil {
					b.Fatal(err)
				}
			}
			in.Close()
			io.Copy(io.Discard, out)
			cmd.Wait()
		})
	}
}

// BenchmarkStream reads what an agent writes as fast as it can.
func BenchmarkStream(b *testing.B) {
	const frames = 400_000
	for _, name := range []string{"direct", "tee", "agentrec"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				cmd := hops(b)[name](strconv.Itoa(frames))
				in, out := run(b, cmd, "stream")
				in.Close() // tee would wait for it
				n, err := io.Copy(io.Discard, out)
				if err != nil {
					b.Fatal(err)
				}
				b.SetBytes(n)
				b.StopTimer() // the recorder may still store
				cmd.Wait()
				b.StartTimer()
			}
		})
	}
}

// BenchmarkStart is the time from a start to the first reply.
func BenchmarkStart(b *testing.B) {
	for _, name := range []string{"direct", "tee", "agentrec"} {
		b.Run(name, func(b *testing.B) {
			var total time.Duration
			for b.Loop() {
				cmd := hops(b)[name]()
				began := time.Now()
				in, out := run(b, cmd, "echo")
				if _, err := in.Write([]byte("{}\n")); err != nil {
					b.Fatal(err)
				}
				if _, err := io.ReadFull(out, make([]byte, 3)); err != nil {
					b.Fatal(err)
				}
				total += time.Since(began)
				in.Close()
				cmd.Wait()
			}
			b.ReportMetric(float64(total.Microseconds())/1000/float64(b.N), "ms/first-reply")
		})
	}
}

func run(b *testing.B, cmd *exec.Cmd, mode string) (io.WriteCloser, io.Reader) {
	b.Helper()
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s", agentMode, mode))
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	return in, out
}
