package replay

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Every connection has a replay of its own, and its verdict counts.
func TestListen(t *testing.T) {
	hello := `{"type":"hello","protocol_version":1,"server_name":"a","server_version":"1"}`
	file := recordLines(t, "phi", "out "+hello, `in {"type":"list_tools"}`, `out {"type":"tools_listed","tools":[]}`)
	path := filepath.Join(t.TempDir(), "s")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	reports := t.TempDir()
	done := make(chan error, 1)
	stderr := &lockedBuffer{}
	go func() {
		done <- Listen(ctx, Options{File: file, Stderr: stderr, Report: reports}, "unix:"+path)
	}()
	for !strings.Contains(stderr.String(), "listening on") {
		select {
		case err := <-done:
			t.Fatal(err)
		case <-time.After(time.Millisecond):
		}
	}
	var open []net.Conn
	for range 3 {
		conn, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, conn)
	}
	for i, conn := range open {
		r := bufio.NewReader(conn)
		if got, err := r.ReadString('\n'); err != nil || got != hello+"\n" {
			t.Fatalf("connection %d got %q, %v", i, got, err)
		}
		if i > 0 {
			fmt.Fprintln(conn, `{"type":"list_tools"}`)
			if got, err := r.ReadString('\n'); err != nil || !strings.Contains(got, "tools_listed") {
				t.Fatalf("connection %d got %q, %v", i, got, err)
			}
		}
		conn.(*net.UnixConn).CloseWrite()
		if _, err := r.ReadString('\n'); err == nil {
			t.Errorf("connection %d got more", i)
		}
		conn.Close()
	}
	cancel()
	if err := <-done; err != (Divergence{Count: 1}) {
		t.Errorf("listening ended with %v", err)
	}
	if said := stderr.String(); !strings.Contains(said, "agentrec: connection 1: unsent: the client did not send list_tools") ||
		!strings.Contains(said, "agentrec: connection 2: replay of session.db session 1 passed") {
		t.Errorf("on stderr stands %s", said)
	}
	if list, err := readReports(reports); err != nil || len(list) != 3 {
		t.Errorf("%d reports, %v", len(list), err)
	}
}

// An end of output on a socket ends one side of it: what the client still sends is
// read and judged.
func TestListenEOF(t *testing.T) {
	file := recordLines(t, "phi", `in {"type":"list_tools"}`, `out {"type":"tools_listed","tools":[]}`, `in {"type":"create_session"}`, `out {"type":"session_created","internal_id":1}`)
	path := filepath.Join(t.TempDir(), "s")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	stderr := &lockedBuffer{}
	fault, err := ParseFault("eof@2")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		done <- Listen(ctx, Options{File: file, Stderr: stderr, Faults: []Fault{fault}}, "unix:"+path)
	}()
	for !strings.Contains(stderr.String(), "listening on") {
		select {
		case err := <-done:
			t.Fatal(err)
		case <-time.After(time.Millisecond):
		}
	}
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(conn, `{"type":"list_tools"}`)
	if got, err := bufio.NewReader(conn).ReadString('\n'); err == nil || got != "" {
		t.Fatalf("got %q, %v", got, err)
	}
	if _, err := fmt.Fprintln(conn, `{"type":"create_session"}`); err != nil {
		t.Fatal(err)
	}
	conn.Close()
	for !strings.Contains(stderr.String(), "2 of 2 frames matched") {
		if strings.Contains(stderr.String(), "failed") {
			t.Fatal(stderr.String())
		}
		time.Sleep(time.Millisecond)
	}
	cancel()
	if err := <-done; err != nil {
		t.Errorf("listening ended with %v\n%s", err, stderr)
	}
}
