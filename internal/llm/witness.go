package llm

import (
	"io"
	"net/http"
	"net/textproto"
	"strings"

	"agentrec/internal/tape"
	"agentrec/store"
)

// Witness is the Handler that has another answer and records what passes: a
// mocked model's answers belong to the session that they are given in.
type Witness struct {
	Tape    *tape.Tape
	Route   store.Route
	Handler http.Handler
}

// ServeHTTP lets the handler answer a request whose URL is absolute.
func (v *Witness) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := fields(r.Header)
	if r.Host != r.URL.Host {
		header = fields(http.Header{"Host": {r.Host}}, r.Header)
	}
	seen := v.Tape.Exchange(tape.Request{Route: v.Route, Proto: r.Proto, Method: r.Method, URL: r.URL.String(), Header: header})
	out := &witnessed{ResponseWriter: w, seen: seen}
	end := store.CutShort // unless the handler returns
	defer func() {
		if r.Context().Err() != nil {
			end = store.Cancelled
		}
		seen.End(end, out.trailer(), "")
	}()
	if r.Body != nil {
		r = r.WithContext(r.Context()) // a copy: the body below is not the caller's
		r.Body = &heardBody{r.Body, seen}
	}
	v.Handler.ServeHTTP(out, r)
	out.head(http.StatusOK)
	end = store.Done
}

// heardBody is the body of a request, recorded as it is read.
type heardBody struct {
	io.ReadCloser
	seen *tape.Exchange
}

func (b *heardBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.seen.Body(p[:n])
	return n, err
}

// witnessed records an answer before it goes out.
type witnessed struct {
	http.ResponseWriter
	seen *tape.Exchange
	told bool
}

// Unwrap is for http.ResponseController.
func (w *witnessed) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *witnessed) head(status int) {
	if w.told || status >= 100 && status < 200 {
		return
	}
	w.told = true
	w.seen.Answer(status, fields(w.Header()))
}

// WriteHeader records the head.
func (w *witnessed) WriteHeader(status int) {
	w.head(status)
	w.ResponseWriter.WriteHeader(status)
}

// Write records a piece.
func (w *witnessed) Write(p []byte) (int, error) {
	w.head(http.StatusOK)
	w.seen.Piece(p)
	return w.ResponseWriter.Write(p)
}

// trailer returns the trailers that the handler has set.
func (w *witnessed) trailer() []store.Field {
	list := http.Header{}
	for name, values := range w.Header() {
		if bare, ok := strings.CutPrefix(name, http.TrailerPrefix); ok {
			list[textproto.CanonicalMIMEHeaderKey(bare)] = values
		}
	}
	return fields(list)
}
