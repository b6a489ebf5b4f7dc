package inspect

import (
	"fmt"
	"slices"
	"strings"
)

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
	p := newPane(u.theme, helpOf(u, v))
	u.push(&view{
		name:   "help",
		title:  func() line { return plain(" keys and commands of the " + v.name + " view") },
		pane:   p,
		search: searchLines(p),
		status: func() line { return line{{fmt.Sprintf("%d/%d", p.sel+1, p.rows.Len()), toneDim}} },
	})
}

// helpRow is a command with its keys, or a line of text without.
type helpRow struct {
	keys, name, text string
	tone             tone // of a line of text
}

type helpRows []helpRow

// helpOf is drawn from the tables of commands, and so always true. A key stands
// beside the command that gets it.
func helpOf(u *ui, v *view) helpRows {
	var out helpRows
	var taken []string
	group := func(head string, list []command) {
		if len(list) == 0 {
			return
		}
		out = append(out, helpRow{text: head, tone: toneStrong})
		for _, c := range list {
			keys := slices.DeleteFunc(slices.Clone(c.keys), func(k string) bool { return slices.Contains(taken, k) })
			taken = append(taken, keys...)
			out = append(out, helpRow{keys: strings.Join(keys, " "), name: ":" + c.name, text: c.help})
		}
		out = append(out, helpRow{})
	}
	group("In the "+v.name+" view", v.commands)
	group("Moving", u.listCommands(v))
	group("Everywhere", u.globalCommands())
	return append(out, helpRow{text: "The mouse selects, opens by double click, scrolls, clicks the keys below; right click goes back.", tone: toneDim})
}

// The columns of the help, and from which width on there is room for them.
const (
	helpKeys = 23
	helpName = 19
	wideHelp = 76
)

// Len returns the number of rows.
func (h helpRows) Len() int { return len(h) }

// Item returns a row: keys, name and what it does beside each other, on a
// narrow screen what it does below.
func (h helpRows) Item(i, width int) []line {
	r := h[i]
	if r.name == "" {
		var out []line
		for _, text := range wrap(r.text, width) {
			out = append(out, line{{text, r.tone}})
		}
		return out
	}
	front := line{}.pad(toneIn, "  "+r.keys, helpKeys).pad(toneDim, r.name, helpName)
	if width < helpKeys+helpName {
		front = line{{"  " + r.keys + "  ", toneIn}, {r.name, toneDim}}
	}
	if width < wideHelp {
		out := []line{front}
		for _, text := range wrap(r.text, max(width-len(margin), 8)) {
			out = append(out, line{{margin, tonePlain}, {text, tonePlain}})
		}
		return out
	}
	var out []line
	for _, text := range wrap(r.text, width-helpKeys-helpName) {
		out = append(out, front.add(tonePlain, text))
		front = line{}.pad(tonePlain, "", helpKeys+helpName)
	}
	return out
}
