package llm

import (
	"net"
	"net/netip"
	"net/url"
	"strings"
)

// The path of a request on the route base-url begins with the run and then
// names its upstream, by host alone or with a scheme before it:
//
//	/r/RUN/api.openai.com/v1/chat/completions
//	/r/RUN/127.0.0.1:11434/api/chat
//	/r/RUN/http/gateway.internal/v1/messages
//
// The host stands there as itself because agents look for it in their base URL
// and behave accordingly. Without a scheme it is https, and http for an upstream
// on this machine.

// upstreamSegments writes an upstream as the segments that cutUpstream reads.
func upstreamSegments(u *url.URL) string {
	if u.Scheme == schemeOf(u.Host) {
		return u.Host
	}
	return u.Scheme + "/" + u.Host
}

// cutUpstream reads the upstream from the beginning of a target.
func cutUpstream(target string) (scheme, host, rest string, ok bool) {
	host, rest = cutSegment(target)
	if host == "http" || host == "https" {
		scheme = host
		host, rest = cutSegment(rest)
	}
	if plain, err := url.PathUnescape(host); err == nil {
		host = plain // the brackets of an IPv6 address
	}
	if scheme == "" {
		scheme = schemeOf(host)
	}
	if u, err := url.Parse(scheme + "://" + host); err != nil || host == "" || u.Host != host || u.User != nil {
		return "", "", "", false
	}
	return scheme, host, rest, true
}

// cutSegment returns the first segment of a target and what follows it, which
// begins with a slash.
func cutSegment(target string) (segment, rest string) {
	target = strings.TrimPrefix(target, "/")
	end := strings.IndexAny(target, "/?")
	if end < 0 {
		return target, "/"
	}
	if target[end] == '?' {
		return target[:end], "/" + target[end:]
	}
	return target[:end], target[end:]
}

func schemeOf(host string) string {
	if onThisMachine(host) {
		return "http"
	}
	return "https"
}

// onThisMachine tells whether HOST or HOST:PORT is a loopback address.
func onThisMachine(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.Trim(host, "[]")
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback() || strings.EqualFold(host, "localhost")
}

// versions are the hosts of the vendors' own APIs, with the segments that all
// paths of the API begin with. One variable is read in two ways: to some agents
// ANTHROPIC_BASE_URL holds this beginning, to others it does not.
var versions = map[string]string{
	"api.anthropic.com":                 "/v1",
	"api.openai.com":                    "/v1",
	"generativelanguage.googleapis.com": "/v1beta",
	"openrouter.ai":                     "/api/v1",
}

// endpoints are the first segments behind a version that agents ask for.
var endpoints = map[string]bool{
	"audio": true, "batches": true, "chat": true, "complete": true, "completions": true, "embeddings": true,
	"files": true, "images": true, "messages": true, "models": true, "moderations": true, "responses": true,
}

// amend puts a version before a target that lacks it and takes away a second
// one. The target of any host that is not a vendor's own stays: its base URL was
// the user's, who knows what it means to the agent.
func amend(host, target string) string {
	version, ok := versions[strings.ToLower(host)]
	if !ok {
		return target
	}
	last := version[strings.LastIndexByte(version, '/'):]
	if rest, ok := strings.CutPrefix(target, version); ok && (strings.HasPrefix(rest, last+"/") || rest == last) {
		return version + strings.TrimPrefix(rest, last)
	}
	first, _ := cutSegment(target)
	if endpoints[first] {
		return version + target
	}
	return target
}
