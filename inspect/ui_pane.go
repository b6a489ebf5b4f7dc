package inspect

import (
	"github.com/gdamore/tcell/v2"
	"github.com/rivo/tview"
)

// rows is what a pane shows: items of one or more lines each. A pane asks only
// for the items on the screen, so an implementation reads on demand; it keeps
// what it read, for every draw asks again.
type rows interface {
	// Len returns the number of items.
	Len() int
	// Item returns the lines of item i, 0 <= i < Len(), for a width in columns:
	// at least one, never more than a screen can be filled with in a moment.
	Item(i, width int) []line
}

// pane is a list of items of which one is selected. It scrolls by lines and
// moves by items, and knows nothing of what the items mean.
type pane struct {
	*tview.Box
	theme *theme
	rows  rows
	bar   bool // mark the selected item with a bar at its left, not reversed

	sel  int    // selected item
	top  int    // first item on the screen
	off  int    // lines of it above the screen
	tail bool   // stay at the end as items come
	find string // text to mark, lower case

	open func() // the selected item was asked for: Enter, double click
}

func newPane(t *theme, r rows) *pane {
	return &pane{Box: tview.NewBox().SetBackgroundColor(tcell.ColorDefault), theme: t, rows: r}
}

// height returns the lines of item i.
func (p *pane) height(i, width int) int { return len(p.rows.Item(i, width)) }

// text returns the width of the items and the height of the screen.
func (p *pane) text() (width, height int) {
	_, _, w, h := p.GetInnerRect()
	if p.bar {
		w--
	}
	return max(w, 1), max(h, 1)
}

// settle puts selection and scroll position into range and the selected item
// on the screen.
func (p *pane) settle() {
	n := p.rows.Len()
	if n == 0 {
		p.sel, p.top, p.off = 0, 0, 0
		return
	}
	if p.tail {
		p.sel = n - 1
	}
	p.sel = min(max(p.sel, 0), n-1)
	p.top = min(max(p.top, 0), n-1)
	w, h := p.text()
	p.off = min(max(p.off, 0), p.height(p.top, w)-1)
	if p.sel < p.top {
		p.top, p.off = p.sel, 0
		return
	}
	above := -p.off // lines between the top of the screen and the item
	for i := p.top; i < p.sel && above <= h; i++ {
		above += p.height(i, w)
	}
	own := p.height(p.sel, w)
	switch {
	case p.sel == p.top && own >= h:
		if p.tail {
			p.off = own - h
		}
	case above+own <= h:
		p.fill()
	case own >= h && !p.tail:
		if above < 0 || above >= h-1 {
			p.top, p.off = p.sel, 0
		}
	default:
		p.endAt(p.sel)
	}
}

// endAt scrolls so that the last line of item i is the last of the screen.
func (p *pane) endAt(i int) {
	w, h := p.text()
	lines := p.height(i, w)
	for lines < h && i > 0 {
		i--
		lines += p.height(i, w)
	}
	p.top, p.off = i, max(lines-h, 0)
}

// fill scrolls back when lines at the bottom would stay empty.
func (p *pane) fill() {
	if p.top == 0 && p.off == 0 {
		return
	}
	w, h := p.text()
	lines := -p.off
	for i := p.top; i < p.rows.Len(); i++ {
		if lines += p.height(i, w); lines >= h {
			return
		}
	}
	p.endAt(p.rows.Len() - 1)
}

// Draw draws the items on the screen.
func (p *pane) Draw(screen tcell.Screen) {
	p.DrawForSubclass(screen, p)
	x, y, w, h := p.GetInnerRect()
	if w <= 0 || h <= 0 {
		return
	}
	p.settle()
	width, _ := p.text()
	drawn := 0
	for i, off := p.top, p.off; i < p.rows.Len() && drawn < h; i, off = i+1, 0 {
		for _, l := range p.rows.Item(i, width)[off:] {
			if drawn == h {
				break
			}
			style := tcell.StyleDefault
			lx := x
			if p.bar {
				lx++
				if i == p.sel {
					screen.SetContent(x, y+drawn, '▌', nil, p.theme.style(toneStrong))
				}
			}
			draw(screen, lx, y+drawn, width, p.mark(l), p.theme, style, i == p.sel && !p.bar)
			drawn++
		}
	}
}

