package inspect

import (
	"errors"
	"fmt"
	"sync/atomic"

	"agentrec/store"
)

// check looks for findings behind the views, unless they are known of the
// session as it is.
func (su *sessionUI) check() {
	if su.checking != nil || su.checkedNow() {
		return
	}
	c := &checking{frames: su.story.look.Session.Count(), state: su.story.look.Session.State}
	su.checking = c
	ctx := store.Watch(su.story.ctx, func(n int) { c.read.Add(int64(n)) })
	own := *su.story.look
	session := *own.Session
	own.Session = &session
	if session.State != store.Recording { // it grows no more while it is read
		own.derived = su.story.t
	}
	su.u.workers.Go(func() {
		list, err := findingsOf(ctx, &own)
		su.u.post(func() {
			su.checking = nil
			if ctx.Err() != nil {
				return
			}
			if err != nil {
				su.u.fail(err)
				return
			}
			su.checked, su.findings = c, list
			su.marks = map[int64]string{}
			for _, f := range list {
				at := f.Seq
				if f.Exchange > 0 {
					at = -f.Exchange
				}
				if at != 0 && su.marks[at] == "" {
					su.marks[at] = f.Message
				}
			}
			if su.line != nil {
				su.line.mark(su.marks)
			}
		})
	})
}

// checking is a look for findings: of what, and how far it is.
type checking struct {
	frames int64 // of the session that is looked at
	state  store.State
	read   atomic.Int64 // frames that were read for it
}

// checkPasses is how often check reads the frames of a session.
const checkPasses = 2

// String says how far it is: "checking, 40%".
func (c *checking) String() string {
	return fmt.Sprintf("checking, %d%%", min(100*c.read.Load()/max(checkPasses*c.frames, 1), 99))
}

// checkedNow reports whether what check finds in the session as it is is known.
func (su *sessionUI) checkedNow() bool {
	c, s := su.checked, su.story.look.Session
	return c != nil && c.frames == s.Count() && c.state == s.State
}

// findingRows are the findings of a session.
type findingRows struct{ su *sessionUI }

// Len returns the number of findings.
func (r findingRows) Len() int { return len(r.su.findings) }

// Item returns a finding, wrapped.
func (r findingRows) Item(i, width int) []line {
	f := r.su.findings[i]
	l := findingLine(f)
	out := []line{l[:len(l)-1]}
	return append(out, body(tonePlain, "", f.Message, width)...)
}

// findingsView lists what check found.
func (su *sessionUI) findingsView() *view {
	su.check()
	p := newPane(su.u.theme, findingRows{su})
	p.bar = true
	v := &view{name: "findings", pane: p, search: searchLines(p)}
	v.tick = su.story.grow
	v.status = func() line {
		switch {
		case su.checking != nil:
			return line{{su.checking.String() + " ", toneAsk}}
		case su.checked == nil:
			return line{{"it could not be checked", toneError}}
		case len(su.findings) == 0:
			return line{{"check found nothing", toneGood}}
		}
		l := line{{count(findingsIn(su.findings), "finding"), toneError}}
		if !su.checkedNow() {
			l = l.add(toneAsk, fmt.Sprintf(" up to frame %d; 4 looks again", su.checked.frames))
		}
		return l
	}
	v.commands = []command{
		{name: "open", keys: []string{"Enter", "l", "Right"}, bar: "frame", help: "the frame that the finding is about", do: func(string) error {
			if len(su.findings) == 0 {
				return errors.New("there is no finding to open")
			}
			switch f := su.findings[p.sel]; {
			case f.Exchange > 0:
				return su.openExchange(f.Exchange)
			case f.Seq == 0:
				return errors.New("this is not about one frame")
			default:
				return su.openFrame(f.Seq)
			}
		}},
	}
	return v
}
