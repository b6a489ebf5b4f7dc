package inspect

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"agentrec/internal/dialect"
	"agentrec/internal/transcript"
	"agentrec/store"
)

// maxText is how much of a giant the text of a frame shows.
const maxText = 1 << 20

// detail is one frame on the screen: as a tree, as text, as bytes, or what it
// has to do with others.
type detail struct {
	su    *sessionUI
	frame store.Frame
	raw   []byte // all of it, or the beginning of a giant
	tree  *jsonTree
	hex   *hexRows
	mode  string // "tree", "text", "bytes", "ids" or "messages"
	pane  *pane
	text  *textRows // nil until it is asked for

	standing *standing // nil until it has been found out
	looking  int64     // the frame of which it is being found out
}

// textRows is text that wraps to the width: one item a line of the text.
type textRows struct {
	lines []span
	laid  memo[[]line]
}

// Len returns the number of lines.
func (t *textRows) Len() int { return max(len(t.lines), 1) }

// Item returns a line of the text, wrapped.
func (t *textRows) Item(i, width int) []line {
	if i >= len(t.lines) {
		return []line{{}}
	}
	return t.laid.get(i, transcript.Item{}, width, func() []line {
		var out []line
		for _, l := range wrap(t.lines[i].Text, width) {
			out = append(out, line{{l, t.lines[i].Tone}})
		}
		return out
	})
}

// openFrame shows a frame.
func (su *sessionUI) openFrame(seq int64) error {
	d := &detail{su: su, mode: "tree"}
	d.pane = newPane(su.u.theme, lines{})
	if err := d.load(seq); err != nil {
		return err
	}
	v := &view{name: "frame", pane: d.pane, title: d.title, status: d.status, commands: d.commands()}
	v.close = func() { d.hex.Close() }
	v.search = searchLines(d.pane)
	v.tick = su.story.grow
	d.pane.open = func() { su.u.press("Enter") }
	su.u.push(v)
	return nil
}

// load puts a frame on the screen.
func (d *detail) load(seq int64) error {
	s := d.su.story
	f, err := s.look.Session.Frame(s.ctx, seq)
	if err != nil {
		return fmt.Errorf("reading frame %d: %w", seq, err)
	}
	raw := f.Raw
	if raw == nil && f.Size > 0 {
		if raw, err = headOfSize(s.ctx, s.look.Session, f, maxText); err != nil {
			return err
		}
	}
	if d.hex != nil {
		d.hex.Close()
	}
	d.frame, d.raw, d.hex = f, raw, newHexRows(s.ctx, s.look.Session, f)
	d.tree = nil
	if f.Raw != nil {
		d.tree = newJSONTree(f.Raw)
	}
	d.text, d.standing, d.looking = nil, nil, 0
	d.su.seq = seq
	d.setMode(d.mode)
	d.pane.home()
	return nil
}

// readable returns the text of the frame.
func (d *detail) readable() *textRows {
	if d.text == nil {
		d.text = &textRows{lines: readableText(d.raw, d.tree)}
		if more := d.frame.Size - int64(len(d.raw)); more > 0 {
			d.text.lines = append(d.text.lines, span{fmt.Sprintf("... %s more; the bytes have all of it", size(more)), toneDim})
		}
	}
	return d.text
}

// setMode chooses tree, text or bytes; a frame that is not JSON has no tree.
func (d *detail) setMode(mode string) {
	d.mode = mode
	d.pane.bar = mode == "text" || mode == "messages" || mode == "tree" && d.tree == nil // long lines are read, not stepped over
	switch {
	case mode == "bytes":
		d.pane.rows = d.hex
	case mode == "messages":
		d.pane.rows = messageRows{dialect.Messages(d.frame.Raw)}
	case mode == "ids":
		d.showIDs()
	case mode == "tree" && d.tree != nil:
		d.pane.rows = d.tree
	default:
		d.pane.rows = d.readable()
	}
	d.pane.sel, d.pane.top, d.pane.off, d.pane.tail = 0, 0, 0, false
}

