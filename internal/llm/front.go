// Package llm stands between an agent and its model: it takes the agent's
// HTTP requests, captures them on their way to the model, and answers them from
// a recording.
//
//	agent ──/r/RUN/HOST/...──► Front ──► Capture ──► upstream
//	agent ──CONNECT, TLS─────►   │   └──► Mock
//
// A Front knows how requests reach us; a Handler behind it sees each with the
// absolute URL of its upstream and does not need to know the route.
package llm

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"

	"agentrec/store"
)

// FrontOptions says how an agent's requests reach a Front.
type FrontOptions struct {
	Route   store.Route
	Handler http.Handler // of every request that is ours; see Front
	Hosts   []string     // of the route mitm: patterns beside the built-in ones
	Refuse  bool         // of the route mitm: other hosts get 403, not a tunnel
	DotEnv  []byte       // of the route base-url: the .env in the agent's directory, which some agents read

	// Of the route direct: where requests go, and the address to listen on, ""
	// for a free port of this machine and a path that nobody can guess.
	Upstream *url.URL
	Listen   string
}

// Front is the one listener that an agent's model traffic comes to. Its Handler
// gets each request with r.URL absolute, as it would have reached the upstream,
// r.Host as the agent meant it, and the other headers as they came. Requests to
// upgrade the connection are answered with 426.
type Front struct {
	o        FrontOptions
	listener net.Listener
	servers  []*http.Server
	prefix   string // of a path, "" or "/r/" and the run's id
	secret   string // the run's id: 128 random bits in hex
	mitm     *mitm  // of that route

	requests atomic.Int64
	refusals refusals                           // of that route
	running  gate                               // of requests
	all      func(net.Listener) context.Context // of all requests
	cut      context.CancelCauseFunc
	serving  sync.WaitGroup // goroutines that accept
}

// NewFront begins to listen. The caller ends with Close.
func NewFront(o FrontOptions) (*Front, error) {
	id := make([]byte, 16)
	rand.Read(id)
	f := &Front{o: o, secret: hex.EncodeToString(id)}
	listen := "127.0.0.1:0"
	switch o.Route {
	case store.RouteBaseURL:
		f.prefix = "/r/" + f.secret
	case store.RouteMITM:
		var err error
		if f.mitm, err = newMITM(o.Hosts); err != nil {
			return nil, err
		}
	case store.RouteDirect:
		if o.Upstream == nil {
			return nil, errors.New("listen for model requests: no upstream is named")
		}
		f.prefix = "/r/" + f.secret
		if o.Listen != "" {
			f.prefix, listen = "", o.Listen
		}
	default:
		return nil, fmt.Errorf("listen for model requests: no route is called %q", o.Route)
	}
	l, err := net.Listen("tcp", listen)
	if err != nil {
		f.mitm.close()
		return nil, fmt.Errorf("listen for model requests: %w", err)
	}
	f.listener = l
	var all context.Context
	all, f.cut = context.WithCancelCause(context.Background())
	f.all = func(net.Listener) context.Context { return all }
	if f.mitm == nil {
		f.start(newServer(f.serve), func(s *http.Server) { s.Serve(l) })
		return f, nil
	}
	f.start(newServer(f.proxy), func(s *http.Server) { s.Serve(l) })
	f.start(f.inner(), func(s *http.Server) { s.Serve(f.mitm.plain) })
	f.start(f.innerTLS(), func(s *http.Server) { s.ServeTLS(f.mitm.sealed, "", "") })
	return f, nil
}

// start has a server accept until Close.
func (f *Front) start(s *http.Server, accept func(*http.Server)) {
	s.BaseContext = f.all
	f.servers = append(f.servers, s)
	f.serving.Go(func() { accept(s) })
}

// errFrontClosed is why the requests of a closed Front end.
var errFrontClosed = errors.New("the recording ended before it")

// newServer returns a server that waits for ever and says nothing: an agent may
// think as long as it likes, and stderr is the agent's.
func newServer(h http.HandlerFunc) *http.Server {
	return &http.Server{Handler: h, ErrorLog: log.New(io.Discard, "", 0)}
}

// Addr returns the address that a Front listens on, HOST:PORT.
func (f *Front) Addr() string { return f.listener.Addr().String() }

// Requests returns how many requests have come for the Handler.
func (f *Front) Requests() int64 { return f.requests.Load() }

