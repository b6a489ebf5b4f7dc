package llm

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"slices"
	"strings"
	"sync"
	"time"

	"agentrec/internal/dialect"
	"agentrec/internal/tape"
	"agentrec/store"

	"github.com/tidwall/gjson"
)

// relay is one request on its way to its upstream and back.
type relay struct {
	w    http.ResponseWriter
	r    *http.Request
	seen *tape.Exchange // nil when nothing is recorded

	plain  bool          // by the short way of an upstream in the clear
	header []store.Field // then the header as it came
	whole  []byte        // and the body, which has been read and recorded
	body   *question     // else; nil when the request has none

	mu        sync.Mutex
	connected bool // the upstream was reached
	answered  bool // 1xx come too late
	ended     bool // nothing more is recorded
	unread    bool // not all of the request has come
	left      bool // the agent broke its request off
}

// run forwards the request and its answer, each byte as soon as it is there. It
// panics with http.ErrAbortHandler, which cuts the agent's connection, where
// the upstream's was cut.
func (l *relay) run(upstream *transport) {
	defer l.stop()
	var answer *http.Response
	var err error
	if l.plain {
		answer, err = upstream.cleartext.roundTrip(l)
	} else {
		answer, err = upstream.RoundTrip(l.outgoing())
	}
	l.mu.Lock()
	l.answered = true
	connected := l.connected
	l.mu.Unlock()
	if err != nil {
		l.failed(err, connected)
		return
	}
	defer answer.Body.Close()
	if answer.StatusCode == http.StatusSwitchingProtocols {
		l.failed(errors.New("the upstream switched to a protocol that was not asked for"), true)
		return
	}
	end, reason := l.answer(answer)
	l.end(end, answer.Trailer, reason) // of a good end it is known already
	if end != store.Done {
		panic(http.ErrAbortHandler)
	}
	h := l.w.Header()
	for name, values := range answer.Trailer {
		h[http.TrailerPrefix+name] = values
	}
}

// answer forwards the answer and tells how that ended. An end that is good is
// recorded with the last piece.
func (l *relay) answer(answer *http.Response) (store.ExchangeEnd, string) {
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	flusher, _ := l.w.(http.Flusher)
	n, err := 0, error(nil)
	last := 0 // how long the last piece is; it is in the buffer
	if body, ok := answer.Body.(*reply); ok && body.ready() {
		n, err = body.Read(*buffer) // goes with the head
	}
	l.together(func() {
		l.seen.Answer(answer.StatusCode, fields(answer.Header))
		l.tell((*buffer)[:n], err, answer)
	})
	l.head(answer)
	if n == 0 {
		flusher.Flush()
	}
	for {
		if n > 0 {
			last = n
			if _, err := l.w.Write((*buffer)[:n]); err != nil {
				return l.brokenAfter((*buffer)[:last], store.Cancelled, err)
			}
			flusher.Flush()
		}
		if err == io.EOF {
			return store.Done, ""
		}
		if err != nil {
			return l.brokenAfter((*buffer)[:last], store.CutShort, err)
		}
		n, err = answer.Body.Read(*buffer)
		l.together(func() { l.tell((*buffer)[:n], err, answer) })
	}
}

// together records what record does with one write, if anything is recorded.
func (l *relay) together(record func()) {
	if l.seen != nil {
		l.seen.Together(record)
	}
}

// tell records one read of the answer.
func (l *relay) tell(p []byte, err error, answer *http.Response) {
	l.seen.Piece(p)
	if err == io.EOF {
		l.end(store.Done, answer.Trailer, "")
	}
}

var buffers = sync.Pool{New: func() any { b := make([]byte, 64<<10); return &b }}

// broken tells how a request ended that err has ended: an end of its context
// explains every other error.
func (l *relay) broken(end store.ExchangeEnd, err error) (store.ExchangeEnd, string) {
	l.mu.Lock()
	left := l.left
	l.mu.Unlock()
	switch cause := context.Cause(l.r.Context()); {
	case cause == nil && !left:
		return end, err.Error()
	case errors.Is(cause, errFrontClosed):
		return store.CutShort, cause.Error()
	}
	return store.Cancelled, ""
}

