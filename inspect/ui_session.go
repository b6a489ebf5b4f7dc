package inspect

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"agentrec/internal/transcript"
	"agentrec/store"
)

// waitForTranscript is how long opening a session waits for its transcript, so
// that an ordinary session opens without a flicker; frames are shown after that.
const waitForTranscript = 80 * time.Millisecond

// longSession is from how many frames on that is not tried.
const longSession = 20_000

// sessionUI is one session in the UI: the story and the views of it, of which
// one is on the screen. They share a place: the frame that is selected.
type sessionUI struct {
	u        *ui
	story    *story
	seq      int64  // the selected frame
	exchange int64  // the selected exchange, behind that frame; 0 is none
	goal     string // the view that is wanted once there is a transcript
	line     *timeline
	hunt     *hunt // the search that was begun last

	script    script
	filtering context.CancelFunc // ends the filtering of the timeline that goes on

	findings []Finding
	checking *checking        // findings are being looked for
	checked  *checking        // what findings are of; nil when nobody looked
	marks    map[int64]string // a finding by its frame
}

// openSession shows a session from its beginning.
func (u *ui) openSession(s *store.Session) error { return u.openSessionAt(s, spot{seq: 1}) }

// workFor lets a story work behind the views until its context ends.
func (u *ui) workFor(s *story) {
	s.behind = func(work func(), then func() bool) {
		u.workers.Go(func() {
			work()
			u.post(func() {
				if then() && s.ctx.Err() == nil {
					u.tick()
				}
			})
		})
	}
}

// openSessionAt shows a session with a frame or exchange of it selected.
func (u *ui) openSessionAt(s *store.Session, at spot) error {
	d, err := transcript.DialectOf(u.ctx, s, u.dialect)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(u.ctx)
	own := *s
	su := &sessionUI{u: u, story: newStory(ctx, &look{Path: u.path, DB: u.db, Session: &own, Dialect: d}), seq: at.seq, exchange: at.exchange, goal: "timeline"}
	u.workFor(su.story)
	type derived struct {
		t   *transcript.Transcript
		err error
	}
	done := make(chan derived, 1)
	u.workers.Go(func() {
		t, err := su.story.derive(ctx)
		done <- derived{t, err}
	})
	take := func(x derived) {
		su.story.t = x.t
		if x.err != nil {
			su.story.t = nil
			su.story.fail(x.err)
			u.fail(su.story.err)
		}
		su.story.growExchanges()
		su.check()
	}
	wait := waitForTranscript
	if s.Count() > longSession {
		wait = 0
	}
	select {
	case x := <-done:
		take(x)
	case <-time.After(wait):
		u.workers.Go(func() {
			x := <-done
			u.post(func() {
				if ctx.Err() != nil {
					return
				}
				take(x)
				u.tick()
			})
		})
	}
	if s.Count() <= longSession { // of a longer one it waits for the transcript, not to read it twice
		su.check()
	}
	v := su.view(su.goal)
	v.close = func() {
		cancel()
		su.story.close()
	}
	u.push(v)
	return nil
}

// view makes a view of the session: frames while there is no transcript.
func (su *sessionUI) view(name string) *view {
	if su.story.t == nil && name != "frames" && name != "findings" && name != "exchanges" {
		su.goal = name
		name = "frames"
	}
	var v *view
	switch name {
	case "conversation":
		v = su.chatView()
	case "frames":
		v = su.framesView()
	case "findings":
		v = su.findingsView()
	case "exchanges":
		v = su.exchangesView()
	default:
		v = su.timelineView()
	}
	tick := v.tick
	v.tick = func() bool {
		news := tick()
		return news || su.checking != nil
	}
	v.title = func() line { return su.title(v.name) }
	v.complete = func(typed string) []string { return transcript.CompleteFilter(typed, su.story.t) }
	v.commands = append(v.commands, su.commands()...)
	return v
}

// show puts another view of the session in place of the one on the screen.
func (su *sessionUI) show(name string) {
	su.goal = name
	old := su.u.top()
	release := old.close
	old.close = nil
	v := su.view(name)
	v.close = release
	v.pane.tail = old.pane.tail
	su.u.replace(v)
	switch {
	case v.name == name:
	case su.story.err != nil:
		su.u.fail(su.story.err)
	default:
		su.u.say(toneDim, "reading the session; until then, its frames")
	}
}

func (su *sessionUI) title(name string) line {
	s := su.story.look.Session
	text := fmt.Sprintf(" %d", s.ID)
	if s.Name != "" {
		text += " " + visibleCut(s.Name, 24)
	}
	agent := su.story.look.Dialect.Name()
	if t := su.story.t; t != nil && t.Agent != "" {
		agent = visibleCut(t.Agent, 30)
	}
	end, _ := ending(s)
	return plain(text + " · " + name + " · " + end + " · " + count(int(s.Count()), "frame") + " · " + agent)
}

