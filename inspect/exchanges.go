package inspect

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/url"
	"strings"

	"agentrec/internal/dialect"
	"agentrec/internal/llm"
	"agentrec/store"
)

// exchange is what views keep of an LLM exchange: no bodies, and of what they
// say the part that is new.
type exchange struct {
	Head     store.Exchange // without bodies
	Told     llm.Reading    // its Messages are the new ones only; long texts are cut
	Fresh    []int          // which messages of the request these are
	Messages int            // how many the request has
	Of       int            // tries of the same request, this one among them
	Next     int            // index of the next try; 0 is none
}

// How much of the texts of an exchange views keep, in bytes.
const (
	keptMessage = 600
	keptAnswer  = 4 << 10
)

// exchanges are those of one session, in order. The zero value is ready once
// session is set. Not for concurrent use.
type exchanges struct {
	session *store.Session
	list    []exchange
	history llm.History
	tries   map[[sha256.Size]byte][]int // indexes of the tries of a request
	open    int                         // how many were still open
	reads   int                         // how often one was read
}

// extend reads the exchanges that have been stored since, and those again that
// were open, and reports whether there were any.
func (e *exchanges) extend(ctx context.Context) (bool, error) {
	var numbers []int64
	for n := int64(1); n <= e.session.Exchanged; n++ {
		if x := e.at(n); x == nil || x.Head.End == "" {
			numbers = append(numbers, n)
		}
	}
	list, err := e.fetch(ctx, numbers)
	return e.take(list), err
}

// behind returns the numbers of the exchanges of which less has been read than
// their heads tell.
func (e *exchanges) behind(heads []store.Exchange) []int64 {
	var numbers []int64
	for i := range heads {
		h := &heads[i]
		if i < len(e.list) {
			old := &e.list[i].Head
			if old.End == h.End && old.Status == h.Status && old.Received == h.Received && old.Sent == h.Sent {
				continue
			}
		}
		numbers = append(numbers, h.Number)
	}
	return numbers
}

// readExchange is one that has been read and not yet taken in.
type readExchange struct {
	exchange
	key [sha256.Size]byte // of its request
}

// fetch reads exchanges. It changes nothing that views look at, so that it may
// go on behind them; it must not run twice at once. What was read before an
// error is returned with it.
func (e *exchanges) fetch(ctx context.Context, numbers []int64) ([]readExchange, error) {
	var out []readExchange
	for len(numbers) > 0 {
		row := 1 // as many of the numbers follow each other
		for row < len(numbers) && numbers[row] == numbers[0]+int64(row) {
			row++
		}
		last := numbers[row-1]
		for full, err := range e.session.ExchangesFrom(ctx, numbers[0]) {
			if err != nil {
				return out, fmt.Errorf("reading exchanges from %d on: %w", numbers[0], err)
			}
			out = append(out, e.read(full))
			if full.Number == last {
				break
			}
		}
		numbers = numbers[row:]
	}
	return out, nil
}

// read takes from an exchange what views keep.
func (e *exchanges) read(full store.Exchange) readExchange {
	x := readExchange{exchange: exchange{Head: headOnly(full), Told: llm.Read(full), Of: 1}, key: requestKey(&full)}
	x.Messages = len(x.Told.Messages)
	fresh := e.history.Next(x.Told)
	if known := e.at(full.Number); known != nil { // read again: what is new in it stays so
		fresh = known.Fresh
	}
	for _, k := range fresh {
		if k < x.Messages {
			x.Fresh = append(x.Fresh, k)
		}
	}
	x.keep()
	return x
}

// take takes in what fetch read, and reports whether there was anything.
func (e *exchanges) take(list []readExchange) bool {
	for _, x := range list {
		i := int(x.Head.Number - 1)
		if i < len(e.list) && e.list[i].Head.End == "" {
			e.open--
		}
		if i >= len(e.list) {
			i = len(e.list)
			e.list = append(e.list, exchange{})
		}
		if x.Head.End == "" {
			e.open++
		}
		e.reads++
		e.list[i] = x.exchange
		e.count(i, x.key)
	}
	return len(list) > 0
}

func requestKey(x *store.Exchange) [sha256.Size]byte {
	sum := sha256.New()
	fmt.Fprintf(sum, "%s %d %s ", x.Method, len(x.URL), x.URL)
	sum.Write(x.Body)
	return [sha256.Size]byte(sum.Sum(nil))
}

// count notes which try of a request an exchange is, and how many there are.
func (e *exchanges) count(i int, key [sha256.Size]byte) {
	if e.tries == nil {
		e.tries = map[[sha256.Size]byte][]int{}
	}
	list := e.tries[key]
	if len(list) > 0 && list[len(list)-1] == i {
		list = list[:len(list)-1] // read again
	}
	if e.list[i].Head.Attempt <= 1 {
		list = nil
	}
	if n := len(list); n > 0 {
		e.list[list[n-1]].Next = i
	}
	list = append(list, i)
	e.tries[key] = list
	for _, k := range list {
		e.list[k].Of = max(len(list), e.list[k].Head.Attempt)
	}
}

