package inspect

import (
	"strings"

	"github.com/gdamore/tcell/v2"
)

// theme turns tones into styles of the screen. Background and plain text are
// always the terminal's own.
type theme struct {
	name   string
	styles [tones]tcell.Style
}

// The names of the themes.
const (
	themeDark  = "dark"
	themeLight = "light"
	themeMono  = "mono"
)

func (t *theme) style(n tone) tcell.Style { return t.styles[n] }

// over lays the style of a tone over base; a selected line is reversed as a
// whole and keeps only the marks.
func (t *theme) over(base tcell.Style, n tone, selected bool) tcell.Style {
	style := t.styles[n]
	_, bg, _ := base.Decompose()
	if bg != tcell.ColorDefault {
		style = style.Background(bg)
	}
	if !selected {
		return style
	}
	_, _, attrs := style.Decompose()
	return tcell.StyleDefault.Reverse(true).Bold(attrs&tcell.AttrBold != 0 || n == toneMark).Underline(n == toneMark)
}

// themeOf chooses a theme: name when it is one, else mono without colour, else
// by COLORFGBG, which many terminals set to "foreground;background" in palette
// numbers, else dark.
func themeOf(name string, color bool, getenv func(string) string) *theme {
	switch name {
	case themeDark, themeLight, themeMono:
	default:
		name = themeDark
		if fgbg := getenv("COLORFGBG"); strings.HasSuffix(fgbg, ";15") || strings.HasSuffix(fgbg, ";7") {
			name = themeLight
		}
		if !color {
			name = themeMono
		}
	}
	d := tcell.StyleDefault
	t := &theme{name: name}
	t.styles = [tones]tcell.Style{
		toneDim: d.Dim(true), toneStrong: d.Bold(true), toneThought: d.Dim(true).Italic(true),
		toneError: d.Bold(true).Reverse(true), toneErr: d.Underline(true), toneMark: d.Reverse(true).Bold(true), toneMenu: d.Underline(true),
	}
	if name == themeMono {
		return t
	}
	pick := func(dark, light int) tcell.Style {
		if name == themeLight {
			return d.Foreground(tcell.PaletteColor(light))
		}
		return d.Foreground(tcell.PaletteColor(dark))
	}
	t.styles[toneDim] = pick(245, 243)
	t.styles[toneThought] = pick(246, 242).Italic(true)
	t.styles[toneIn] = pick(80, 30)
	t.styles[toneOut] = pick(114, 28)
	t.styles[toneCall] = pick(221, 130)
	t.styles[toneAsk] = pick(176, 90)
	t.styles[toneError] = pick(203, 160).Bold(true)
	t.styles[toneGood] = pick(114, 28)
	t.styles[toneErr] = pick(209, 124)
	t.styles[toneEvent] = pick(110, 25)
	t.styles[toneMenu] = d.Background(tcell.PaletteColor(map[string]int{themeDark: 237, themeLight: 253}[name]))
	t.styles[toneMark] = d.Background(tcell.PaletteColor(220)).Foreground(tcell.PaletteColor(16))
	return t
}
