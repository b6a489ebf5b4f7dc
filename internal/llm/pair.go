package llm

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"agentrec/internal/dialect"
	"agentrec/store"
)

// Pair is an exchange of one session beside that of another which asked the
// same, or came nearest to it.
type Pair struct {
	A, B    int64  // numbers; 0 where that side has none
	Name    string // method, path and model
	Message int    // the first message of the request that differs, from 1; 0 when none does
	Role    string // of it
	List    []PairDifference
	More    int   // differences that are not listed
	Follows int64 // exchange of A that had all that differs in this request; then that is not listed again
}

// PairDifference is one place at which two paired exchanges differ. The values
// are raw JSON, "" where there is none.
type PairDifference struct {
	Part string // "request" or "answer"
	Path string // in the body of a request, or of an answer: status, text, thought, calls.N.args, finish, error, end
	A, B string
}

// Differences is how many there are.
func (p *Pair) Differences() int {
	n := len(p.List) + p.More
	if p.A == 0 || p.B == 0 || p.Follows > 0 {
		n++
	}
	return n
}

// CountDifferences is how many there are in all pairs.
func CountDifferences(list []Pair) (n int) {
	for i := range list {
		n += list[i].Differences()
	}
	return n
}

// PairOptions says what counts as a difference of two exchanges.
type PairOptions struct {
	Ignore dialect.Paths // places of the request
	From   [2]int64      // only exchanges that began behind the frame before this one of either session; 0 is all
}

// PairSessions pairs the exchanges of two sessions by what they ask, as a mock
// does, and compares the pairs. What changes from run to run (dates, ids, the
// sessions' own folders) does not count, nor does the order: parallel requests
// have none. The pairs are in the order of b, and where a alone has an exchange
// in that of a.
func PairSessions(ctx context.Context, a, b *store.Session, o PairOptions) ([]Pair, error) {
	if a.Exchanged == 0 && b.Exchanged == 0 {
		return nil, nil
	}
	var lists [2][]store.Exchange
	for side, s := range []*store.Session{a, b} {
		for x, err := range s.Exchanges(ctx) {
			if err != nil {
				return nil, fmt.Errorf("reading the exchanges of session %d: %w", s.ID, err)
			}
			if o.From[side] == 0 || x.After >= o.From[side]-1 {
				lists[side] = append(lists[side], x)
			}
		}
	}
	p := newPairing(a, b, lists[0], lists[1], o.Ignore)
	return p.pairs(), ctx.Err()
}

// pairing is how the exchanges of b find theirs among those of a: a is what was
// recorded and b what comes.
type pairing struct {
	matcher *matcher
	list    []store.Exchange // of b
	partner []*entry         // of each, nil for none
	differs []*diff          // how it asks something else, nil where it asks the same
	told    map[key]int64    // changes by the exchange of a that had them first
}

func newPairing(a, b *store.Session, as, bs []store.Exchange, ignore dialect.Paths) *pairing {
	recorded, live := sides{ignore: ignore}, sides{ignore: ignore}
	recorded.near.spans = []span{{a.Started, a.Started.Add(a.Ended)}, {b.Started, b.Started.Add(b.Ended)}}
	live.near = recorded.near
	recorded.paths, recorded.marks = folderMarks(a, b)
	live.paths, live.marks = recorded.paths, recorded.marks
	return &pairing{
		matcher: newMatcher(as, recorded, live, func() time.Time { return b.Started }), list: bs,
		partner: make([]*entry, len(bs)), differs: make([]*diff, len(bs)), told: map[key]int64{},
	}
}

// folderMarks returns the folders in which two sessions were recorded, where
// they differ, longest first, and the mark that stands for each.
func folderMarks(a, b *store.Session) (paths, marks []string) {
	type marked struct{ path, mark string }
	var list []marked
	add := func(mark, x, y string) {
		if x == y {
			return
		}
		for _, path := range []string{x, y} {
			if len(path) > 1 {
				list = append(list, marked{path, mark})
			}
		}
	}
	add("<cwd>", a.Cwd, b.Cwd)
	for _, name := range []string{store.TempFolder, store.HomeFolder} {
		add("<"+name+">", a.Folders[name], b.Folders[name])
	}
	slices.SortStableFunc(list, func(x, y marked) int { return cmp.Compare(len(y.path), len(x.path)) })
	for _, m := range list {
		paths, marks = append(paths, m.path), append(marks, m.mark)
	}
	return paths, marks
}

