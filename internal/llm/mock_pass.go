package llm

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
)

// pass forwards a request whose body has been read to its upstream, and the
// answer as it comes.
func (m *Mock) pass(w http.ResponseWriter, r *http.Request, u *url.URL, body []byte) {
	if u.Scheme == "" || u.Host == "" {
		writeError(w, targetOf(r.Method, u).rule, http.StatusBadGateway, "agentrec: the request names no upstream to pass it on to")
		return
	}
	asked := *r
	asked.URL, asked.Host = u, u.Host
	asked.Body, asked.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	(&relay{w: w, r: &asked}).run(m.transport())
}

// transport returns the one that requests are passed on by.
func (m *Mock) transport() *transport {
	m.passing.Do(func() { m.upstreams = newTransport() })
	return m.upstreams
}

// Close closes the connections to upstreams. No request may be running.
func (m *Mock) Close() {
	m.transport().close()
}