// onTree reports whether the frame is shown as a tree.
func (d *detail) onTree() bool {
	t, ok := d.pane.rows.(*jsonTree)
	return ok && t != nil && t.Len() > 0
}

func (d *detail) title() line {
	s := d.su.story
	r := s.look.Dialect.Read(d.frame.Stream, d.frame.Raw)
	if d.frame.Size > store.MaxRaw {
		r.Label = "giant"
	}
	text := fmt.Sprintf(" #%d %s %s · %s · %s", d.frame.Seq, d.frame.Stream, visibleCut(dash(r.Label), 40), clock(d.frame.Time), size(d.frame.Size))
	if t := s.t; t != nil {
		if e, ok := t.Entry(d.frame.Seq); ok && e.Pair != 0 {
			word := "answer"
			if int64(e.Pair) < d.frame.Seq {
				word = "answers"
			}
			text += fmt.Sprintf(" · %s #%d, %s", word, e.Pair, lasting(t.Took(d.frame.Seq)))
		}
	}
	return plain(text)
}

func (d *detail) status() line {
	mode := d.mode
	if mode == "tree" && d.tree == nil {
		mode = "not JSON, text"
	}
	l := line{}
	if d.onTree() && d.tree.Len() > 0 {
		l = l.add(toneIn, visibleCut(d.tree.path(d.pane.sel), 60)+"  ")
	}
	return l.add(toneDim, mode)
}

func (d *detail) commands() []command {
	step := func(n int64) func(string) error {
		return func(string) error {
			seq := d.frame.Seq + n
			if seq < 1 || seq > d.su.story.look.Session.Count() {
				return errors.New("no more frames that way")
			}
			return d.load(seq)
		}
	}
	mode := func(m string) func(string) error { return func(string) error { d.setMode(m); return nil } }
	tree := func() *jsonTree {
		if d.onTree() {
			return d.tree
		}
		return nil
	}
	return append(d.su.u.foldCommands(d.pane, tree, "1 shows it"), []command{
		{name: "tree", keys: []string{"1"}, help: "the frame as a tree", do: mode("tree")},
		{name: "text", keys: []string{"2"}, help: "the frame as text, long strings as they read", do: mode("text")},
		{name: "bytes", keys: []string{"3"}, help: "the exact bytes", do: mode("bytes")},
		{name: "ids", keys: []string{"4", "i"}, help: "what the frame answers, and the ids in it with where they come from", do: mode("ids")},
		{name: "messages", keys: []string{"5", "m"}, help: "the LLM messages in the frame", do: func(string) error {
			if len(dialect.Messages(d.frame.Raw)) == 0 {
				return errors.New("there are no LLM messages in this frame")
			}
			d.setMode("messages")
			return nil
		}},
		{name: "next-mode", keys: []string{"Tab"}, bar: "view", help: "tree, text, bytes, ids", do: func(string) error {
			d.setMode(map[string]string{"tree": "text", "text": "bytes", "bytes": "ids", "ids": "tree", "messages": "tree"}[d.mode])
			return nil
		}},
		{name: "next-frame", keys: []string{"]", "J"}, bar: "next", help: "next frame", do: step(1)},
		{name: "previous-frame", keys: []string{"[", "K"}, help: "frame before", do: step(-1)},
		{name: "pair", keys: []string{"%"}, bar: "pair", help: "from a request to its answer, and back", do: func(string) error {
			seq, err := d.su.pair(d.frame.Seq)
			if err != nil {
				return err
			}
			return d.load(seq)
		}},
		{name: "copy", keys: []string{"y"}, bar: "copy", help: "copy the frame, or the value selected in the tree (OSC 52)", do: d.copy},
		{name: "save", keys: []string{"w"}, help: "write the frame's exact bytes to a new file", do: d.save},
		{name: "pager", keys: []string{"v"}, help: "open the text in $PAGER", do: func(string) error { return d.su.u.pager(strings.TrimSuffix(d.lines(), "\n")) }},
		{name: "editor", keys: []string{"V"}, help: "open a copy in $EDITOR", do: func(string) error { return d.edit() }},
		{name: "go", help: "the frame with this number", do: func(arg string) error {
			seq, err := d.su.seqOf(arg)
			if err != nil {
				return err
			}
			return d.load(seq)
		}},
	}...)
}