// at returns the exchange with this number, nil when it was not read yet.
func (e *exchanges) at(number int64) *exchange {
	if e == nil || number < 1 || number > int64(len(e.list)) {
		return nil
	}
	return &e.list[number-1]
}

// bareExchange returns what the head of an exchange tells.
func bareExchange(head store.Exchange) *exchange {
	x := &exchange{Head: head, Told: llm.Read(head), Of: max(head.Attempt, 1)}
	x.Told.Unfinished, x.Told.CutAnswer, x.Told.CutRequest = false, false, false
	return x
}

// headOnly returns an exchange without its bodies.
func headOnly(x store.Exchange) store.Exchange {
	x.Body = nil
	x.Pieces = nil
	return x
}

// keep lets go of the bodies: it cuts long texts and copies the rest.
func (x *exchange) keep() {
	r := &x.Told
	all := r.Messages
	r.Messages, r.Settings = nil, nil
	for _, k := range x.Fresh {
		r.Messages = append(r.Messages, keptCopy(all[k]))
	}
	tools := make([]llm.Tool, len(r.Tools))
	for i, t := range r.Tools {
		tools[i] = llm.Tool{Name: cutCopy(t.Name, 200)}
	}
	r.Tools = tools
	r.Text, r.Thought = cutCopy(r.Text, keptAnswer), cutCopy(r.Thought, keptMessage)
	for _, s := range []*string{&r.Model, &r.AnswerModel, &r.ID, &r.Finish, &r.Error, &r.ErrorKind} {
		*s = cutCopy(*s, 2*keptMessage)
	}
	r.Calls = keptCalls(r.Calls)
	for i := range r.Models {
		r.Models[i] = cutCopy(r.Models[i], 200)
	}
}

func keptCalls(list []dialect.Called) []dialect.Called {
	out := make([]dialect.Called, len(list))
	for i, c := range list {
		out[i] = dialect.Called{ID: cutCopy(c.ID, 200), Name: cutCopy(c.Name, 200), Args: cutCopy(c.Args, keptAnswer), Answered: c.Answered}
	}
	return out
}

// keptCopy returns a message with its texts cut, sharing no memory with it.
func keptCopy(m dialect.Message) dialect.Message {
	m.Role, m.CallID, m.Tool = strings.Clone(m.Role), cutCopy(m.CallID, 200), cutCopy(m.Tool, 200)
	m.Text, m.Reasoning, m.Calls = cutCopy(m.Text, keptMessage), cutCopy(m.Reasoning, keptMessage), keptCalls(m.Calls)
	parts := m.Parts
	m.Parts = nil
	for _, p := range parts[:min(len(parts), 20)] {
		p.Kind, p.URL, p.Text = cutCopy(p.Kind, 40), cutCopy(p.URL, keptMessage), cutCopy(p.Text, keptMessage)
		if b := p.Binary; b != nil {
			p.Binary = &dialect.Binary{MediaType: cutCopy(b.MediaType, 100), Name: cutCopy(b.Name, 200), Size: b.Size}
		}
		m.Parts = append(m.Parts, p)
	}
	return m
}

// cutCopy returns a copy of a text, cut after about n bytes with a note how
// long it is.
func cutCopy(s string, n int) string {
	if len(s) <= n {
		return strings.Clone(s)
	}
	return cutAt(s, n)
}

// place splits the URL of an exchange for people: host and path, the path with
// the names of its query but without their values.
func (x *exchange) place() (host, path string) {
	u, err := url.Parse(x.Head.URL)
	if err != nil {
		return "", x.Head.URL
	}
	path = u.Path
	if u.RawQuery != "" {
		path += "?" + u.RawQuery
	}
	return u.Host, path
}

// outcome says how an exchange ended, in a word or two, and whether that is
// wrong.
func (x *exchange) outcome() (string, tone) {
	h := &x.Head
	status := ""
	if h.Status > 0 {
		status = fmt.Sprint(h.Status)
	}
	switch {
	case h.End == "":
		return strings.TrimSpace(status + " open"), toneAsk
	case h.End == store.Failed:
		return "no answer", toneError
	case h.End == store.CutShort:
		return strings.TrimSpace(status + " cut"), toneError
	case x.cancelled():
		return strings.TrimSpace(status + " cancelled"), toneAsk
	case h.Status >= 400:
		return status, toneError
	case x.Told.Unfinished, x.Told.Error != "":
		return status + " broken", toneError
	}
	return status, toneGood
}

// cancelled reports whether the agent left before the answer was whole.
func (x *exchange) cancelled() bool {
	return llm.EndOf(&x.Head, &x.Told) == store.Cancelled
}

// failed reports whether an exchange is marked as one that went wrong.
func (x *exchange) failed() bool {
	_, t := x.outcome()
	return t == toneError
}