// brokenAfter is broken, of an answer that has come up to this piece. An agent that
// leaves, or ends, when the stream has said that it is over has all of it.
func (l *relay) brokenAfter(piece []byte, end store.ExchangeEnd, err error) (store.ExchangeEnd, string) {
	end, reason := l.broken(end, err)
	if (end == store.Cancelled || reason == errFrontClosed.Error()) && saysOver(piece) {
		return store.Done, ""
	}
	return end, reason
}

// failed ends a request that has no answer. An agent whose upstream cannot be
// reached gets 502; one whose connection broke sees ours break.
func (l *relay) failed(err error, connected bool) {
	end, reason := l.broken(store.Failed, err)
	if !connected && end == store.Failed {
		l.readUp()
	}
	l.end(end, nil, reason)
	if connected || end != store.Failed {
		panic(http.ErrAbortHandler)
	}
	l.lastOne()
	http.Error(l.w, "agentrec: "+l.r.URL.Host+" cannot be reached: "+reason, http.StatusBadGateway)
}

// The rest of a request whose upstream cannot be reached is waited for so long.
const readUpWait = time.Second

// readUp records the body of a request that no upstream has read: it tells what
// was asked, and which later request asks it again.
func (l *relay) readUp() {
	if l.body == nil || l.seen == nil {
		return
	}
	c := http.NewResponseController(l.w)
	c.SetReadDeadline(time.Now().Add(readUpWait))
	io.Copy(io.Discard, io.LimitReader(l.body, store.MaxRequestBody))
	c.SetReadDeadline(time.Time{})
}

// end records the end, once everything of the request has been.
func (l *relay) end(end store.ExchangeEnd, trailer http.Header, reason string) {
	if l.stop() && l.seen != nil {
		l.seen.End(end, fields(trailer), reason)
	}
}

// stop lets nothing more of the request be read, and tells whether it did.
func (l *relay) stop() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	was := l.ended
	l.ended = true
	return !was
}

// outgoing returns the request as it goes to its upstream: as the agent sent it,
// less what is between the agent and us alone.
func (l *relay) outgoing() *http.Request {
	r := l.r
	out := &http.Request{
		Method: r.Method, URL: r.URL, Host: r.Host, Header: r.Header.Clone(), Trailer: r.Trailer,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, ContentLength: r.ContentLength,
	}
	endToEnd(out.Header)
	if listed(r.Header["Te"], "trailers") {
		out.Header["Te"] = []string{"trailers"}
	}
	if _, ok := out.Header["User-Agent"]; !ok {
		out.Header["User-Agent"] = []string{""} // or the transport would name itself
	}
	if l.seen != nil {
		// What compression would hide from us: where one event ends and the next
		// begins.
		out.Header["Accept-Encoding"] = []string{"identity"}
	}
	if r.ContentLength != 0 {
		l.unread = true
		l.body = &question{ReadCloser: r.Body, relay: l}
		out.Body = l.body
		// Without it the server would read all of the request before it answers.
		http.NewResponseController(l.w).EnableFullDuplex()
	}
	return out.WithContext(httptrace.WithClientTrace(r.Context(), l.trace()))
}

// question is the body of a request, recorded as it is read.
type question struct {
	io.ReadCloser
	relay  *relay
	closed bool // by the transport, which wants no more of it
}

func (q *question) Read(p []byte) (int, error) {
	n, err := q.ReadCloser.Read(p)
	q.relay.mu.Lock()
	defer q.relay.mu.Unlock()
	if q.relay.ended {
		return 0, http.ErrBodyReadAfterClose
	}
	if n > 0 && q.relay.seen != nil {
		q.relay.seen.Body(p[:n])
	}
	if err == io.EOF {
		q.relay.unread = false
	}
	q.relay.left = err != nil && err != io.EOF && !q.closed
	return n, err
}

