package inspect

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gdamore/tcell/v2"
)

// command is something the user can do. The table of commands is the only
// place where keys are bound: the bar, the help and ":" are drawn from it.
type command struct {
	name string   // as typed after ":"
	keys []string // as keyName spells them
	bar  string   // one or two words in the bar; "" is not shown there
	help string
	do   func(arg string) error
	args func() []string // what may follow the name, for completion; may be nil
}

// keyName spells a key: "j", "Space", "Enter", "Ctrl-D", "PgDn", "F1".
func keyName(event *tcell.EventKey) string {
	if event.Key() == tcell.KeyRune {
		name := string(event.Rune())
		if name == " " {
			name = "Space"
		}
		if event.Modifiers()&tcell.ModAlt != 0 {
			name = "Alt-" + name
		}
		return name
	}
	if event.Key() == tcell.KeyBackspace2 {
		return "Backspace"
	}
	if name, ok := tcell.KeyNames[event.Key()]; ok {
		return name
	}
	return fmt.Sprintf("Key-%d", event.Key())
}

// all returns the commands of a view: its own, those of every list, those of
// every view. The first that has a key gets it.
func (u *ui) all(v *view) []command {
	return slices.Concat(v.commands, u.listCommands(v), u.globalCommands())
}

// press runs the command of a key.
func (u *ui) press(key string) {
	u.message = nil
	if u.pending != nil {
		answer := u.pending
		u.pending = nil
		answer(key)
		return
	}
	v := u.top()
	if v == nil {
		return
	}
	for _, c := range u.all(v) {
		if slices.Contains(c.keys, key) {
			u.fail(c.do(""))
			return
		}
	}
	u.say(toneDim, fmt.Sprintf("%s does nothing here; ? lists the keys", key))
}

// ask puts a question into the status line; the next key is the answer.
func (u *ui) ask(question string, answer func(key string)) {
	u.say(toneAsk, question)
	u.pending = answer
}

// listCommands move in a list.
func (u *ui) listCommands(v *view) []command {
	p := v.pane
	do := func(f func()) func(string) error { return func(string) error { f(); return nil } }
	return []command{
		{name: "down", keys: []string{"j", "Down", "Ctrl-N"}, help: "next row, or one line on in a long one", do: do(p.down)},
		{name: "up", keys: []string{"k", "Up", "Ctrl-P"}, help: "row before", do: do(p.up)},
		{name: "page-down", keys: []string{"PgDn", "Ctrl-F"}, help: "one screen on", do: do(func() { p.page(1) })},
		{name: "page-up", keys: []string{"PgUp", "Ctrl-B"}, help: "one screen back", do: do(func() { p.page(-1) })},
		{name: "half-down", keys: []string{"Ctrl-D"}, help: "half a screen on", do: do(func() { _, h := p.text(); p.scroll(h / 2) })},
		{name: "half-up", keys: []string{"Ctrl-U"}, help: "half a screen back", do: do(func() { _, h := p.text(); p.scroll(-h / 2) })},
		{name: "first", keys: []string{"g", "Home"}, help: "first row", do: do(p.home)},
		{name: "last", keys: []string{"G", "End"}, help: "last row; stays at the end while rows come", do: do(p.end)},
	}
}

