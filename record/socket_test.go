//go:build unix

package record_test

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"agentrec/internal/tape"
	"agentrec/store"
)

// echoServer answers every line with itself and notes what each read returned.
func echoServer(t *testing.T, network, address string) (net.Listener, func() []string) {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	var mu sync.Mutex
	var reads []string
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				buf := make([]byte, 64<<10)
				for {
					n, err := c.Read(buf)
					if err != nil {
						return
					}
					mu.Lock()
					reads = append(reads, string(buf[:n]))
					mu.Unlock()
					if _, err := c.Write(buf[:n]); err != nil {
						return
					}
				}
			}()
		}
	}()
	return l, func() []string { mu.Lock(); defer mu.Unlock(); return append([]string(nil), reads...) }
}

func TestSockets(t *testing.T) {
	dir := t.TempDir()
	for _, kind := range []string{"tcp", "unix"} {
		t.Run(kind, func(t *testing.T) {
			listen, agent, connect := "127.0.0.1:0", "127.0.0.1:0", ""
			if kind == "unix" {
				listen, agent = "unix:"+filepath.Join(dir, "l.sock"), filepath.Join(dir, "a.sock")
			}
			l, reads := echoServer(t, kind, agent)
			if connect = l.Addr().String(); kind == "unix" {
				connect = "unix:" + connect
			}
			db := filepath.Join(t.TempDir(), "session.db")
			cmd := exec.CommandContext(t.Context(), agentrec(t), "proxy", "--db", db, "--listen", listen, "--connect", connect)
			stderr, err := cmd.StderrPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			line, err := bufio.NewReader(stderr).ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			addr := strings.Fields(strings.TrimPrefix(line, "agentrec: listening on "))[0]
			addr = strings.TrimPrefix(addr, "unix:")
			for _, text := range []string{"{\"first\":1}\n{\"second\":2}\n", "{\"other\":\"client\"}\nno newline"} {
				c, err := net.Dial(kind, addr)
				if err != nil {
					t.Fatal(err)
				}
				for i := range text { // a byte at a time
					if _, err := c.Write([]byte(text[i : i+1])); err != nil {
						t.Fatal(err)
					}
				}
				c.(interface{ CloseWrite() error }).CloseWrite()
				got, err := io.ReadAll(c)
				if err != nil || string(got) != text {
					t.Errorf("got %q, %v", got, err)
				}
				c.Close()
			}
			for _, read := range reads() { // the kernel may join writes; we must not split frames
				if !strings.HasSuffix(read, "\n") && !strings.HasSuffix(read, "no newline") {
					t.Errorf("the agent read part of a frame: %q", read)
				}
			}
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
			opened, err := tape.OpenWrite(t.Context(), db) // takes in what the recorder had no time for
			if err != nil {
				t.Fatal(err)
			}
			defer opened.Close()
			list, err := opened.Sessions(t.Context())
			if err != nil || len(list) != 2 {
				t.Fatalf("%d sessions, %v", len(list), err)
			}
			for _, s := range list {
				in, out := wire(t, s, store.In), wire(t, s, store.Out)
				if s.State != store.Closed || len(in) == 0 || !bytes.Equal(in, out) {
					t.Errorf("session %d: %s, in %q, out %q", s.ID, s.State, in, out)
				}
			}
			leftOvers(t, db)
		})
	}
}

// TestSocketsWithoutAnAgent: a client is told at once, and nothing is recorded.
func TestSocketsWithoutAnAgent(t *testing.T) {
	db := filepath.Join(t.TempDir(), "session.db")
	nowhere := "unix:" + filepath.Join(t.TempDir(), "none.sock")
	cmd := exec.CommandContext(t.Context(), agentrec(t), "proxy", "--db", db, "--listen", ":0", "--connect", nowhere)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(stderr)
	line, err := lines.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	addr := strings.Fields(strings.TrimPrefix(line, "agentrec: listening on "))[0]
	if !strings.HasPrefix(addr, "127.0.0.1:") {
		t.Errorf("listens on %s", addr)
	}
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetReadDeadline(time.Now().Add(20 * time.Second))
	if _, err := c.Read(make([]byte, 1)); err == nil {
		t.Error("the client was not hung up on")
	} else if ne, ok := err.(net.Error); ok && ne.Timeout() {
		t.Error("the client was left waiting")
	}
	if line, err = lines.ReadString('\n'); err != nil || !strings.HasPrefix(line, "agentrec: connect to the agent: ") {
		t.Errorf("stderr %q, %v", line, err)
	}
	cmd.Process.Signal(syscall.SIGTERM)
	cmd.Wait()
	if left, _ := filepath.Glob(db + "*"); len(left) != 0 {
		t.Errorf("left %v", left)
	}
}

// TestSocketsWithoutRoom: what fills a disk is not the client's affair, and the
// end of the terminal is an end like TERM.
func TestSocketsWithoutRoom(t *testing.T) {
	db := filepath.Join(t.TempDir(), "session.db")
	l, _ := echoServer(t, "tcp", "127.0.0.1:0")
	cmd := exec.CommandContext(t.Context(), "sh", "-c", `ulimit -f 0; exec "$@"`, "sh", agentrec(t), "proxy", "--db", db, "--listen", ":0", "--connect", l.Addr().String())
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(stderr)
	line, err := lines.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp", strings.Fields(strings.TrimPrefix(line, "agentrec: listening on "))[0])
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(30 * time.Second))
	got := make([]byte, len("hello\n"))
	if _, err := io.WriteString(c, "hello\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(c, got); err != nil || string(got) != "hello\n" {
		t.Errorf("got %q, %v", got, err)
	}
	if line, err := lines.ReadString('\n'); err != nil || line != "agentrec: nothing is recorded into "+db+": file too large; forwarding goes on\n" {
		t.Errorf("stderr %q, %v", line, err)
	}
	if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
