package inspect

import (
	"strings"

	"agentrec/internal/transcript"

	"github.com/gdamore/tcell/v2"
	"github.com/rivo/uniseg"
)

// draw draws l at x, y in w columns, filled with blanks, and is the only place
// where text reaches the screen of the UI: whatever a span holds is escaped
// here. A line that is longer ends in an ellipsis. base is the style that tones
// are laid over; selected reverses the line.
func draw(screen tcell.Screen, x, y, w int, l line, t *theme, base tcell.Style, selected bool) {
	used, last := 0, 0 // columns that are drawn, and where the last character stands
	more := false      // than there is room for
	for _, s := range l {
		style := t.over(base, s.Tone, selected)
		cut := cutForScreen(s.Text, w-used)
		text := visible(cut)
		state := -1
		for text != "" && !more {
			var cluster, rest string
			var cw int
			cluster, rest, cw, state = uniseg.FirstGraphemeClusterInString(text, state)
			switch {
			case cw == 0: // a mark with nothing to stand on
			case used+cw > w:
				more = strings.Trim(text, " ") != ""
				rest = ""
			default:
				rs := []rune(cluster)
				screen.SetContent(x+used, y, rs[0], rs[1:], style)
				for i := 1; i < cw; i++ {
					screen.SetContent(x+used+i, y, ' ', nil, style)
				}
				last = used
				used += cw
			}
			text = rest
		}
		if more = more || len(cut) < len(s.Text); more {
			break
		}
	}
	if more && w > 1 {
		if used == w {
			used = last
		}
		screen.SetContent(x+used, y, '…', nil, t.over(base, toneDim, selected))
		used++
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
	if strings.IndexFunc(s, func(r rune) bool { return 'A' <= r && r <= 'Z' }) < 0 {
		return s
	}
	return string(transcript.Lowered(nil, []byte(s)))
}
