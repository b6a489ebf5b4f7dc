package llm

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"agentrec/store"
)

// Full speed breaks real agents, which meet races of their own that a model never
// let them meet: phi lost a tool call in 26 of 300 runs without any pauses, and in
// none of 300 with these. So the fast pace keeps the recorded pauses behind the head
// of an answer, but none longer than fastGap and in one answer no more than fastSum
// in all; then a burst of pieces is followed by a rest, for phi keeps 2,048 events
// for its own readers and drops what does not fit. How long the model thought before
// it answered is not kept: most requests would take many times as long.
const (
	fastGap = time.Millisecond
	fastSum = 50 * time.Millisecond
	noGap   = 200 * time.Microsecond // what is shorter is not waited for: clocks wake no sooner than in a millisecond
	burst   = 256
	rest    = 2 * time.Millisecond

	// beforeCut is how long the end of a broken answer waits at least. Clients drop
	// what they have not read when a connection breaks, so that what they got would
	// be chance.
	beforeCut = 50 * time.Millisecond
)

// dropped are the headers of an answer that belong to its connection or its
// moment, or are made anew.
var dropped = map[string]bool{
	"connection": true, "keep-alive": true, "proxy-connection": true, "transfer-encoding": true, "content-length": true, "trailer": true,
	"upgrade": true, "set-cookie": true, "date": true, "alt-svc": true, "strict-transport-security": true,
}

// play sends a recorded answer as it came: status, header, each piece with a
// write of its own, and the end. It reports whether the agent took all of it.
func (m *Mock) play(w http.ResponseWriter, r *http.Request, x *store.Exchange) bool {
	ctx := r.Context()
	pieces := m.rewrite.pieces(x)
	pace := &pacer{ctx: ctx, o: &m.o, left: fastSum}
	if x.Status == 0 {
		return m.unanswered(pace, w, r, x)
	}
	if m.o.Pace > 0 && !pace.wait(x.Answered-x.Time) {
		return false
	}
	end := x.End
	if end == store.Cancelled {
		r := Read(*x)
		end = EndOf(x, &r)
	}
	whole := end == store.Done && !omitted(x)
	length := 0
	for _, p := range pieces {
		length += len(p.Bytes)
	}
	counted := m.head(w.Header(), r, x, length, whole)
	w.WriteHeader(status(x.Status))
	out := http.NewResponseController(w)
	bare := r.Method == http.MethodHead || x.Status == http.StatusNoContent || x.Status == http.StatusNotModified
	if !counted || !whole || len(pieces) > 1 {
		if out.Flush() != nil { // the head may have come long before the body
			return false
		}
	}
	last := x.Answered
	for i, p := range pieces {
		if bare {
			break
		}
		if !pace.wait(p.Time - last) {
			return false
		}
		last = p.Time
		if _, err := w.Write(p.Bytes); err != nil {
			return false
		}
		if counted && len(pieces) == 1 && whole {
			break // the end flushes it
		}
		if out.Flush() != nil {
			return false
		}
		if m.o.Pace == 0 && (i+1)%burst == 0 && !sleep(ctx, rest) {
			return false
		}
	}
	for _, f := range x.Trailer {
		w.Header().Add(http.TrailerPrefix+f.Name, f.Value)
	}
	if end == store.Cancelled {
		sleep(ctx, m.o.hang) // the agent is expected to leave
		panic(http.ErrAbortHandler)
	}
	pace.wait(x.Ended - last)
	if !whole { // it was cut there
		if len(pieces) > 0 {
			sleep(ctx, beforeCut)
		}
		panic(http.ErrAbortHandler)
	}
	return ctx.Err() == nil
}

// head sets the header of an answer and reports whether its length is announced.
func (m *Mock) head(h http.Header, r *http.Request, x *store.Exchange, length int, whole bool) bool {
	counted := false
	for _, f := range x.Answer {
		name := strings.ToLower(f.Name)
		if name == "content-length" {
			counted = true
			switch {
			case r.Method == http.MethodHead || x.Status == http.StatusNotModified:
				h.Set("Content-Length", f.Value)
			case x.Status == http.StatusNoContent:
			case whole:
				h.Set("Content-Length", strconv.Itoa(length))
			default: // more was announced than came
				announced, _ := strconv.Atoi(f.Value)
				h.Set("Content-Length", strconv.Itoa(max(announced, length+1)))
			}
		}
		if !dropped[name] {
			h.Add(f.Name, f.Value)
		}
	}
	for _, own := range []string{"Date", "Content-Type"} { // net/http would add them
		if _, ok := h[own]; !ok {
			h[own] = nil
		}
	}
	m.hasten(h, x.Status)
	return counted
}

