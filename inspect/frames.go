package inspect

import (
	"fmt"

	"agentrec/internal/dialect"
	"agentrec/store"
)

// frameLine is a frame in a list: seq, time, stream, label, size and the
// beginning of its bytes. raw may be the first bytes of a giant.
func frameLine(f store.Frame, r dialect.Reading, raw []byte, room int) line {
	label, t := labelOf(f, r)
	l := line{}.add(toneDim, fmt.Sprintf("%6d %9s ", f.Seq, clock(f.Time))).
		pad(t, f.Stream.String(), 4).pad(t, label, labelWidth(room)).
		add(toneDim, fmt.Sprintf(" %7s ", size(f.Size)))
	return l.add(tonePlain, visibleCut(string(raw), room))
}

// labelOf is what a frame is called in a list, and its tone.
func labelOf(f store.Frame, r dialect.Reading) (string, tone) {
	label := r.Label
	switch {
	case f.Size > store.MaxRaw:
		label = "giant"
	case label == "" && f.Size >= bigFrame:
		label = "large"
	case label == "":
		label = "raw"
	}
	t := tonePlain
	switch {
	case r.Failed || r.Shows == dialect.ShowsError:
		t = toneError
	case f.Stream == store.In:
		t = toneIn
	case f.Stream == store.Err:
		t, label = toneErr, "stderr"
	case f.Stream == store.Out:
		t = toneOut
	}
	return label, t
}

// labelWidth is how wide labels are in a list of so many columns.
func labelWidth(columns int) int {
	if columns < 80 {
		return 16
	}
	return 24
}

// frameHead names the columns of frameLine.
func frameHead(width int) line {
	return line{}.add(toneDim, fmt.Sprintf("%6s %9s ", "frame", "time")).pad(toneDim, "way", 4).pad(toneDim, "label", labelWidth(width)).add(toneDim, fmt.Sprintf(" %7s begins", "size"))
}

// eventLine is a lifecycle event in the list of frames.
func eventLine(e *store.Event) line {
	text, t := event(e)
	return line{}.add(toneDim, fmt.Sprintf("%6s %9s ", "", clock(e.Time))).pad(t, "", 4).add(t, text)
}
