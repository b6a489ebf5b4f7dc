package inspect

import (
	"context"
	"errors"
)

// check looks for findings behind the views.
func (su *sessionUI) check() {
	if su.checking || su.checked {
		return
	}
	su.checking = true
	ctx := su.story.ctx
	own := *su.story.look
	session := *own.Session
	own.Session = &session
	su.u.workers.Go(func() {
		list, err := findingsOf(ctx, &own)
		su.u.post(func() {
			su.checking = false
			if ctx.Err() != nil {
				return
			}
			if err != nil {
				su.u.fail(err)
				return
			}
			su.checked, su.findings = true, list
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

// checkSoon checks a session that is short and ended.
func (su *sessionUI) checkSoon(ctx context.Context) {
	if su.story.look.Session.Count() <= checkedAtOnce && ctx.Err() == nil {
		su.check()
	}
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
	v.status = func() line {
		switch {
		case su.checking:
			return line{{"checking... ", toneAsk}}
		case len(su.findings) == 0:
			return line{{"check found nothing", toneGood}}
		}
		return line{{count(len(su.findings), "finding"), toneError}}
	}
	v.commands = []command{
		{name: "open", keys: []string{"Enter", "l", "Right"}, bar: "frame", help: "the frame that the finding is about", do: func(string) error {
			if len(su.findings) > 0 && su.findings[p.sel].Exchange > 0 {
				return su.openExchange(su.findings[p.sel].Exchange)
			}
			if len(su.findings) == 0 || su.findings[p.sel].Seq == 0 {
				return errors.New("this is not about one frame")
			}
			return su.openFrame(su.findings[p.sel].Seq)
		}},
	}
	return v
}