// copy puts the frame or the selected value on the clipboard of the terminal.
func (d *detail) copy(string) error {
	what, b := "the frame", d.raw
	if d.onTree() {
		b = d.tree.text(d.pane.sel)
		if len(b) > 1 && b[0] == '"' {
			b = []byte(transcript.Unquote(b))
		}
		if d.pane.sel > 0 {
			what = d.tree.path(d.pane.sel)
		}
	}
	return d.su.u.copy(what, b)
}

// save writes the bytes of the frame to a file that does not exist yet.
func (d *detail) save(name string) error {
	return d.su.u.save("the frame", name, fmt.Sprintf("frame-%d.json", d.frame.Seq), func(f *os.File) error {
		s := d.su.story
		r, err := s.look.Session.Reader(s.ctx, d.frame.Seq)
		if err != nil {
			return err
		}
		defer r.Close()
		_, err = f.ReadFrom(r)
		return err
	})
}

// lines is the text of the frame, made visible.
func (d *detail) lines() string {
	var b strings.Builder
	for _, l := range d.readable().lines {
		b.WriteString(visibleLines(l.Text))
		b.WriteByte('\n')
	}
	return b.String()
}

// edit opens a copy of the frame, made visible, in the editor.
func (d *detail) edit() error {
	f, err := os.CreateTemp("", "agentrec-frame-*.json")
	if err != nil {
		return fmt.Errorf("opening the editor: %w", err)
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString(d.lines())
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("opening the editor: %w", err)
	}
	argv := strings.Fields(d.su.u.environment("EDITOR"))
	if len(argv) == 0 {
		argv = []string{"vi"}
	}
	return d.su.u.external(append(argv, f.Name()), nil)
}

// readableText is prettyText with descriptions in the place of images and other
// bytes.
func readableText(raw []byte, t *jsonTree) []span {
	if t != nil {
		if bare := dialect.StripBinary(raw); len(bare) != len(raw) {
			return prettyText(bare, newJSONTree(bare))
		}
	}
	return prettyText(raw, t)
}

// prettyText renders a frame for reading: JSON one value a line, strings of
// several lines as they read.
func prettyText(raw []byte, t *jsonTree) []span {
	if t == nil {
		var out []span
		for l := range strings.SplitSeq(string(raw), "\n") {
			out = append(out, span{l, tonePlain})
		}
		return out
	}
	var out []span
	var open []int
	for i, n := range t.nodes {
		for len(open) > 0 && t.nodes[open[len(open)-1]].Next <= i {
			out = append(out, closeText(t, open[len(open)-1]))
			open = open[:len(open)-1]
		}
		head := strings.Repeat("  ", min(n.Depth, 20))
		if n.Member {
			head += n.Key + ": "
		}
		v := t.raw[n.Start:n.End]
		switch {
		case n.Children > 0:
			out = append(out, span{head + string(v[:1]), tonePlain})
			open = append(open, i)
		case v[0] == '"':
			text := transcript.Unquote(v)
			if !strings.Contains(text, "\n") {
				out = append(out, span{head + text, toneOut})
				continue
			}
			out = append(out, span{head, tonePlain})
			for l := range strings.SplitSeq(text, "\n") {
				out = append(out, span{strings.Repeat("  ", min(n.Depth, 20)+1) + l, toneOut})
			}
		default:
			out = append(out, span{head + string(v), toneCall})
		}
	}
	for i := len(open) - 1; i >= 0; i-- {
		out = append(out, closeText(t, open[i]))
	}
	return out
}

func closeText(t *jsonTree, i int) span {
	n := t.nodes[i]
	return span{strings.Repeat("  ", min(n.Depth, 20)) + string(t.raw[n.End-1:n.End]), tonePlain}
}
