package llm

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"agentrec/internal/dialect"
	"agentrec/store"
)

// What happens to a request that the recording does not hold.
const (
	MissFail        = "fail"        // it gets an error that SDKs do not retry
	MissNearest     = "nearest"     // it gets the answer of the nearest unused exchange
	MissPassthrough = "passthrough" // it goes on to the real upstream
)

// What happens to a request that comes more often than it was recorded. Lists of
// models, token counts, embeddings and GET requests always get the last answer.
const (
	ExhaustedFail  = "fail"
	ExhaustedLast  = "last"
	ExhaustedCycle = "cycle"
)

// PathPair is a path (or port, or other text) of the recording and what stands
// in its place now. Both mean the same when requests are compared, and answers
// are sent with the live one.
type PathPair struct{ Recorded, Live string }

// MockOptions says how a Mock answers. The zero value fails on a miss, fails
// when exhausted and makes hardly a pause.
type MockOptions struct {
	OnMiss    string
	Exhausted string
	Pace      float64       // 0 fast: pauses of a millisecond at most, none before an answer; else the factor of the recorded speed
	PaceCap   time.Duration // longest pause, 0 for none
	Paths     []PathPair
	Ignore    dialect.Paths       // places of a body that may differ
	Started   time.Time           // of the recorded session; dates near it and near now are those of a run
	Where     string              // the report a miss points to, "" for none
	Redact    func([]byte) []byte // hides secrets in what is told of live requests; nil hides none
	Missed    func(Miss)          // is told of each miss as it happens; calls do not overlap

	now  func() time.Time
	hang time.Duration
}

// Mock answers the requests of an agent from recorded exchanges. It is a handler
// for a Front, or alone; then it takes any path, also one that begins with the
// host of the upstream. Safe for concurrent use.
//
//	request ─► bytes equal? ─► lane ─► exact, volatile, normalised, tokens ─► answer, piece by piece
//	                                     └─ none ─► nearest ─► miss: error, report
type Mock struct {
	o       MockOptions
	matcher *matcher
	rewrite *rewriter

	mu      sync.Mutex // guards what follows
	log     reportLog
	telling sync.Mutex

	passing   sync.Once
	upstreams *transport // made when something is passed on
}

// maxRequest is how long a live request's body may be: as much as is recorded.
const maxRequest = 64 << 20

// maxHang is how long an answer that the agent had cancelled stays open at most.
const maxHang = 10 * time.Minute

// NewMock makes a mock of the exchanges, which must stay as they are while it is
// in use. The caller ends with Close.
func NewMock(exchanges []store.Exchange, o MockOptions) *Mock {
	if o.now == nil {
		o.now = time.Now
	}
	if o.hang == 0 {
		o.hang = maxHang
	}
	recorded, live := sides{ignore: o.Ignore}, sides{ignore: o.Ignore}
	if !o.Started.IsZero() {
		ended := o.Started
		for i := range exchanges {
			if at := o.Started.Add(exchanges[i].Ended); at.After(ended) {
				ended = at
			}
		}
		recorded.near.spans = []span{{o.Started, ended}}
		live.near = recorded.near // answers bring the recorded dates into later requests
	}
	for i, p := range longestFirst(o.Paths) {
		mark := fmt.Sprintf("<path %d>", i+1)
		recorded.paths, recorded.marks = append(recorded.paths, p.Recorded), append(recorded.marks, mark)
		live.paths, live.marks = append(live.paths, p.Live, p.Recorded), append(live.marks, mark, mark)
	}
	return &Mock{o: o, matcher: newMatcher(exchanges, recorded, live, o.now), rewrite: newRewriter(o.Paths)}
}

// ServeHTTP answers a request whose URL is that of the upstream.
func (m *Mock) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxRequest+1))
	if err != nil {
		panic(http.ErrAbortHandler) // the agent left, or broke off
	}
	u := m.upstream(r.URL)
	live := newLiveRequest(r.Method, u, body, r.Header.Get(retryHeader))
	if len(body) > maxRequest {
		writeError(w, live.rule, http.StatusRequestEntityTooLarge, fmt.Sprintf("agentrec: the request is longer than %d bytes, more than is recorded", maxRequest))
		return
	}
	f, miss := m.find(live, r)
	switch {
	case miss == nil, miss.Served:
		if !m.play(w, r, f.x) {
			m.left(f.x)
			panic(http.ErrAbortHandler) // where the agent is still there, because we end, it must not take this for the end
		}
	case miss.Passed:
		m.pass(w, r, u, body)
	default:
		writeError(w, live.rule, http.StatusBadRequest, m.complaint(miss))
	}
}

// upstream returns the URL a request is meant for: that of the upstream, which
// may stand as the first segment of the path where nobody else has cut it off.
func (m *Mock) upstream(u *url.URL) *url.URL {
	if m.matcher.hosts[u.Host] {
		return u
	}
	first, rest, _ := strings.Cut(strings.TrimPrefix(u.Path, "/"), "/")
	if first == "" || !m.matcher.hosts[first] {
		return u
	}
	out := *u
	out.Host, out.Path, out.RawPath = first, "/"+rest, ""
	return &out
}

// find returns the exchange that answers a request, and the miss if it is one.
func (m *Mock) find(live *liveRequest, r *http.Request) (found, *Miss) {
	n := m.came()
	l := m.matcher.lanes[live.lane()]
	if l == nil {
		m.matcher.read(l, live, r.Header)
		return found{}, m.missed(n, live, nil, nil)
	}
	f, ok := m.matcher.byBytes(l, live)
	if !ok {
		if e := m.again(live, m.matcher.servedAll(l, live)); e != nil {
			m.repeated()
			return found{entry: e, again: true}, nil
		}
		m.matcher.prepare(l) // first: ids of answers are known by it
		m.matcher.read(l, live, r.Header)
		f, ok = m.matcher.byTier(l, live)
	}
	if ok {
		m.served(n, f)
		return f, nil
	}
	before := m.matcher.served(l, live)
	if e := m.again(live, before); e != nil {
		m.repeated()
		return found{entry: e, again: true}, nil
	}
	e := m.matcher.nearest(l, live, m.o.OnMiss == MissNearest)
	return found{entry: e}, m.missed(n, live, e, before)
}

// again returns the exchange that serves a request once more, nil when none may.
func (m *Mock) again(live *liveRequest, before []*entry) *entry {
	if len(before) == 0 {
		return nil
	}
	policy := m.o.Exhausted
	if live.Again || live.method == http.MethodGet || live.method == http.MethodHead {
		policy = ExhaustedLast
	}
	switch policy {
	case ExhaustedLast:
		return m.matcher.use(before[len(before)-1:])
	case ExhaustedCycle:
		return m.matcher.use(before)
	}
	return nil
}

// complaint is what a missed request is told.
func (m *Mock) complaint(miss *Miss) string {
	text := "agentrec: " + miss.Message
	if m.o.Where != "" {
		text += "; the report is in " + m.o.Where
	}
	return text
}
