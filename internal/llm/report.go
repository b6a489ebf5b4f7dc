package llm

import (
	"fmt"

	"agentrec/store"

	"github.com/tidwall/gjson"
)

// MockReport says what a mock was asked for and what it answered.
type MockReport struct {
	Recorded   int       `json:"recorded"`             // exchanges
	Requests   int       `json:"requests"`             // live ones
	Served     int       `json:"served"`               // exchanges that served
	Repeated   int       `json:"repeated,omitempty"`   // answers sent once more
	Inversions int       `json:"inversions,omitempty"` // exchanges that served after one recorded later
	Inexact    []Inexact `json:"inexact,omitempty"`
	Missed     []Miss    `json:"missed,omitempty"`
	Dropped    int       `json:"dropped,omitempty"` // misses that are not listed
	Unused     []Unused  `json:"unused,omitempty"`
	Left       []int64   `json:"left,omitempty"` // exchanges whose answer the agent did not take to its end, as it had when recorded
}

// Failed returns how many requests were missed and how many exchanges unused.
func (r *MockReport) Failed() int { return len(r.Missed) + r.Dropped + len(r.Unused) }

// Inexact is a request that was recognised, though not as it was recorded.
type Inexact struct {
	Request  int    `json:"request"` // number of the live request, from 1
	Exchange int64  `json:"exchange"`
	Name     string `json:"name"` // method, path and model
	Tier     Tier   `json:"tier"`
}

// Miss is a request that the recording does not hold.
type Miss struct {
	Request     int          `json:"request"`           // number of the live request, from 1
	Name        string       `json:"name"`              // method, path and model
	Nearest     int64        `json:"nearest,omitempty"` // exchange
	First       int          `json:"first,omitempty"`   // the first message that differs, from 1
	Role        string       `json:"role,omitempty"`    // of it
	Differences []Difference `json:"differences,omitempty"`
	More        int          `json:"more_differences,omitempty"`
	Message     string       `json:"message"` // one sentence for people
	Ignore      string       `json:"ignore,omitempty"`
	Follows     int          `json:"follows,omitempty"` // an earlier missed request that had all these changes; then no differences are listed
	Served      bool         `json:"served,omitempty"`  // it got the nearest answer
	Passed      bool         `json:"passed,omitempty"`  // it went to the real upstream
}

// Unused is an exchange that nothing asked for.
type Unused struct {
	Exchange int64  `json:"exchange"`
	Name     string `json:"name"`
}

// Bounds of a report.
const (
	maxMisses  = 1000
	maxInexact = 1000
	maxUnused  = 1000
)

// reportLog is what a report is made of.
type reportLog struct {
	requests   int
	repeated   int
	inversions int
	last       int64 // highest number that served
	inexact    []Inexact
	missed     []Miss
	dropped    int
	left       []int64
	told       map[key]int // changes by the missed request that had them first
}

// Report returns what has happened so far. It may be called at any time.
func (m *Mock) Report() MockReport {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := &m.log
	r := MockReport{
		Recorded: len(m.matcher.entries), Requests: l.requests, Repeated: l.repeated, Inversions: l.inversions, Dropped: l.dropped,
		Inexact: append([]Inexact(nil), l.inexact...), Missed: append([]Miss(nil), l.missed...), Left: append([]int64(nil), l.left...),
	}
	m.matcher.mu.Lock()
	defer m.matcher.mu.Unlock()
	for _, e := range m.matcher.entries {
		switch {
		case e.used > 0:
			r.Served++
		case len(r.Unused) < maxUnused:
			r.Unused = append(r.Unused, Unused{e.x.Number, exchangeName(e)})
		}
	}
	return r
}

func (m *Mock) came() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.log.requests++
	return m.log.requests
}

func (m *Mock) served(n int, f found) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if f.x.Number < m.log.last {
		m.log.inversions++
	}
	m.log.last = max(m.log.last, f.x.Number)
	if f.tier != Exact && len(m.log.inexact) < maxInexact {
		m.log.inexact = append(m.log.inexact, Inexact{n, f.x.Number, exchangeName(f.entry), f.tier})
	}
}

