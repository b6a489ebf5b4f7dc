package record

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"sync"
	"time"

	"agentrec/internal/llm"
	"agentrec/internal/tape"
	"agentrec/store"
)

// ListenLLM records the requests that come to o.Listen on their way to
// o.Upstream, as one session, until ctx ends. It returns nil then, after the
// requests that still ran have been given a moment and the session is stored.
func ListenLLM(ctx context.Context, o Options) error {
	if o.Stderr == nil {
		o.Stderr = os.Stderr
	}
	prepare()
	if err := usable(o.DB); err != nil {
		return err
	}
	upstream, err := url.Parse(o.Upstream)
	if err != nil {
		return Failure{Status: statusOwn, Err: err}
	}
	o.Argv = []string{o.Upstream}
	start, err := o.start(os.Environ())
	if err != nil {
		return Failure{Status: statusOwn, Err: err}
	}
	t, err := tape.Create(o.DB, start)
	if err != nil {
		return Failure{Status: statusOwn, Err: fmt.Errorf("record into %s: %w", o.DB, pathless(err))}
	}
	capture := llm.NewCapture(t, store.RouteDirect)
	defer capture.Close()
	front, err := llm.NewFront(llm.FrontOptions{Route: store.RouteDirect, Handler: capture, Upstream: upstream, Listen: listenAt(o.Listen)})
	if err != nil {
		t.Discard()
		return Failure{Status: statusOwn, Err: err}
	}
	t.Event(store.Event{Kind: store.EventStart, Detail: "in front of " + o.Upstream})
	fmt.Fprintf(o.Stderr, "agentrec: recording until Ctrl-C; the base URL is %s\n", front.BaseURL(upstream))

	f := t.Follower()
	following, halt := context.WithCancel(context.WithoutCancel(ctx))
	var behind sync.WaitGroup
	behind.Go(func() { lowerPriority(); f.Run(following) })
	watch(ctx, t)
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainAtExit)
	front.Shutdown(last)
	cancel()
	halt()
	end := t.Finish(nil)
	behind.Wait()
	deadline, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainAtExit)
	defer cancel()
	defer f.Close()
	if t.Failure() != "" {
		(&warner{w: o.Stderr}).lost(t)
	}
	if err := f.Complete(deadline, end); err != nil {
		t.Leave()
		if !errors.Is(err, tape.ErrBehind) {
			return Failure{Status: statusOwn, Err: fmt.Errorf("%w; the session stays on the tape %s", err, t.Path())}
		}
	}
	return nil
}

// watch measures the room for the tape until ctx ends.
func watch(ctx context.Context, t *tape.Tape) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			t.Measure()
		}
	}
}

// listenAt completes an address as flags write it; "" stays.
func listenAt(addr string) string {
	if addr == "" {
		return ""
	}
	_, address := split(addr)
	return address
}

// checkUpstream refuses what is no URL of a server.
func (o *Options) checkUpstream() error {
	if o.Upstream == "" {
		return errors.New("name the model's API: agentrec llm record --upstream https://api.openai.com/v1")
	}
	u, err := url.Parse(o.Upstream)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("--upstream %s: want a URL such as https://api.openai.com/v1", o.Upstream)
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return errors.New("--upstream takes scheme, host and path only: --upstream " + u.Scheme + "://" + u.Host + u.EscapedPath())
	}
	if network, _ := split(o.Listen); network != "tcp" {
		return errors.New("--listen takes HOST:PORT, or :PORT for this machine only")
	}
	return nil
}
