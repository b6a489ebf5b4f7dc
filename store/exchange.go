package store

import (
	"context"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Route is how an agent's LLM traffic came through agentrec.
type Route string

// The routes.
const (
	RouteBaseURL Route = "base-url" // variables pointed the agent at agentrec
	RouteMITM    Route = "mitm"     // agentrec was the agent's proxy
	RouteDirect  Route = "direct"   // agentrec stood alone in front of the server
)

// Field is one header line.
type Field struct{ Name, Value string }

// Piece is what one read of an answer's body gave.
type Piece struct {
	Time  time.Duration // since the session's start, in whole microseconds
	Bytes []byte        // read-only
}

// ExchangeEnd is how an exchange ended.
type ExchangeEnd string

// The ends of an exchange; it is empty while the exchange is open.
const (
	Done      ExchangeEnd = "done"
	CutShort  ExchangeEnd = "cut"       // the answer broke off
	Cancelled ExchangeEnd = "cancelled" // the agent left
	Failed    ExchangeEnd = "failed"    // there was no answer; Error says why
)

// What is kept of one exchange, in bytes and pieces; Exchange.Omitted counts
// the bytes beyond.
const (
	MaxRequestBody = 64 << 20
	MaxAnswerBody  = 256 << 20
	MaxPieces      = 1 << 20
)

// Exchange is one HTTP request of an agent to an LLM and the answer to it.
type Exchange struct {
	Number int64         // in the session, from 1, in order of beginning
	After  int64         // seq of the last frame stored before it began, 0 before the first
	Time   time.Duration // when it began, since the session's start, in whole microseconds
	Route  Route
	Proto  string // as the agent spoke it: "HTTP/1.1", "HTTP/2.0"
	Method string
	URL    string  // absolute, of the upstream, redacted
	Header []Field // as the agent sent it, redacted, sorted by name; the order of equal names is kept
	Body   []byte  // of the request; read-only

	Status   int           // 0 when there was no answer
	Answered time.Duration // when the head of the answer came
	Answer   []Field       // its header, likewise
	Pieces   []Piece       // its body, read by read
	Trailer  []Field

	End     ExchangeEnd
	Ended   time.Duration
	Error   string
	Omitted int64 // bytes of the bodies that are not kept

	// What follows is derived when an exchange is stored or read.
	Attempt  int   // 1, or n for the n-th try of an equal request that failed before
	Sent     int64 // length of Body, also when only the head was read
	Received int64 // length of all Pieces, likewise
}

// SetBody changes the body of the request. A content-length that told how long
// it was tells how long it is.
func (x *Exchange) SetBody(body []byte) {
	x.Header = resized(x.Header, len(x.Body), len(body))
	x.Body = body
}

// SetPieces changes the body of the answer, likewise.
func (x *Exchange) SetPieces(pieces []Piece) {
	length := func(list []Piece) (n int) {
		for _, p := range list {
			n += len(p.Bytes)
		}
		return n
	}
	x.Answer = resized(x.Answer, length(x.Pieces), length(pieces))
	x.Pieces = pieces
}

// resized returns header lines whose content-length, if it was that of a body,
// is that of another.
func resized(list []Field, was, now int) []Field {
	if was == now {
		return list
	}
	list = slices.Clone(list)
	for i, f := range list {
		if strings.EqualFold(f.Name, "content-length") && f.Value == strconv.Itoa(was) {
			list[i].Value = strconv.Itoa(now)
		}
	}
	return list
}

// FieldOf returns the value of the first header line of a name, whatever its
// case, "" when there is none.
func FieldOf(list []Field, name string) string {
	for _, f := range list {
		if strings.EqualFold(f.Name, name) {
			return f.Value
		}
	}
	return ""
}

// Exchanges yields the exchanges in order of Number. It stops at the first
// error, which it yields. One that a recording ended within is CutShort.
func (s *Session) Exchanges(ctx context.Context) iter.Seq2[Exchange, error] {
	return s.exchanges(ctx, 1, true)
}

// ExchangesFrom is Exchanges from one with this number on. Several in a row are
// read much cheaper so than one by one.
func (s *Session) ExchangesFrom(ctx context.Context, number int64) iter.Seq2[Exchange, error] {
	return s.exchanges(ctx, max(number, 1), true)
}

// ExchangeHeads is Exchanges without Body and without the Bytes of Pieces,
// which have their times; it reads no bodies and is much cheaper.
func (s *Session) ExchangeHeads(ctx context.Context) iter.Seq2[Exchange, error] {
	return s.exchanges(ctx, 1, false)
}

// Exchange returns one exchange, or ErrNotFound.
func (s *Session) Exchange(ctx context.Context, number int64) (Exchange, error) {
	x, err := s.exchange(ctx, number)
	return x.shown(s), err
}

// shown is the exchange as readers see it.
func (x Exchange) shown(s *Session) Exchange {
	if x.End == "" && x.Number > 0 && s.State != Recording {
		x.End, x.Error = CutShort, "the recording ended before it"
	}
	return x
}