// commands are those of every view of a session.
func (su *sessionUI) commands() []command {
	show := func(name string) func(string) error { return func(string) error { su.show(name); return nil } }
	return []command{
		{name: "timeline", keys: []string{"1"}, help: "the session as a timeline", do: show("timeline")},
		{name: "conversation", keys: []string{"2"}, help: "the session as a conversation", do: show("conversation")},
		{name: "frames", keys: []string{"3"}, help: "the session frame by frame", do: show("frames")},
		{name: "findings", keys: []string{"4", "!"}, help: "what check finds in the session", do: show("findings")},
		{name: "exchanges", keys: []string{"5"}, help: "the LLM exchanges of the session", do: show("exchanges")},
		{name: "next-view", keys: []string{"Tab"}, bar: "view", help: "timeline, conversation, frames, findings, exchanges", do: func(string) error {
			next := map[string]string{"timeline": "conversation", "conversation": "frames", "frames": "findings", "findings": "exchanges", "exchanges": "timeline"}
			if su.story.look.Session.Exchanged == 0 {
				next["findings"] = "timeline"
			}
			su.show(next[su.u.top().name])
			return nil
		}},
		{name: "go", help: "go to the frame with this number", do: func(arg string) error {
			seq, err := su.seqOf(arg)
			if err == nil {
				su.goTo(seq)
			}
			return err
		}},
	}
}

// seqOf reads the number of a frame of the session.
func (su *sessionUI) seqOf(arg string) (int64, error) {
	n := su.story.look.Session.Count()
	seq, err := strconv.ParseInt(strings.TrimPrefix(arg, "#"), 10, 64)
	switch {
	case n == 0:
		return 0, errors.New("the session has no frames yet")
	case err != nil || seq < 1 || seq > n:
		return 0, fmt.Errorf("go to %q: the session has frames 1 to %d", visibleCut(arg, 40), n)
	}
	return seq, nil
}

// goTo selects a frame in the view on the screen.
func (su *sessionUI) goTo(seq int64) {
	su.seq, su.exchange = seq, 0
	v := su.u.top()
	switch r := v.pane.rows.(type) {
	case *timeline:
		v.pane.to(r.rowOf(max(su.story.t.ItemAt(seq), 0)))
	case *chat:
		v.pane.to(r.rowOf(max(su.story.t.ItemAt(seq), 0)))
	case *frameRows:
		v.pane.to(int(seq - 1))
	}
}

// frameRows is a session frame by frame.
type frameRows struct{ su *sessionUI }

// Len returns the number of frames.
func (r *frameRows) Len() int { return int(r.su.story.look.Session.Count()) }

// Item returns the line of a frame.
func (r *frameRows) Item(i, width int) []line {
	s := r.su.story
	row, err := s.window.row(s.ctx, int64(i+1))
	if err != nil {
		return []line{{{fmt.Sprintf("%6d ", i+1), toneDim}, {err.Error(), toneError}}}
	}
	return []line{frameLine(row.Frame, row.Reading, []byte(row.Begin), max(width, 20))}
}

func (su *sessionUI) framesView() *view {
	p := newPane(su.u.theme, &frameRows{su})
	v := &view{name: "frames", pane: p, head: frameHead}
	p.to(int(su.seq - 1))
	v.tick = func() bool {
		grown := su.story.grow()
		su.seq, su.exchange = int64(p.sel+1), 0
		if su.goal != "frames" && su.story.t != nil { // they were shown in place of that
			su.show(su.goal)
			return true
		}
		return grown
	}
	v.status = func() line { su.seq, su.exchange = int64(p.sel+1), 0; return su.place(p) }
	v.search = su.search
	v.commands = []command{
		{name: "open", keys: []string{"Enter", "l", "Right"}, bar: "open", help: "the frame as tree, text and bytes", do: func(string) error { return su.openFrame(int64(p.sel + 1)) }},
		{name: "pair", keys: []string{"%"}, bar: "pair", help: "from a request to its answer, and back", do: func(string) error {
			seq, err := su.pair(int64(p.sel + 1))
			if err == nil {
				p.to(int(seq - 1))
			}
			return err
		}},
	}
	return v
}

// place is where the user stands in a list, and whether it follows.
func (su *sessionUI) place(p *pane) line {
	var l line
	switch {
	case su.story.t != nil:
	case su.story.err != nil:
		l = l.add(toneError, "only its frames can be shown ")
	default:
		l = l.add(toneAsk, "reading... ")
	}
	if c := su.checking; c != nil && su.story.look.Session.Count() > longSession {
		l = l.add(toneAsk, c.String()+" ")
	}
	if p.tail && su.story.look.Session.State == store.Recording {
		l = l.add(toneGood, "following ")
	}
	n := p.rows.Len()
	l = l.and(su.huntStatus())
	return l.add(toneDim, fmt.Sprintf("%d/%d", min(p.sel+1, n), n))
}

// unread says why there is no transcript of the session.
func (su *sessionUI) unread() error {
	if su.story.err != nil {
		return su.story.err
	}
	return errors.New("the session is still being read")
}

// pair returns the frame that answers, or is answered by, a frame.
func (su *sessionUI) pair(seq int64) (int64, error) {
	t := su.story.t
	if t == nil {
		return 0, su.unread()
	}
	e, ok := t.Entry(seq)
	if ok && e.Pair != 0 {
		return int64(e.Pair), nil
	}
	if i := t.ItemAt(seq); i >= 0 {
		switch it := t.Item(i); {
		case it.Answer != 0 && it.Answer != seq && it.Seq == seq:
			return it.Answer, nil
		case it.Answer == seq:
			return it.Seq, nil
		}
	}
	return 0, fmt.Errorf("frame %d has no partner", seq)
}
