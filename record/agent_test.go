//go:build unix

package record_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/url"
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
	case "mute": // closes stderr and goes on
		os.Stderr.Close()
		io.Copy(os.Stdout, os.Stdin)
	case "quiet": // every byte back, and no word
		io.Copy(os.Stdout, os.Stdin)
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
	case "signals": // waits for a signal, tells of it and of those that come within N ms
		c := make(chan os.Signal, 16)
		signal.Notify(c, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGQUIT)
		fmt.Println("ready")
		fmt.Println("got", <-c)
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
	case "ask", "ask-leave", "ask-proxy": // asks its model and writes the answer as it comes
		base := os.Getenv("OPENAI_BASE_URL")
		if mode == "ask-proxy" {
			base = args[0] + "/v1"
		}
		answer, err := question(base)
		if err != nil {
			fmt.Fprintln(os.Stderr, "ask:", err)
			return 1
		}
		defer answer.Body.Close()
		if mode == "ask-leave" {
			io.CopyN(os.Stdout, answer.Body, int64(len("first\n")))
			return 7
		}
		if _, err := io.Copy(os.Stdout, answer.Body); err != nil {
			fmt.Fprintln(os.Stderr, "ask:", err)
			return 1
		}
	case "ask-child": // has a child ask, and leaves before it is done
		self, err := os.Executable()
		if err != nil {
			return 1
		}
		r, w, err := os.Pipe()
		if err != nil {
			return 1
		}
		cmd := exec.Command(self, args...)
		cmd.Env = append(os.Environ(), agentMode+"=ask")
		cmd.Stdout = w
		if err := cmd.Start(); err != nil {
			return 1
		}
		io.CopyN(os.Stdout, r, int64(len("first\n")))
	case "noise": // fills stderr, then says that stdout works
		for range n {
			fmt.Fprintln(os.Stderr, strings.Repeat("x", 1000))
		}
		fmt.Println("done")
	}
	return 0
}

// question asks a model at a base URL, through the proxy that the environment
// names, wherever the model is.
func question(base string) (*http.Response, error) {
	proxy := func(*http.Request) (*url.URL, error) {
		if p := os.Getenv("HTTP_PROXY"); p != "" {
			return url.Parse(p)
		}
		return nil, nil
	}
	c := http.Client{Transport: &http.Transport{Proxy: proxy}}
	return c.Post(base+"/chat/completions", "text/plain", strings.NewReader("question"))
}

// ask returns the whole answer of a model.
func ask(base string) (string, error) {
	answer, err := question(base)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	return string(b), err
}
