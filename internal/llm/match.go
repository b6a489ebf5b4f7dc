package llm

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"sync"
	"time"

	"agentrec/internal/redact"
	"agentrec/store"
)

// matcher finds the recorded exchange that answers a live request. Exchanges are
// compared within a lane: method, wire, path and query. Content decides, never
// the position; of equal exchanges the first that is unused serves. Safe for
// concurrent use.
//
// How much is done for a request depends on how far it is from the recording:
// equal bytes are found by their hash alone; only then it is parsed, and the
// exchanges of its lane are, once.
type matcher struct {
	recorded sides
	live     sides
	entries  []*entry
	lanes    map[string]*lane
	hosts    map[string]bool
	answers  map[string]*entry // by ids that their answers give
	now      func() time.Time

	mu    sync.Mutex // guards what follows and the entries' used
	bound bindings
}

// entry is a recorded exchange.
type entry struct {
	x      *store.Exchange
	lane   *lane
	url    *url.URL
	host   string
	retry  string // the count of tries that SDKs send with a request
	tokens bool   // the body holds redaction tokens
	used   int    // times it served
	ready  bool   // keys, messages and rest are known
	keys   [3]key
	hashes []key // of its messages
	rest   key   // of all else
	model  string
}

type lane struct {
	entries []*entry
	unused  int              // guarded by the matcher's mu
	raw     map[key][]*entry // by their bytes
	once    sync.Once
	byKey   [3]map[key][]*entry
}

// newMatcher reads the targets and hashes of the exchanges; their bodies are
// looked at when a request asks for them.
func newMatcher(exchanges []store.Exchange, recorded, live sides, now func() time.Time) *matcher {
	m := &matcher{recorded: recorded, live: live, now: now, lanes: map[string]*lane{}, hosts: map[string]bool{}, answers: map[string]*entry{}, bound: bindings{}}
	for i := range exchanges {
		x := &exchanges[i]
		u := urlOf(x)
		e := &entry{x: x, url: u, host: u.Host, retry: headerValue(x.Header, retryHeader)}
		start, _ := redact.NextToken(x.Body)
		e.tokens = start >= 0
		name := newRequest(x.Method, u).lane()
		l := m.lanes[name]
		if l == nil {
			l = &lane{raw: map[key][]*entry{}}
			m.lanes[name] = l
		}
		e.lane = l
		l.entries = append(l.entries, e)
		l.unused++
		k := sha256.Sum256(x.Body)
		l.raw[k] = append(l.raw[k], e)
		m.entries = append(m.entries, e)
		m.hosts[e.host] = true
		for _, id := range answerIDs(x) {
			if m.answers[id] == nil {
				m.answers[id] = e
			}
		}
	}
	return m
}

// urlOf returns where a request went; what is no URL is a path.
func urlOf(x *store.Exchange) *url.URL {
	u, err := url.Parse(x.URL)
	if err != nil {
		return &url.URL{Path: x.URL}
	}
	return u
}

// retryHeader is how the SDKs of OpenAI and Anthropic count tries, from 0.
const retryHeader = "X-Stainless-Retry-Count"

// prepare computes the keys of a lane's exchanges.
func (m *matcher) prepare(l *lane) {
	l.once.Do(func() {
		for tier := range l.byKey {
			l.byKey[tier] = map[key][]*entry{}
		}
		for _, e := range l.entries {
			r := m.request(e)
			e.keys = r.keys
			e.hashes, e.rest = r.hashes()
			e.model = r.modelName()
			e.ready = true
			for tier, k := range e.keys {
				l.byKey[tier][k] = append(l.byKey[tier][k], e)
			}
		}
	})
}

// request makes an entry's request ready to be compared.
func (m *matcher) request(e *entry) *request {
	body := unpacked(e.x.Body, headerValue(e.x.Header, "Content-Encoding"))
	r := newRequest(e.x.Method, e.url)
	r.parse(headerValue(e.x.Header, "Content-Type"), body)
	s := m.recorded
	s.chain = e.lane.chain(m.answers)
	r.canonise(&s)
	return r
}

// liveRequest is a request that came now. Its values are read when its bytes are
// not those of a recorded one.
type liveRequest struct {
	*request
	raw   []byte // as it came
	sum   key    // its hash
	retry string
}

func newLiveRequest(method string, u *url.URL, body []byte, retry string) *liveRequest {
	return &liveRequest{request: newRequest(method, u), raw: body, sum: sha256.Sum256(body), retry: retry}
}

// read makes a live request ready to be compared. Values that took the place of
// redaction tokens before are those tokens.
func (m *matcher) read(l *lane, live *liveRequest, h http.Header) {
	live.parse(h.Get("Content-Type"), unpacked(live.raw, h.Get("Content-Encoding")))
	m.mu.Lock()
	live.body = m.bound.tokens(live.body)
	m.mu.Unlock()
	s := m.live
	s.chain = l.chain(m.answers)
	if now := m.now(); len(s.near.spans) > 0 {
		s.near.spans = append([]span{{now, now}}, s.near.spans...)
	}
	live.canonise(&s)
}