func (m *Mock) repeated() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.log.repeated++
}

// left notes that the agent did not take an answer to its end.
func (m *Mock) left(x *store.Exchange) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if x.End == store.Done && len(m.log.left) < maxInexact {
		m.log.left = append(m.log.left, x.Number)
	}
}

// missed notes a miss. before are the exchanges that are equal, but have served.
func (m *Mock) missed(n int, live *liveRequest, nearest *entry, before []*entry) *Miss {
	miss := &Miss{Request: n, Name: live.name()}
	var d diff
	switch {
	case len(before) > 0:
		miss.Message = fmt.Sprintf("request %d, %s, was recorded %s and has now been sent once more", n, miss.Name, times(len(before)))
		miss.Nearest = before[len(before)-1].x.Number
	case nearest != nil:
		d = compare(m.matcher.request(nearest), live.request)
		miss.Nearest, miss.First, miss.Role = nearest.x.Number, d.message, d.role
		miss.Message = fmt.Sprintf("request %d, %s, is not in the recording; the nearest is exchange %d, which differs at %s", n, miss.Name, miss.Nearest, d.place())
	default:
		miss.Message = fmt.Sprintf("request %d, %s, is not in the recording, nor anything like it", n, miss.Name)
	}
	miss.Served = m.o.OnMiss == MissNearest && nearest != nil
	miss.Passed = m.o.OnMiss == MissPassthrough
	switch {
	case miss.Served:
		miss.Message += "; it got that answer"
	case miss.Passed:
		miss.Message += "; it went on to the real upstream"
	}
	m.telling.Lock() // so that they are told in order
	defer m.telling.Unlock()
	m.note(miss, d)
	if m.o.Missed != nil {
		m.o.Missed(*miss)
	}
	return miss
}

// note adds a miss to the report. What an earlier one has told is not told again:
// a changed message comes back in every later request.
func (m *Mock) note(miss *Miss, d diff) {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := &m.log
	for _, c := range d.changes {
		first, ok := l.told[c]
		if !ok {
			miss.Follows = 0
			break
		}
		miss.Follows = first
	}
	if miss.Follows == 0 {
		miss.Differences, miss.More, miss.Ignore = d.list, d.more, d.ignore()
		if m.o.Redact != nil {
			for i := range miss.Differences {
				miss.Differences[i].Live = string(m.o.Redact([]byte(miss.Differences[i].Live)))
			}
		}
	}
	if l.told == nil {
		l.told = map[key]int{}
	}
	for _, c := range d.changes {
		if _, ok := l.told[c]; !ok {
			l.told[c] = miss.Request
		}
	}
	if len(l.missed) < maxMisses {
		l.missed = append(l.missed, *miss)
	} else {
		l.dropped++
	}
}

// place names the first place of a difference.
func (d *diff) place() string {
	switch {
	case d.message > 0 && d.role != "":
		return fmt.Sprintf("message %d (%.40s)", d.message, d.role)
	case d.message > 0:
		return fmt.Sprintf("message %d", d.message)
	case len(d.list) > 0 && d.list[0].Path != "":
		return fmt.Sprintf("%.200s", d.list[0].Path)
	}
	return "its root"
}

// name names a request for people.
func (r *request) name() string {
	name := r.method + " " + r.path
	if r.Wire == WireGemini {
		return fmt.Sprintf("%.200s", r.method+" "+r.modelName()+r.path)
	}
	if model := r.modelName(); model != "" {
		name += " " + model
	}
	return fmt.Sprintf("%.200s", name)
}

// exchangeName names the request of an exchange without reading all of it.
func exchangeName(e *entry) string {
	r := newRequest(e.x.Method, e.url)
	if model := gjson.GetBytes(e.x.Body, "model"); model.Type == gjson.String {
		r.body = node{kind: object, keys: []string{"model"}, list: []node{{kind: text, text: model.Str}}}
	}
	return r.name()
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
