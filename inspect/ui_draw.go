package inspect

import (
	"strings"

	"github.com/gdamore/tcell/v2"
	"github.com/rivo/uniseg"
)

// draw draws l at x, y in w columns, filled with blanks, and is the only place
// where text reaches the screen of the UI: whatever a span holds is escaped
// here. base is the style that tones are laid over; selected reverses the line.
func draw(screen tcell.Screen, x, y, w int, l line, t *theme, base tcell.Style, selected bool) {
	used := 0
	for _, s := range l {
		if used >= w {
			break
		}
		style := t.over(base, s.Tone, selected)
		text := visible(cutForScreen(s.Text, w-used))
		state := -1
		for text != "" {
			var cluster string
			var cw int
			cluster, text, cw, state = uniseg.FirstGraphemeClusterInString(text, state)
			if cw == 0 {
				continue // a mark with nothing to stand on
			}
			if used+cw > w {
				used = w
				break
			}
			rs := []rune(cluster)
			screen.SetContent(x+used, y, rs[0], rs[1:], style)
			for i := 1; i < cw; i++ {
				screen.SetContent(x+used+i, y, ' ', nil, style)
			}
			used += cw
		}
	}
	rest := t.over(base, tonePlain, selected)
	for ; used < w; used++ {
		screen.SetContent(x+used, y, ' ', nil, rest)
	}
}

// cutForScreen bounds the work on a text of which w columns are shown: no
// column of ordinary text takes more than a few bytes.
func cutForScreen(s string, w int) string {
	if limit := 32 * (w + 1); len(s) > limit {
		return s[:limit]
	}
	return s
}

// mark returns l with the text that is searched for in the tone of a hit.
func (p *pane) mark(l line) line {
	if p.find == "" {
		return l
	}
	var out line
	for _, s := range l {
		text := s.Text
		for {
			i := strings.Index(lower(text), p.find)
			if i < 0 {
				break
			}
			out = append(out, span{text[:i], s.Tone}, span{text[i : i+len(p.find)], toneMark})
			text = text[i+len(p.find):]
		}
		out = append(out, span{text, s.Tone})
	}
	return out
}

// lower is strings.ToLower for ASCII only, so that places in the result are
// places in s.
func lower(s string) string {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c >= 'A' && c <= 'Z' {
			b := []byte(s)
			for ; i < len(b); i++ {
				if c := b[i]; c >= 'A' && c <= 'Z' {
					b[i] = c + 'a' - 'A'
				}
			}
			return string(b)
		}
	}
	return s
}