func (p *pairing) pairs() []Pair {
	for i := range p.list {
		p.find(i, false)
	}
	for i := range p.list {
		if p.partner[i] == nil {
			p.find(i, true)
		}
	}
	out := make([]Pair, 0, len(p.list))
	for i := range p.list {
		out = append(out, p.pair(i))
	}
	for _, e := range p.matcher.entries {
		if e.used > 0 {
			continue
		}
		at := slices.IndexFunc(out, func(q Pair) bool { return q.A > e.x.Number })
		if at < 0 {
			at = len(out)
		}
		out = slices.Insert(out, at, Pair{A: e.x.Number, Name: exchangeName(e)})
	}
	return out
}

// find looks for the partner of exchange i: one that asks the same or, with
// near, the one that is nearest.
func (p *pairing) find(i int, near bool) {
	m, live := p.matcher, p.request(i)
	l := m.lanes[live.lane()]
	if l == nil {
		return
	}
	f, ok := m.byBytes(l, live)
	if !ok {
		m.prepare(l)
		p.read(l, live, i)
		f, ok = m.byTier(l, live)
	}
	if !ok && near {
		if f.entry = m.nearest(l, live, true); f.entry != nil {
			d := compare(m.request(f.entry), live.request)
			p.differs[i] = &d
		}
	}
	if p.partner[i] = f.entry; f.entry == nil {
		return
	}
	m.prepare(l)
	for _, id := range answerIDs(&p.list[i]) { // later requests of b may name it
		if m.answers[id] == nil {
			m.answers[id] = f.entry
		}
	}
}

func (p *pairing) request(i int) *liveRequest {
	x := &p.list[i]
	return newLiveRequest(x.Method, urlOf(x), x.Body, headerValue(x.Header, retryHeader))
}

func (p *pairing) read(l *lane, live *liveRequest, i int) {
	h := http.Header{}
	for _, name := range []string{"Content-Type", "Content-Encoding"} {
		h.Set(name, headerValue(p.list[i].Header, name))
	}
	p.matcher.read(l, live, h)
}

// pair compares exchange i of b with its partner.
func (p *pairing) pair(i int) Pair {
	e, x := p.partner[i], &p.list[i]
	if e == nil {
		return Pair{B: x.Number, Name: exchangeName(&entry{x: x, url: urlOf(x)})}
	}
	out := Pair{A: e.x.Number, B: x.Number, Name: exchangeName(e)}
	if d := p.differs[i]; d != nil {
		out.Message, out.Role = d.message, d.role
		if out.Follows = p.follows(d.changes, e.x.Number); out.Follows == 0 {
			out.add("request", d)
		}
	}
	d := diff{}
	live := p.matcher.bound.tokens(*p.said(x, p.matcher.live)) // another database has other tokens
	d.value(nil, p.said(e.x, p.matcher.recorded), &live, nil)
	out.add("answer", &d)
	return out
}

func (p *Pair) add(part string, d *diff) {
	for _, one := range d.list {
		p.List = append(p.List, PairDifference{part, one.Path, one.Recorded, one.Live})
	}
	p.More += d.more
}

// follows returns the exchange that had all of these changes before, 0 for
// none, and notes who had them first.
func (p *pairing) follows(changes []key, number int64) int64 {
	first := int64(0)
	for _, c := range changes {
		n, ok := p.told[c]
		if !ok {
			first = 0
			break
		}
		first = n
	}
	for _, c := range changes {
		if _, ok := p.told[c]; !ok {
			p.told[c] = number
		}
	}
	return first
}

// said returns what an answer says, less what changes from run to run. What is
// not understood is its body.
func (p *pairing) said(x *store.Exchange, s sides) *node {
	r := Read(*x)
	v := node{kind: object}
	add := func(name string, n node) { // in the order of names
		v.keys, v.list = append(v.keys, name), append(v.list, n)
	}
	word := func(name, s string) {
		if s != "" {
			add(name, node{kind: text, text: s})
		}
	}
	if r.Wire == WireNone {
		if body := unpacked(AnswerBody(*x), headerValue(x.Answer, "Content-Encoding")); len(body) > 0 {
			add("body", bodyValue(body, headerValue(x.Answer, "Content-Type")))
		}
	}
	if len(r.Calls) > 0 {
		calls := node{kind: array}
		for i, c := range r.Calls {
			one := node{kind: object, at: int32(i), keys: []string{"args", "name"}, list: []node{{kind: text, text: c.Args}, {kind: text, text: c.Name}}}
			calls.list = append(calls.list, one)
		}
		add("calls", calls)
	}
	if end := EndOf(x, &r); end != store.Done {
		word("end", cmp.Or(string(end), "open"))
	}
	word("error", r.Error)
	word("finish", r.Finish)
	add("status", node{kind: number, text: fmt.Sprint(x.Status)})
	word("text", r.Text)
	word("thought", r.Thought)
	n := &normaliser{near: s.near, paths: s.paths, marks: s.marks}
	out := n.value(&v, walk{place: make([]string, 0, 8)}, dialect.Paths{})
	return &out
}