// hasten shortens the wait before the next try that an answer asks for, as pauses
// are shortened. An answer that SDKs try again by themselves asks for none where
// pauses are none; they look at retry-after-ms first.
func (m *Mock) hasten(h http.Header, status int) {
	if m.o.Pace == 1 && m.o.PaceCap == 0 {
		return
	}
	asks := h.Get("Retry-After") != "" || h.Get("Retry-After-Ms") != ""
	tried := h.Get("X-Should-Retry") != "false" && (status == 408 || status == 409 || status == 429 || status >= 500)
	short := m.o.Pace == 0 || m.o.PaceCap > 0
	if !asks && !(tried && short) {
		return
	}
	wait := 1.0 // milliseconds
	if m.o.Pace > 0 && asks {
		ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64)
		if err != nil {
			seconds, err := strconv.ParseFloat(h.Get("Retry-After"), 64)
			if err != nil {
				return // a date, which is over
			}
			ms = seconds * 1000
		}
		wait = ms / m.o.Pace
		if m.o.PaceCap > 0 {
			wait = min(wait, float64(m.o.PaceCap)/float64(time.Millisecond))
		}
		wait = max(1, wait)
	}
	h.Set("Retry-After-Ms", strconv.FormatFloat(wait, 'f', 0, 64))
	if h.Get("Retry-After") != "" {
		h.Set("Retry-After", strconv.FormatFloat(wait/1000, 'f', 0, 64))
	}
}

// unanswered plays an exchange that had no answer.
func (m *Mock) unanswered(pace *pacer, w http.ResponseWriter, r *http.Request, x *store.Exchange) bool {
	switch x.End {
	case store.Failed:
		if !pace.wait(x.Ended - x.Time) {
			return false
		}
		if !broke(x.Error) {
			http.Error(w, "agentrec: "+r.URL.Host+" could not be reached when this was recorded: "+x.Error, http.StatusBadGateway)
			return true
		}
	case store.Cancelled:
		sleep(pace.ctx, m.o.hang)
	default:
		pace.wait(x.Ended - x.Time)
	}
	panic(http.ErrAbortHandler)
}

// broke reports whether a request failed on a connection that stood: the agent
// saw its own break, where it got 502 otherwise.
func broke(reason string) bool {
	for _, sign := range []string{"EOF", "read tcp", "write tcp", "reset", "malformed", "broken pipe"} {
		if strings.Contains(reason, sign) {
			return true
		}
	}
	return false
}

// pacer makes the pauses of one answer.
type pacer struct {
	ctx  context.Context // of the request
	o    *MockOptions
	left time.Duration // of fastSum
}

// wait waits as the recording did, at the mock's pace; false when the agent left
// meanwhile.
func (p *pacer) wait(gap time.Duration) bool {
	if gap = p.shorten(gap); gap <= 0 {
		return p.ctx.Err() == nil
	}
	return sleep(p.ctx, gap)
}

// shorten returns how long to wait for a recorded gap.
func (p *pacer) shorten(gap time.Duration) time.Duration {
	if p.o.Pace == 0 {
		if gap = min(gap, fastGap, p.left); gap < noGap {
			return 0
		}
		p.left -= gap
		return gap
	}
	gap = time.Duration(float64(gap) / p.o.Pace)
	if p.o.PaceCap > 0 {
		gap = min(gap, p.o.PaceCap)
	}
	return gap
}

func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// status returns a status that can be sent.
func status(recorded int) int {
	if recorded < 200 || recorded > 999 {
		return http.StatusBadGateway
	}
	return recorded
}

// omitted reports whether the answer is longer than what is kept of it.
func omitted(x *store.Exchange) bool { return x.Omitted > 0 && len(x.Body) < maxRequest }
