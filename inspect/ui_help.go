package inspect

import "strings"

// lines is the simplest rows: a list of lines that are there already.
type lines []line

// Len returns the number of lines.
func (l lines) Len() int { return len(l) }

// Item returns line i.
func (l lines) Item(i, _ int) []line { return []line{l[i]} }

// help shows the keys of the view on the screen.
func (u *ui) help() {
	v := u.top()
	if v.name == "help" {
		return
	}
	p := newPane(u.theme, helpLines(u, v))
	u.push(&view{
		name:   "help",
		title:  func() line { return plain(" keys and commands of the " + v.name + " view") },
		pane:   p,
		search: searchLines(p),
	})
}

// helpLines is drawn from the tables of commands, and so always true.
func helpLines(u *ui, v *view) lines {
	var out lines
	group := func(head string, list []command) {
		if len(list) == 0 {
			return
		}
		out = append(out, line{{head, toneStrong}})
		for _, c := range list {
			out = append(out, line{}.pad(toneIn, "  "+strings.Join(c.keys, " "), 22).pad(toneDim, ":"+c.name, 16).add(tonePlain, " "+c.help))
		}
		out = append(out, line{})
	}
	group("In the "+v.name+" view", v.commands)
	group("Moving", u.listCommands(v))
	group("Everywhere", u.globalCommands())
	return append(out, line{{"The mouse selects, opens by double click, scrolls, clicks the keys below; right click goes back.", toneDim}})
}

// searchLines searches the text of a pane's rows, for panes whose rows are few.
func searchLines(p *pane) func(text string, back bool) error {
	return func(text string, back bool) error {
		text = lower(text)
		n := p.rows.Len()
		step := 1
		if back {
			step = -1
		}
		w, _ := p.text()
		for i := 1; i <= n; i++ {
			at := ((p.sel+i*step)%n + n) % n
			for _, l := range p.rows.Item(at, w) {
				if strings.Contains(lower(l.String()), text) {
					p.to(at)
					return nil
				}
			}
		}
		return notFound(text)
	}
}