// globalCommands work in every view.
func (u *ui) globalCommands() []command {
	return []command{
		{name: "help", keys: []string{"?", "F1"}, bar: "help", help: "the keys of this view", do: func(string) error { u.help(); return nil }},
		{name: "command", keys: []string{":"}, bar: "command", help: "run a command by its name; a number goes to that frame", do: func(string) error { u.typeCommand(); return nil }},
		{name: "search", keys: []string{"/"}, bar: "search", help: "search for text on", do: func(arg string) error { return u.typeSearch(arg, false) }},
		{name: "search-back", keys: []string{"Alt-/"}, help: "search for text back", do: func(arg string) error { return u.typeSearch(arg, true) }},
		{name: "next-hit", keys: []string{"n"}, help: "next hit", do: func(string) error { return u.again(false) }},
		{name: "previous-hit", keys: []string{"N"}, help: "hit before", do: func(string) error { return u.again(true) }},
		{name: "theme", help: "dark, light or mono", do: u.setTheme, args: func() []string { return []string{themeDark, themeLight, themeMono} }},
		{name: "redraw", keys: []string{"Ctrl-L"}, help: "draw the screen anew", do: func(string) error { u.app.Sync(); return nil }},
		{name: "back", keys: []string{"Esc", "Left", "h", "Backspace"}, bar: "back", help: "back to the view before", do: func(string) error { u.back(); return nil }},
		{name: "quit", keys: []string{"q", "Ctrl-C"}, bar: "quit", help: "leave agentrec", do: func(string) error { u.stop(); return nil }},
	}
}

// back goes to the view before; in the first view it says how to leave.
func (u *ui) back() {
	if len(u.views) < 2 {
		u.say(toneDim, "this is the first view; q leaves")
		return
	}
	u.pop()
}

func (u *ui) setTheme(name string) error {
	if !slices.Contains([]string{themeDark, themeLight, themeMono}, name) {
		return fmt.Errorf("theme %q: want dark, light or mono", name)
	}
	*u.theme = *themeOf(name, true, u.environment)
	return nil
}

// barItem is a key in the bar and what it does.
func barItem(c command) string {
	key := c.keys[0]
	return key + " " + c.bar
}

// barItems returns the commands that fit into a bar of w columns; quit and
// help are always among them.
func barItems(list []command, w int) []command {
	var out []command
	used := 0
	for _, must := range []bool{true, false} {
		for _, c := range list {
			if c.bar == "" || len(c.keys) == 0 || must != (c.name == "quit" || c.name == "help") {
				continue
			}
			n := width(barItem(c)) + 2
			if used+n > w+2 {
				continue
			}
			used += n
			out = append(out, c)
		}
	}
	// In the order of the table, the global ones last.
	slices.SortStableFunc(out, func(a, b command) int { return indexOf(list, a.name) - indexOf(list, b.name) })
	return out
}

func indexOf(list []command, name string) int {
	return slices.IndexFunc(list, func(c command) bool { return c.name == name })
}

// keyBar draws the bar.
func keyBar(list []command, w int) line {
	var l line
	for i, c := range barItems(list, w) {
		if i > 0 {
			l = l.add(tonePlain, "  ")
		}
		l = l.add(toneStrong, c.keys[0]).add(toneDim, " "+c.bar)
	}
	return l
}

// keyAt returns the key of the bar at column x.
func keyAt(list []command, w, x int) string {
	at := 0
	for _, c := range barItems(list, w) {
		n := width(barItem(c))
		if x >= at && x < at+n {
			return c.keys[0]
		}
		at += n + 2
	}
	return ""
}

// run runs what was typed after ":".
func (u *ui) runCommand(text string) error {
	text = strings.TrimSpace(text)
	if text == "" {
		return nil
	}
	name, arg, _ := strings.Cut(text, " ")
	arg = strings.TrimSpace(arg)
	v := u.top()
	list := u.all(v)
	if strings.Trim(name, "0123456789") == "" {
		name, arg = "go", name
	}
	var found []command
	for _, c := range list {
		if c.name == name {
			return c.do(arg)
		}
		if strings.HasPrefix(c.name, name) {
			found = append(found, c)
		}
	}
	switch len(found) {
	case 1:
		return found[0].do(arg)
	case 0:
		return fmt.Errorf("no command %q in this view; ? lists them", name)
	}
	names := make([]string, len(found))
	for i, c := range found {
		names[i] = c.name
	}
	return fmt.Errorf("%q begins %s", name, strings.Join(names, ", "))
}
