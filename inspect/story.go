package inspect

import (
	"context"
	"sync"

	"agentrec/internal/transcript"
	"agentrec/store"
)

// story is one session as the UI holds it, shared by the views of that session.
type story struct {
	ctx    context.Context
	look   *look
	window *window
	t      *transcript.Transcript // nil while it is being derived
	llm    *exchanges             // nil while they are being read, and where there are none
	err    error                  // why it could not be derived
	busy   int                    // searches that read t: it must not grow meanwhile

	// behind does work on another goroutine, and then what follows on the one
	// that draws, which looks for growth again when that says so
	behind   func(work func(), then func() bool)
	fetching bool
	fetched  *transcript.Growth // nil when there is nothing to be taken in

	fetchingLLM bool
	fetchedLLM  []readExchange

	indexing sync.Mutex
	text     *transcript.Text // nil until something was searched for
}

// item is what views keep of an item of the transcript.
type item struct {
	transcript.Item
	Said transcript.Content
	LLM  *exchange // of an exchange
}

func newStory(ctx context.Context, l *look) *story {
	s := &story{ctx: ctx, look: l, window: newWindow(l.Session, l.Dialect)}
	s.window.label = func(seq int64) string {
		if s.t != nil {
			if e, ok := s.t.Entry(seq); ok {
				return s.t.Label(e)
			}
		}
		return ""
	}
	return s
}

// derive reads the session for its transcript: seconds for a million frames.
// It touches nothing of the story, so that views can show frames meanwhile.
func (s *story) derive(ctx context.Context) (*transcript.Transcript, error) {
	session := *s.look.Session
	return transcript.Open(ctx, &session, s.look.Dialect)
}

// exchanges reads the exchanges of the session, nil when it has none. Like
// derive it touches nothing of the story.
func (s *story) exchanges(ctx context.Context) (*exchanges, error) {
	session := *s.look.Session
	if session.Exchanged == 0 {
		return nil, nil
	}
	x := &exchanges{session: &session}
	_, err := x.extend(ctx)
	return x, err
}

// exchangeOf returns what views keep of the exchange of an item: its head alone
// until its bodies have been read.
func (s *story) exchangeOf(it transcript.Item) *exchange {
	if x := s.llm.at(it.Exchange.Number); x != nil {
		return x
	}
	return bareExchange(*it.Exchange)
}

// index lets searches of t for a filter read only where there may be something,
// if that filter looks for a text. The first time it reads the session for that.
func (s *story) index(ctx context.Context, t *transcript.Transcript, f *transcript.Filter, progress func(seq int64)) error {
	if f.Needle().Anywhere() {
		return nil
	}
	s.indexing.Lock()
	defer s.indexing.Unlock()
	if s.text == nil {
		session := *t.Session // t may be read again meanwhile
		x, err := transcript.OpenText(ctx, &session, t.Dialect, progress)
		if err != nil || x == nil {
			return err
		}
		s.text = x
		t.UseText(x)
	}
	return s.text.Extend(ctx, progress)
}

// close gives back what the story holds.
func (s *story) close() {
	s.indexing.Lock()
	defer s.indexing.Unlock()
	s.text.Close()
}

// grow reads what has been recorded since, and reports whether there was any.
func (s *story) grow() bool {
	grown := s.growFrames()
	return s.growExchanges() || grown
}

// maxFetch is how many exchanges are read before they are shown.
const maxFetch = 100

// growExchanges takes in what was read of exchanges behind the views, and has
// more read where there is more.
func (s *story) growExchanges() bool {
	if s.t == nil || s.look.Session.Exchanged == 0 || s.fetchingLLM {
		return false
	}
	session := *s.look.Session // as it is now: it goes on while others read
	if s.llm == nil {
		s.llm = &exchanges{}
	}
	s.llm.session = &session
	changed := s.llm.take(s.fetchedLLM)
	s.fetchedLLM = nil
	numbers := s.llm.behind(s.t.Exchanges)
	if len(numbers) == 0 || s.err != nil {
		return changed
	}
	s.fetchingLLM = true
	x := s.llm
	var list []readExchange
	var err error
	s.behind(func() { list, err = x.fetch(s.ctx, numbers[:min(len(numbers), maxFetch)]) }, func() bool {
		s.fetchingLLM = false
		s.fail(err)
		s.fetchedLLM = list
		return len(list) > 0
	})
	return changed
}

func (s *story) growFrames() bool {
	if s.look.Session.State != store.Recording || s.busy > 0 {
		return false
	}
	if s.t == nil {
		before := s.look.Session.Count()
		s.fail(s.look.Session.Refresh(s.ctx))
		return s.look.Session.Count() != before
	}
	g := s.fetched
	if g == nil {
		s.fetch()
		return false
	}
	s.fetched = nil
	changed := s.t.Take(g)
	*s.look.Session = *s.t.Session
	if g.More() {
		s.fetch()
	}
	return changed
}

// fetch reads behind the views what has been recorded since; the next grow
// takes it in.
func (s *story) fetch() {
	if s.fetching {
		return
	}
	s.fetching = true
	t := s.t
	var g *transcript.Growth
	var err error
	s.behind(func() { g, err = t.Fetch(s.ctx) }, func() bool {
		s.fetching = false
		s.fail(err)
		s.fetched = g
		return g != nil
	})
}

func (s *story) fail(err error) {
	if err != nil && s.ctx.Err() == nil {
		s.err = err
	}
}

// item returns item i with its texts, each cut after limit bytes. What cannot
// be read is said in place of the text.
func (s *story) item(i, limit int) item {
	it := item{Item: s.t.Item(i)}
	if it.Exchange != nil {
		it.LLM = s.exchangeOf(it.Item)
		it.Failed = it.Failed || it.LLM.failed()
		return it
	}
	c, err := contentOf(s.ctx, s.t, it.Item, limit)
	if err != nil {
		c.Text = err.Error()
		it.Failed = true
	}
	it.Said = c
	return it
}

// contentOf is Transcript.Content with the beginning of a giant, which a
// transcript does not read.
func contentOf(ctx context.Context, t *transcript.Transcript, it transcript.Item, limit int) (transcript.Content, error) {
	c, err := t.Content(ctx, it, limit)
	if err != nil || it.Size <= store.MaxRaw || it.Frames > 1 || it.Kind == transcript.KindEvent || c.Text+c.Args != "" {
		return c, err
	}
	b, err := headOfSize(ctx, t.Session, store.Frame{Seq: it.Seq, Size: it.Size}, int64(min(limit, head)))
	c.Text, c.Cut = string(b), true
	return c, err
}

// memo keeps what was made of items, as long as the items do not change. It
// forgets everything when it is full: a screen fills it again in a moment.
type memo[T any] struct {
	kept map[int]kept[T]
}

type kept[T any] struct {
	last, answer, size int64
	width              int
	value              T
}

// memoSize is how many items are kept.
const memoSize = 512

// get returns what make returned for item i at this width.
func (m *memo[T]) get(i int, it transcript.Item, width int, make func() T) T {
	if it.Exchange != nil {
		return make() // what is known of it grows by itself
	}
	if k, ok := m.kept[i]; ok && k.last == it.Last && k.answer == it.Answer && k.size == it.Size && k.width == width {
		return k.value
	}
	if m.kept == nil || len(m.kept) >= memoSize {
		m.kept = map[int]kept[T]{}
	}
	v := make()
	m.kept[i] = kept[T]{it.Last, it.Answer, it.Size, width, v}
	return v
}
