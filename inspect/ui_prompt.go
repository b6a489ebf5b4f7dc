package inspect

import (
	"fmt"
	"strings"

	"github.com/gdamore/tcell/v2"
	"github.com/rivo/tview"
)

// typeLine lets the user type a line below the view. done gets the text when
// Enter ends it; Esc drops it. complete may offer lines for what is typed.
func (u *ui) typeLine(label, text string, complete func(text string) []string, done func(text string)) {
	t := u.theme
	in := tview.NewInputField().SetLabel(label).SetText(text).
		SetFieldStyle(tcell.StyleDefault).SetLabelStyle(t.style(toneStrong)).SetPlaceholderStyle(tcell.StyleDefault)
	in.SetBackgroundColor(tcell.ColorDefault)
	if complete != nil {
		in.SetAutocompleteStyles(tcell.ColorDefault, tcell.StyleDefault, tcell.StyleDefault.Reverse(true))
		in.SetAutocompleteFunc(func(typed string) []string {
			list := complete(typed)
			for i, s := range list {
				list[i] = tview.Escape(visible(s))
			}
			return list
		})
		in.SetAutocompletedFunc(func(chosen string, _, source int) bool {
			if source == tview.AutocompletedNavigate {
				return false
			}
			in.SetText(unescapeTags(chosen))
			return true
		})
	}
	in.SetDoneFunc(func(key tcell.Key) {
		text := in.GetText()
		u.root.input = nil
		u.app.SetFocus(u.root)
		if key == tcell.KeyEnter {
			done(text)
		}
	})
	u.root.input = in
	u.app.SetFocus(u.root)
}

// unescapeTags is the inverse of tview.Escape.
func unescapeTags(s string) string { return strings.ReplaceAll(s, "[]", "]") }

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
	}, func(text string) { u.fail(u.runCommand(text)) })
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
	u.typeLine("/", "", nil, func(text string) { u.fail(u.searchFor(text, back)) })
	return nil
}

func (u *ui) searchFor(text string, back bool) error {
	v := u.top()
	v.pane.find = lower(text)
	if text == "" {
		return nil
	}
	return v.search(text, back)
}

// again searches for the same text from where the user stands.
func (u *ui) again(back bool) error {
	v := u.top()
	if v.search == nil || v.pane.find == "" {
		return fmt.Errorf("nothing was searched for; / begins")
	}
	return v.search(v.pane.find, back)
}
