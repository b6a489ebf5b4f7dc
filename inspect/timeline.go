package inspect

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"agentrec/internal/transcript"
)

// timeMode is what the time column of a timeline shows.
type timeMode uint8

// The modes, in the order in which a key goes through them.
const (
	sinceStart timeMode = iota
	sinceRow            // since the row before
	sinceMark           // since the marked row
	ofDay
	timeModes
)

func (m timeMode) String() string {
	return [...]string{"since the start", "since the row before", "since the marked row", "of day"}[m]
}

// wideTimeline is from how many columns on a row also tells the time since the
// row before.
const wideTimeline = 100

// timeline is a session in rows: one an item, unfolded to what the item says.
type timeline struct {
	story    *story
	shown    []int // indexes of items on show, in order; nil is all
	filter   string
	compiled *transcript.Filter // of shown
	items    int                // how many items of the session shown knows
	frames   int64              // likewise
	open     map[int]bool
	marks    map[int]string // what check found, by item
	mode     timeMode
	marked   time.Duration
	rows     memo[[]line]
	blocks   memo[[]line]
}

func newTimeline(s *story) *timeline { return &timeline{story: s, open: map[int]bool{}} }

// mark puts findings, by their frames or less than 0 by their exchanges, beside
// the items they are about.
func (t *timeline) mark(findings map[int64]string) {
	t.marks = map[int]string{}
	for seq, message := range findings {
		i := -1
		if seq < 0 {
			i = t.story.t.ItemOf(-seq)
		} else {
			i = t.story.t.ItemAt(seq)
		}
		if i >= 0 {
			t.marks[i] = message
		}
	}
}

// markAt returns the finding about the item in row i, if there is one.
func (t *timeline) markAt(i int) string {
	if i < 0 || i >= t.Len() {
		return ""
	}
	return t.marks[t.index(i)]
}

// Len returns the number of items on show.
func (t *timeline) Len() int {
	if t.shown != nil {
		return len(t.shown)
	}
	return t.story.t.Len()
}

// index returns the item in row i.
func (t *timeline) index(i int) int {
	if t.shown != nil {
		return t.shown[i]
	}
	return i
}

// rowOf returns the row of item index, or of the last one on show before it.
func (t *timeline) rowOf(index int) int {
	if t.shown == nil {
		return index
	}
	return max(sort.SearchInts(t.shown, index+1)-1, 0)
}

// show puts item index on show.
func (t *timeline) show(index int) {
	if i, there := slices.BinarySearch(t.shown, index); !there {
		t.shown = slices.Insert(t.shown, i, index)
	}
}

// Item returns the row of an item, with what it says when it is open.
func (t *timeline) Item(i, width int) []line {
	index := t.index(i)
	it := t.story.t.Item(index)
	row := t.rows.get(index, it, width, func() []line {
		full := t.story.item(index, 4*maxRow)
		return []line{rowText(full, max(width-30, 10))}
	})
	out := []line{t.head(i, it, width).and(row[0])}
	if t.open[index] {
		if m := t.marks[index]; m != "" {
			out = append(out, body(toneError, "finding: ", m, width)...)
		}
		out = append(out, t.blocks.get(index, it, width, func() []line {
			full := t.story.item(index, maxBlock)
			return unfolded(full, width)
		})...)
	}
	return out
}

// unfolded is what an item says in full. A request, which a conversation only
// mentions, shows its arguments and its answer.
func unfolded(it item, width int) []line {
	if it.LLM != nil {
		return exchangeBody(it.LLM, width)
	}
	if it.Kind == transcript.KindRequest || it.Kind == transcript.KindCancel {
		return append(arguments(it.Said.Args, width), body(tonePlain, "= ", it.Said.Answer, width)...)
	}
	out := block(it.Item, it.Said, width)[1:]
	if n := len(out); it.Said.Cut && n > 0 {
		out[n-1] = line{{margin, tonePlain}, {"... cut here; v opens all of it", toneDim}}
	}
	return out
}

// head is the part of a row that depends on the row's neighbours.
func (t *timeline) head(i int, it transcript.Item, width int) line {
	mark := " "
	mt := toneDim
	switch {
	case t.marks[t.index(i)] != "":
		mark, mt = "!", toneError
	case it.Failed || it.Kind == transcript.KindError || it.Exchange != nil && t.story.exchangeOf(it).failed():
		mark, mt = "✗", toneError
	case it.Kind == transcript.KindPrompt && it.Turn >= 0:
		mark, mt = "┌", toneIn
	case it.Kind == transcript.KindEnd:
		mark, mt = "└", toneIn
	case it.Turn >= 0:
		mark, mt = "│", toneDim
	}
	l := line{{mark, mt}, {fmt.Sprintf("%10s ", t.time(i, it)), toneDim}}
	if width < wideTimeline || t.mode == sinceRow {
		return l
	}
	gap := ""
	if i > 0 {
		gap = "+" + lasting(it.Time-t.story.t.Item(t.index(i-1)).Time)
	}
	return l.add(toneDim, fmt.Sprintf("%8s ", gap))
}

