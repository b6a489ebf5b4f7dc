//go:build unix

package record_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// agent is the fake agent: one behaviour a mode.
func agent(mode string, args []string) int {
	n := 0
	if len(args) > 0 {
		n, _ = strconv.Atoi(args[0])
	}
	switch mode {
	case "echo": // every byte back at once, and a mark at the end
		io.Copy(os.Stdout, os.Stdin)
		fmt.Fprintln(os.Stderr, "echo saw the end")
		return n
	case "argv":
		for _, a := range args {
			fmt.Printf("%q\n", a)
		}
	case "env":
		for _, e := range os.Environ() {
			if strings.HasPrefix(e, "AGENTREC_") {
				fmt.Println(e)
			}
		}
	case "exit": // does not care about its input
		return n
	case "late": // goes on after the end of its input
		io.Copy(io.Discard, os.Stdin)
		for i := range n {
			time.Sleep(time.Millisecond)
			fmt.Printf("{\"late\":%d}\n", i)
		}
	case "signals": // counts a signal, ends with the TERM it asks for
		c := make(chan os.Signal, 16)
		signal.Notify(c, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGQUIT)
		fmt.Println("ready")
		for {
			select {
			case sig := <-c:
				fmt.Println("got", sig)
			case <-time.After(time.Duration(n) * time.Millisecond):
				fmt.Println("quiet")
				return 0
			}
		}
	case "stream": // N frames flat out, numbered
		w := bufio.NewWriterSize(os.Stdout, 8<<10)
		for i := range n {
			fmt.Fprintf(w, "{\"n\":%d,\"pad\":\"0123456789012345678901234567890123456789\"}\n", i)
		}
		w.Flush()
	case "paced": // N frames, one each 200 us
		for i := range n {
			fmt.Printf("{\"n\":%d,\"pad\":\"0123456789012345678901234567890123456789\"}\n", i)
			time.Sleep(200 * time.Microsecond)
		}
	case "broken": // writes until the pipe breaks
		signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
		for {
			if _, err := fmt.Println(`{"tick":1}`); err != nil {
				fmt.Fprintln(os.Stderr, "broken:", err)
				return 9
			}
		}
	case "grandchild": // leaves a child behind that keeps all pipes open
		cmd := exec.Command("sleep", args[0])
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
		if err := cmd.Start(); err != nil {
			return 1
		}
		fmt.Println(cmd.Process.Pid)
		return 3
	case "stubborn": // ignores the end of its input and TERM
		signal.Ignore(syscall.SIGTERM, syscall.SIGHUP)
		fmt.Println(os.Getpid())
		time.Sleep(time.Minute)
	case "noise": // fills stderr, then says that stdout works
		for range n {
			fmt.Fprintln(os.Stderr, strings.Repeat("x", 1000))
		}
		fmt.Println("done")
	}
	return 0
}
