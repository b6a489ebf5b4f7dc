package llm

import (
	"io"
	"net/http"
	"slices"
	"strings"

	"agentrec/internal/tape"
	"agentrec/store"
)

// Capture is the Handler that forwards each request to its upstream and records
// it with its answer:
//
//	agent ──► body, as it is read ──► tape ──► upstream
//	agent ◄── flush ◄── write ◄── tape ◄── one read of the answer
//
// Nothing is held back, and nothing is forwarded that is not on the tape. All
// that is changed is Accept-Encoding, which becomes identity; redirects are the
// agent's to follow, and its cancelling reaches the upstream at once.
type Capture struct {
	tape      *tape.Tape
	route     store.Route
	transport *transport
}

// NewCapture returns a Capture that appends to t, which stays the caller's. The
// caller ends with Close, after the Front has been closed and before the tape
// is.
func NewCapture(t *tape.Tape, route store.Route) *Capture {
	return &Capture{t, route, newTransport()}
}

// Close closes the connections to upstreams.
func (c *Capture) Close() { c.transport.close() }

// ServeHTTP forwards and records a request whose URL is absolute.
func (c *Capture) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := fields(r.Header)
	if r.Host != r.URL.Host {
		header = fields(http.Header{"Host": {r.Host}}, r.Header)
	}
	l := &relay{w: w, r: r, plain: c.transport.cleartext.suits(r), header: header}
	asked := tape.Request{Route: c.route, Proto: r.Proto, Method: r.Method, URL: r.URL.String(), Header: header}
	var err error
	if l.plain {
		buffer := buffers.Get().(*[]byte)
		defer buffers.Put(buffer)
		n := 0
		n, err = io.ReadFull(r.Body, (*buffer)[:r.ContentLength])
		l.whole = (*buffer)[:n]
		asked.Body = l.whole
	}
	l.seen = c.tape.Exchange(asked)
	if err != nil {
		l.left = true
		l.failed(err, true)
	}
	l.run(c.transport)
}

// fields returns headers as a session keeps them: sorted by name, the order of
// equal names kept.
func fields(headers ...http.Header) []store.Field {
	var list []store.Field
	for _, h := range headers {
		for name, values := range h {
			for _, value := range values {
				list = append(list, store.Field{Name: name, Value: value})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b store.Field) int { return strings.Compare(a.Name, b.Name) })
	return list
}