func (t *timeline) time(i int, it transcript.Item) string {
	switch t.mode {
	case sinceRow:
		if i == 0 {
			return clock(it.Time)
		}
		return "+" + lasting(it.Time-t.story.t.Item(t.index(i-1)).Time)
	case sinceMark:
		return clock(it.Time - t.marked)
	case ofDay:
		return t.story.look.Session.Started.Add(it.Time).Local().Format("15:04:05")
	}
	return clock(it.Time)
}

// rowText is what a row says after its time: way, name, how many or how long,
// and the beginning of the text, in room columns.
func rowText(it item, room int) line {
	if it.Kind == transcript.KindEvent {
		text, tn := event(it.Event)
		return line{{"  ", tonePlain}, {text, tn}}
	}
	if it.LLM != nil {
		return exchangeRow(it.LLM, room)
	}
	tn := toneOf(it.Item)
	if it.Failed {
		tn = toneError
	}
	l := line{{way(it.Stream) + " ", toneDim}}.pad(tn, name(it.Item), 17)
	took := ""
	switch {
	case it.Frames > 1:
		took = fmt.Sprintf("x%d", it.Frames)
	case it.Took < 0:
		took = "open"
	case it.Answer > 0:
		took = lasting(it.Took)
	}
	l = l.add(toneDim, fmt.Sprintf("%6s ", took))
	return l.add(textTone(it, tn), visibleCut(rowSummary(it), max(room, maxRow)))
}

func textTone(it item, tn tone) tone {
	switch it.Kind {
	case transcript.KindRequest, transcript.KindCancel, transcript.KindRaw, transcript.KindGreeting, transcript.KindLog:
		return toneDim
	case transcript.KindCall:
		if !it.Failed {
			return tonePlain
		}
	}
	return tn
}

// rowSummary is the text of an item on one line.
func rowSummary(it item) string {
	text := it.Said.Text
	switch it.Kind {
	case transcript.KindCall:
		text = it.Said.Args
		if it.Answer > 0 && it.Said.Text != "" {
			text = strings.TrimLeft(text+" = "+it.Said.Text, " ")
		}
	case transcript.KindRequest, transcript.KindCancel:
		text = essence(it.Said.Args, it.Label, it.Conversation)
		if it.Failed {
			text = essence(it.Said.Answer, "", it.Conversation)
		}
	case transcript.KindPlan:
		if text == "" {
			text = it.Said.Args
		}
	case transcript.KindPermission:
		if it.Said.Answer != "" {
			text += " = " + it.Said.Answer
		}
	}
	return oneLine(text)
}

// essence is what a frame says beside what its row tells already: of JSON-RPC its
// params, result or error, of others the frame without its leading type; without
// the name of its conversation. frame may be cut.
func essence(frame, label, conversation string) string {
	for _, head := range []string{`{"type":"` + label + `",`, `{"type": "` + label + `",`} {
		if rest, ok := strings.CutPrefix(frame, head); ok {
			frame = "{" + strings.TrimLeft(rest, " ")
		}
	}
	rpc := strings.HasPrefix(frame, `{"jsonrpc"`) || strings.HasPrefix(frame, `{"method"`) || strings.HasPrefix(frame, `{"id"`)
	for _, name := range []string{`"params":`, `"error":`, `"result":`} {
		if i := strings.Index(frame, name); rpc && i > 0 {
			frame = strings.TrimSuffix(strings.TrimLeft(frame[i+len(name):], " "), "}")
			break
		}
	}
	if conversation == "" {
		return frame
	}
	value := strings.Index(frame, `"`+conversation+`",`)
	if value < 0 {
		return frame
	}
	key := strings.LastIndexAny(frame[:value], "{,") + 1
	return frame[:key] + strings.TrimLeft(frame[value+len(conversation)+len(`"",`):], " ")
}

// oneLine joins the lines of a text for a row.
func oneLine(s string) string {
	if len(s) > 4*maxRow {
		s = s[:4*maxRow]
	}
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' || r == '\t' }), " ")
}
