package inspect

import (
	"errors"
	"fmt"
	"strings"

	"agentrec/internal/transcript"

	"github.com/gdamore/tcell/v2"
	"github.com/rivo/tview"
)

// prompt is the line being typed below the view, with what can complete it.
type prompt struct {
	field    *tview.InputField
	complete func(text string) []string // may be nil
	list     []string                   // completions of what was typed
	at       int                        // the chosen one, -1 for none
}

// maxChoices is how many completions are drawn at once.
const maxChoices = 8

// typeLine lets the user type a line below the view. done gets the text when
// Enter ends it; Esc drops it. A filter that cannot be read stays to be mended.
// complete may offer lines for what is typed, which Tab goes through.
func (u *ui) typeLine(label, text string, complete func(text string) []string, done func(text string) error) {
	field := tview.NewInputField().SetLabel(label).SetText(text).
		SetFieldStyle(tcell.StyleDefault).SetLabelStyle(u.theme.style(toneStrong)).SetPlaceholderStyle(tcell.StyleDefault)
	field.SetBackgroundColor(tcell.ColorDefault)
	field.SetDoneFunc(func(key tcell.Key) {
		text := field.GetText()
		u.root.input = nil
		u.app.SetFocus(u.root)
		if key != tcell.KeyEnter {
			return
		}
		err := done(text)
		u.fail(err)
		var wrong *transcript.FilterError
		if errors.As(err, &wrong) {
			u.typeLine(label, text, complete, done)
		}
	})
	u.root.input = &prompt{field: field, complete: complete, at: -1}
	u.app.SetFocus(u.root)
}

// key takes a key: Tab, Up and Down choose a completion, others edit the line.
func (p *prompt) key(event *tcell.EventKey, setFocus func(tview.Primitive)) {
	switch event.Key() {
	case tcell.KeyTab, tcell.KeyDown:
		p.choose(1)
		return
	case tcell.KeyBacktab, tcell.KeyUp:
		p.choose(-1)
		return
	}
	before := p.field.GetText()
	p.field.InputHandler()(event, setFocus)
	if text := p.field.GetText(); text != before {
		p.offer(text)
	}
}

// offer lists the completions of text.
func (p *prompt) offer(text string) {
	p.list, p.at = nil, -1
	if p.complete != nil && text != "" {
		p.list = p.complete(text)
	}
}

func (p *prompt) choose(step int) {
	if p.complete == nil {
		return
	}
	if len(p.list) == 0 {
		p.list = p.complete(p.field.GetText())
	}
	n := len(p.list)
	if n == 0 {
		return
	}
	if p.at < 0 && step < 0 {
		p.at = 0
	}
	p.at = (p.at + step + n) % n
	p.field.SetText(p.list[p.at])
}

// draw draws the line in row y and the completions above it.
func (p *prompt) draw(screen tcell.Screen, x, y, w, room int, t *theme) {
	p.field.SetRect(x, y, w, 1)
	p.field.Draw(screen)
	shown := min(len(p.list), maxChoices, max(room, 0))
	first := 0
	if p.at >= shown {
		first = p.at - shown + 1
	}
	most := 0
	for _, s := range p.list {
		most = max(most, width(visibleCut(s, w)))
	}
	for i := range shown {
		draw(screen, x, y-shown+i, min(most+2, w), plain(" "+visibleCut(p.list[first+i], w)), t, t.style(toneMenu), first+i == p.at)
	}
}

// typeCommand lets the user type a command; names and arguments complete.
func (u *ui) typeCommand() {
	list := u.all(u.top())
	u.typeLine(":", "", func(typed string) []string {
		if typed == "" {
			return nil
		}
		var out []string
		name, arg, hasArg := strings.Cut(typed, " ")
		for _, c := range list {
			switch {
			case !hasArg && strings.HasPrefix(c.name, name):
				out = append(out, c.name)
			case hasArg && c.name == name && c.args != nil:
				for _, a := range c.args() {
					if strings.HasPrefix(a, arg) {
						out = append(out, c.name+" "+a)
					}
				}
			}
		}
		if len(out) == 1 && out[0] == typed {
			return nil
		}
		return out
	}, u.runCommand)
}

// typeSearch searches for arg, or lets the user type what to search for.
func (u *ui) typeSearch(arg string, back bool) error {
	v := u.top()
	if v.search == nil {
		return fmt.Errorf("nothing to search in the %s view", v.name)
	}
	if arg != "" {
		return u.searchFor(arg, back)
	}
	u.typeLine("/", "", v.complete, func(text string) error { return u.searchFor(text, back) })
	return nil
}

func (u *ui) searchFor(text string, back bool) error {
	v := u.top()
	sought, find := u.sought, v.pane.find
	u.sought, v.pane.find = text, marked(text)
	if text == "" {
		return nil
	}
	err := v.search(text, back)
	var wrong *transcript.FilterError
	if errors.As(err, &wrong) { // what was searched for before still is
		u.sought, v.pane.find = sought, find
	}
	return err
}

// marked is what to mark on the screen for a search.
func marked(text string) string { return lower(strings.Trim(text, `"/`)) }

// again searches for the same text from where the user stands.
func (u *ui) again(back bool) error {
	v := u.top()
	if v.search == nil || u.sought == "" {
		return errors.New("nothing was searched for; / begins")
	}
	v.pane.find = marked(u.sought)
	return v.search(u.sought, back)
}