// chain returns what tells what stands for the id of an answer: the request that
// it was given to, if that is of the lane.
func (l *lane) chain(answers map[string]*entry) func(id string) string {
	return func(id string) string {
		if e := answers[id]; e != nil && e.lane == l && e.ready {
			return hex.EncodeToString(e.keys[Normalised][:])
		}
		return ""
	}
}

// found is the exchange that answers a request.
type found struct {
	*entry
	tier  Tier
	again bool // it has served before
}

// byBytes looks for an exchange whose request is the same to the byte.
func (m *matcher) byBytes(l *lane, live *liveRequest) (found, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.take(l.raw[live.sum], Exact, live)
}

// byTier looks through the tiers, from the strictest on, and then for exchanges
// that are equal but for what redaction took out of them.
func (m *matcher) byTier(l *lane, live *liveRequest) (found, bool) {
	m.prepare(l)
	m.mu.Lock()
	defer m.mu.Unlock()
	for tier, k := range live.keys {
		if f, ok := m.take(l.byKey[tier][k], Tier(tier), live); ok {
			return f, true
		}
	}
	return m.byTokens(l, live)
}

// byTokens compares value by value with the unused exchanges that redaction has
// changed. What stands in the place of a token is bound to it.
func (m *matcher) byTokens(l *lane, live *liveRequest) (found, bool) {
	var list []*request
	var entries []*entry
	for _, e := range l.entries {
		if e.tokens && e.used == 0 && m.hostFits(e, live.host) {
			entries, list = append(entries, e), append(list, m.request(e))
		}
	}
	for tier := Exact; tier <= Normalised; tier++ {
		for i, e := range entries {
			if bound, ok := m.bound.fit(list[i].at(tier), live.at(tier)); ok && list[i].model == live.model {
				m.bound = bound
				e.serve()
				return found{entry: e, tier: tier}, true
			}
		}
	}
	return found{}, false
}

// at returns the value that a tier compares.
func (r *request) at(t Tier) *node {
	switch t {
	case Exact:
		return &r.body
	case Volatile:
		return &r.less
	}
	return &r.norm
}

// take uses the first unused exchange of a bucket. Of several, one that was the
// same try of its request goes first: equal requests may be in flight while one
// of them is tried again.
func (m *matcher) take(bucket []*entry, tier Tier, live *liveRequest) (found, bool) {
	var first *entry
	for _, e := range bucket {
		if e.used > 0 || !m.hostFits(e, live.host) {
			continue
		}
		if e.retry == live.retry {
			first = e
			break
		}
		if first == nil {
			first = e
		}
	}
	if first == nil {
		return found{}, false
	}
	first.serve()
	return found{entry: first, tier: tier}, true
}

// serve counts that an exchange serves. The caller holds the matcher's mu.
func (e *entry) serve() {
	if e.used == 0 {
		e.lane.unused--
	}
	e.used++
}

// served returns the exchanges of the strictest tier that are equal to a
// request; all have served.
func (m *matcher) served(l *lane, live *liveRequest) []*entry {
	for tier, k := range live.keys {
		if list := m.fitting(l.byKey[tier][k], live); len(list) > 0 {
			return list
		}
	}
	return nil
}

// servedAll returns the exchanges that are equal to a request to the byte, where
// no other of the lane is left that could serve it.
func (m *matcher) servedAll(l *lane, live *liveRequest) []*entry {
	m.mu.Lock()
	defer m.mu.Unlock()
	if l.unused > 0 {
		return nil
	}
	return m.fitting(l.raw[live.sum], live)
}

func (m *matcher) fitting(list []*entry, live *liveRequest) (out []*entry) {
	for _, e := range list {
		if m.hostFits(e, live.host) {
			out = append(out, e)
		}
	}
	return out
}

// use uses the exchange that has served least often, the first of such.
func (m *matcher) use(list []*entry) *entry {
	m.mu.Lock()
	defer m.mu.Unlock()
	least := list[0]
	for _, e := range list {
		if e.used < least.used {
			least = e
		}
	}
	least.serve()
	return least
}

// hostFits reports whether an exchange may serve a request to this host. A host
// that was not recorded may stand for any: base URLs change.
func (m *matcher) hostFits(e *entry, host string) bool {
	return e.host == host || !m.hosts[host]
}

// answerIDs returns the ids that the beginning of an answer gives.
func answerIDs(x *store.Exchange) []string {
	var head []byte
	for _, p := range x.Pieces {
		if len(head) >= 4<<10 {
			break
		}
		head = append(head, p.Bytes[:min(len(p.Bytes), 4<<10)]...)
	}
	var out []string
	for {
		i := bytes.Index(head, []byte(`"id"`))
		if i < 0 {
			return out
		}
		head = bytes.TrimLeft(head[i+4:], " ")
		if len(head) == 0 || head[0] != ':' {
			continue
		}
		head = bytes.TrimLeft(head[1:], " ")
		if len(head) == 0 || head[0] != '"' {
			continue
		}
		if end := bytes.IndexByte(head[1:], '"'); end > 0 {
			out = append(out, string(head[1:1+end]))
		}
	}
}