// BaseURL returns the URL that stands for an upstream's at this Front, with the
// same path. It is of no use on the route mitm.
func (f *Front) BaseURL(upstream *url.URL) string {
	base := "http://"
	if upstream.User != nil {
		base += upstream.User.String() + "@" // programs make a header of it
	}
	base += f.Addr() + f.prefix
	if f.o.Route == store.RouteBaseURL {
		base += "/" + upstreamSegments(upstream)
	}
	return base + strings.TrimSuffix(upstream.EscapedPath(), "/")
}

// Shutdown lets no more requests in and waits for those that run until ctx ends;
// what does not end in time is cut. Then it closes.
func (f *Front) Shutdown(ctx context.Context) {
	f.listener.Close()
	select {
	case <-f.running.shut():
	case <-ctx.Done():
	}
	f.Close()
}

// Close cuts what still runs, waits until no request is in the Handler, and
// removes what the Front has put on disk. It may be called more than once.
func (f *Front) Close() {
	left := f.running.shut()
	f.cut(errFrontClosed)
	for _, s := range f.servers {
		s.Close()
	}
	f.mitm.close()
	f.serving.Wait()
	<-left
}

// serve answers a request on the routes base-url and direct.
func (f *Front) serve(w http.ResponseWriter, r *http.Request) {
	if !f.ourHost(r.Host) {
		http.Error(w, "agentrec: this listener answers to its own address only", http.StatusForbidden)
		return
	}
	rest, ok := f.unprefix(r.RequestURI)
	if !ok {
		http.Error(w, "agentrec: not found", http.StatusNotFound)
		return
	}
	target := *r.URL
	if f.o.Route == store.RouteDirect {
		target.Scheme, target.Host = f.o.Upstream.Scheme, f.o.Upstream.Host
	} else if target.Scheme, target.Host, rest, ok = cutUpstream(rest); !ok {
		http.Error(w, "agentrec: not found", http.StatusNotFound)
		return
	} else {
		rest = amend(target.Host, rest)
	}
	path, err := url.ParseRequestURI(rest)
	if err != nil {
		http.Error(w, "agentrec: not a path", http.StatusBadRequest)
		return
	}
	target.Path, target.RawPath = path.Path, path.RawPath
	f.handle(w, r, &target, target.Host)
}

// handle gives a request to the Handler.
func (f *Front) handle(w http.ResponseWriter, r *http.Request, target *url.URL, host string) {
	if !f.running.enter() {
		panic(http.ErrAbortHandler) // the agent is gone, or should be
	}
	defer f.running.leave()
	f.requests.Add(1)
	if upgrades(r.Header) {
		w.Header().Set("Upgrade", "HTTP/1.1")
		w.Header().Set("Connection", "upgrade")
		http.Error(w, "agentrec: the connection is not upgraded; use plain HTTP", http.StatusUpgradeRequired)
		return
	}
	asked := *r
	asked.URL, asked.Host, asked.RequestURI = target, host, ""
	f.o.Handler.ServeHTTP(w, &asked)
}

// unprefix cuts the run's own beginning off a request's target.
func (f *Front) unprefix(target string) (string, bool) {
	if f.prefix == "" {
		return target, strings.HasPrefix(target, "/")
	}
	n := len(f.prefix)
	if len(target) <= n || target[n] != '/' || subtle.ConstantTimeCompare([]byte(target[:n]), []byte(f.prefix)) == 0 {
		return "", false
	}
	return target[n:], true
}

// ourHost tells whether the header Host names this listener, and not a name
// that somebody made to resolve to it: a page in a browser could send that.
func (f *Front) ourHost(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	name = strings.Trim(name, "[]")
	if _, err := netip.ParseAddr(name); err == nil || strings.EqualFold(name, "localhost") {
		return true
	}
	own, _, err := net.SplitHostPort(f.o.Listen)
	return err == nil && own != "" && strings.EqualFold(own, name)
}

// upgrades tells whether a request asks for another protocol on its connection.
// Java's client asks for h2c with its first request and goes on without.
func upgrades(h http.Header) bool {
	if len(h["Upgrade"]) == 0 || strings.EqualFold(h.Get("Upgrade"), "h2c") {
		return false
	}
	return listed(h["Connection"], "upgrade")
}

// listed tells whether a comma-separated header names a token.
func listed(lines []string, token string) bool {
	for _, line := range lines {
		for part := range strings.SplitSeq(line, ",") {
			if strings.EqualFold(strings.TrimSpace(part), token) {
				return true
			}
		}
	}
	return false
}
