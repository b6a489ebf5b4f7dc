package record

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"

	"agentrec/internal/address"
	"agentrec/internal/llm"
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
	defer failingWrites()()
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
	warn := newWarner(o.Stderr)
	defer warn.wait()
	r, err := o.record(start, warn)
	if err != nil {
		return err
	}
	capture := llm.NewCapture(r.tape, store.RouteDirect)
	defer capture.Close()
	front, err := llm.NewFront(llm.FrontOptions{Route: store.RouteDirect, Handler: capture, Upstream: upstream, Listen: listenAt(o.Listen)})
	if err != nil {
		r.tape.Discard()
		return Failure{Status: statusOwn, Err: err}
	}
	r.tape.Event(store.Event{Kind: store.EventStart, Detail: "in front of " + o.Upstream})
	fmt.Fprintf(o.Stderr, "agentrec: recording until Ctrl-C; the base URL is %s\n", front.BaseURL(upstream))

	r.follow()
	<-ctx.Done()
	last, cancel := context.WithTimeout(context.Background(), drainAtExit)
	defer cancel()
	front.Shutdown(last)
	if err := r.finish(context.Background(), nil, drainAtExit); err != nil {
		return Failure{Status: statusOwn, Err: err}
	}
	return nil
}

// listenAt completes an address as flags write it; "" stays.
func listenAt(addr string) string {
	if addr == "" {
		return ""
	}
	_, where := address.Split(addr)
	return where
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
	if network, _ := address.Split(o.Listen); network != "tcp" {
		return errors.New("--listen takes HOST:PORT, or :PORT for this machine only")
	}
	if o.Listen != "" {
		return address.Check("listen", o.Listen)
	}
	return nil
}