func (q *question) Close() error {
	q.relay.mu.Lock()
	q.closed = true
	connected := q.relay.connected
	q.relay.mu.Unlock()
	if !connected {
		return nil // readUp reads on; the server closes it when we are done
	}
	return q.ReadCloser.Close()
}

// trace has the transport tell what it meets on its way.
func (l *relay) trace() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { l.reached() }, Got1xxResponse: l.informed}
}

// reached notes that the upstream was reached.
func (l *relay) reached() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.connected = true
}

// informed passes on an answer that comes before the final one (1xx, RFC 9110,
// 15.2). 100 is between us and either side.
func (l *relay) informed(code int, header textproto.MIMEHeader) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if code == http.StatusContinue || code == http.StatusSwitchingProtocols || l.answered {
		return nil
	}
	h := l.w.Header()
	for name, values := range header {
		h[name] = values
	}
	l.w.WriteHeader(code)
	clear(h)
	return nil
}

// head writes the beginning of the answer.
func (l *relay) head(answer *http.Response) {
	endToEnd(answer.Header)
	h := l.w.Header()
	for name, values := range answer.Header {
		h[name] = values
	}
	for _, name := range []string{"Date", "Content-Type"} {
		if _, ok := h[name]; !ok {
			h[name] = nil // or the server would make one up
		}
	}
	for name := range answer.Trailer {
		h.Add("Trailer", name)
	}
	l.lastOne()
	l.w.WriteHeader(answer.StatusCode)
}

// lastOne has the agent's connection close after an answer to a request that has
// not come whole: net/http can not go on with it in full duplex.
func (l *relay) lastOne() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.unread && l.r.ProtoMajor == 1 {
		l.w.Header().Set("Connection", "close")
	}
}

// hopByHop are the headers between two neighbours: RFC 9110, 7.6.1.
var hopByHop = []string{"Connection", "Keep-Alive", "Proxy-Connection", "Proxy-Authenticate", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "Http2-Settings"}

// endToEnd leaves only the headers that go all the way.
func endToEnd(h http.Header) {
	for _, name := range named(h) {
		h.Del(name)
	}
	for _, name := range hopByHop {
		delete(h, name)
	}
}

// named returns the headers that Connection names: they are between neighbours, too.
func named(h http.Header) (names []string) {
	for _, line := range h["Connection"] {
		for name := range strings.SplitSeq(line, ",") {
			if name = textproto.TrimString(name); name != "" {
				names = append(names, textproto.CanonicalMIMEHeaderKey(name))
			}
		}
	}
	return names
}

// between tells whether a header of the request is between neighbours.
func (l *relay) between(name string) bool {
	return slices.Contains(hopByHop, name) || slices.Contains(named(l.r.Header), name)
}

// saysOver tells whether the last piece of a stream ends with the event that is the
// last on its wire: data: [DONE] of Chat Completions, message_stop of Messages, the
// final response of Responses, the line of Ollama that is done.
func saysOver(piece []byte) bool {
	piece, whole := bytes.CutSuffix(bytes.ReplaceAll(piece, []byte("\r\n"), []byte("\n")), []byte("\n"))
	if !whole {
		return false
	}
	piece = bytes.TrimRight(piece, "\n")
	last := piece[bytes.LastIndexByte(piece, '\n')+1:]
	data, event := bytes.CutPrefix(last, []byte("data:"))
	data = bytes.TrimSpace(data)
	switch {
	case event && string(data) == "[DONE]":
		return true
	case !dialect.Valid(data):
		return false
	case !event:
		return gjson.GetBytes(data, "done").Type == gjson.True
	}
	switch gjson.GetBytes(data, "type").Str {
	case "message_stop", "response.completed", "response.incomplete", "response.failed":
		return true
	}
	return false
}