// move selects the item n further on, and ends following.
func (p *pane) move(n int) { p.to(p.sel + n) }

// to selects item i.
func (p *pane) to(i int) {
	p.tail = false
	p.sel = min(max(i, 0), max(p.rows.Len()-1, 0))
}

// scroll moves the screen by n lines; the selection stays on it.
func (p *pane) scroll(n int) {
	if p.rows.Len() == 0 {
		return
	}
	p.settle()
	p.tail = false
	w, h := p.text()
	for ; n > 0; n-- {
		if p.off++; p.off >= p.height(p.top, w) {
			if p.top+1 >= p.rows.Len() {
				p.off--
				break
			}
			p.top, p.off = p.top+1, 0
		}
	}
	for ; n < 0; n++ {
		if p.off--; p.off < 0 {
			if p.top == 0 {
				p.off = 0
				break
			}
			p.top--
			p.off = p.height(p.top, w) - 1
		}
	}
	p.fill()
	first := p.top
	last, lines := p.top, p.height(p.top, w)-p.off
	for last+1 < p.rows.Len() && lines+p.height(last+1, w) <= h {
		last++
		lines += p.height(last, w)
	}
	if p.off > 0 && first < last {
		first++
	}
	p.sel = min(max(p.sel, first), last)
}

// down is one step of reading: a line when the selected item goes on below the
// screen, else the next item. up is its inverse.
func (p *pane) down() { p.step(1) }
func (p *pane) up()   { p.step(-1) }

func (p *pane) step(n int) {
	if p.rows.Len() == 0 {
		return
	}
	p.settle()
	if p.bar && p.reads(n) {
		p.tail = false
		return
	}
	p.move(n)
}

// reads scrolls one line when the selected item goes on beyond the screen in
// the direction of n, and reports whether it does.
func (p *pane) reads(n int) bool {
	w, h := p.text()
	if n < 0 {
		if p.sel != p.top || p.off == 0 {
			return false
		}
		p.off--
		return true
	}
	below := -p.off
	for i := p.top; i <= p.sel; i++ {
		below += p.height(i, w)
	}
	if below <= h {
		return false
	}
	if p.off++; p.off >= p.height(p.top, w) {
		p.top, p.off = p.top+1, 0
	}
	return true
}

// page moves by n screens.
func (p *pane) page(n int) {
	_, h := p.text()
	before := p.top*1e6 + p.off
	old := p.sel
	p.scroll(n * max(h-1, 1))
	if p.top*1e6+p.off == before {
		if n > 0 {
			p.to(p.rows.Len() - 1)
		} else {
			p.to(0)
		}
	} else if !p.bar && p.sel == old {
		p.move(n * max(h-1, 1))
	}
}

// home and end select the first and the last item; at the end the pane stays
// there while items come.
func (p *pane) home() { p.to(0); p.off = 0 }
func (p *pane) end()  { p.to(p.rows.Len() - 1); p.tail = true }

// at returns the item drawn in screen row y, -1 for none.
func (p *pane) at(y int) int {
	_, top, _, h := p.GetInnerRect()
	line := y - top
	if line < 0 || line >= h {
		return -1
	}
	w, _ := p.text()
	at := -p.off
	for i := p.top; i < p.rows.Len(); i++ {
		if at += p.height(i, w); line < at {
			return i
		}
	}
	return -1
}

// MouseHandler selects by click, opens by double click, scrolls by wheel.
func (p *pane) MouseHandler() func(action tview.MouseAction, event *tcell.EventMouse, setFocus func(tview.Primitive)) (bool, tview.Primitive) {
	return p.WrapMouseHandler(func(action tview.MouseAction, event *tcell.EventMouse, _ func(tview.Primitive)) (bool, tview.Primitive) {
		_, y := event.Position()
		if !p.InRect(event.Position()) {
			return false, nil
		}
		switch action {
		case tview.MouseScrollUp:
			p.scroll(-3)
		case tview.MouseScrollDown:
			p.scroll(3)
		case tview.MouseLeftClick, tview.MouseLeftDoubleClick:
			i := p.at(y)
			if i < 0 {
				return true, nil
			}
			p.to(i)
			if action == tview.MouseLeftDoubleClick && p.open != nil {
				p.open()
			}
		default:
			return false, nil
		}
		return true, nil
	})
}
