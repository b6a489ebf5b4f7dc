package inspect

import (
	"encoding/base64"
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
	text  textRows
}

// textRows is text that wraps to the width: one item a line of the text.
type textRows struct {
	lines []span
}

// Len returns the number of lines.
func (t *textRows) Len() int { return max(len(t.lines), 1) }

// Item returns a line of the text, wrapped.
func (t *textRows) Item(i, width int) []line {
	if i >= len(t.lines) {
		return []line{{}}
	}
	var out []line
	for _, l := range wrap(t.lines[i].Text, width) {
		out = append(out, line{{l, t.lines[i].Tone}})
	}
	return out
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
	d.text = textRows{lines: readableText(raw, d.tree)}
	if int64(len(raw)) < f.Size {
		d.text.lines = append(d.text.lines, span{fmt.Sprintf("... %s more; the bytes have all of it", size(f.Size-int64(len(raw)))), toneDim})
	}
	d.su.seq = seq
	d.setMode(d.mode)
	d.pane.home()
	return nil
}

// setMode chooses tree, text or bytes; a frame that is not JSON has no tree.
func (d *detail) setMode(mode string) {
	d.mode = mode
	d.pane.bar = false
	switch {
	case mode == "bytes":
		d.pane.rows = d.hex
	case mode == "messages":
		d.pane.rows = messageRows{dialect.Messages(d.frame.Raw)}
		d.pane.bar = true
	case mode == "ids":
		s := d.su.story
		d.pane.rows = idLines(s.ctx, s.look.Session, s.look.Dialect, s.t, d.frame)
	case mode == "tree" && d.tree != nil:
		d.pane.rows = d.tree
	default:
		d.pane.rows = &d.text
	}
	d.pane.sel, d.pane.top, d.pane.off = 0, 0, 0
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
	onTree := func(f func()) func(string) error {
		return func(string) error {
			if !d.onTree() {
				return errors.New("only a tree folds; 1 shows it")
			}
			f()
			return nil
		}
	}
	mode := func(m string) func(string) error { return func(string) error { d.setMode(m); return nil } }
	return []command{
		{name: "fold", keys: []string{"Enter", "Space", "l", "Right"}, bar: "fold", help: "fold or unfold the value", do: onTree(func() { d.pane.sel = d.tree.toggle(d.pane.sel) })},
		{name: "parent", keys: []string{"p"}, help: "to the value that holds this one", do: onTree(func() { d.pane.to(d.tree.parent(d.pane.sel)) })},
		{name: "fold-all", keys: []string{"-"}, help: "fold everything", do: onTree(func() { d.tree.foldAll(true); d.pane.home() })},
		{name: "unfold-all", keys: []string{"+", "*"}, help: "unfold everything", do: onTree(func() { d.tree.foldAll(false) })},
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
		{name: "pager", keys: []string{"v"}, help: "open the text in $PAGER", do: func(string) error { return d.program("PAGER", "less") }},
		{name: "editor", keys: []string{"V"}, help: "open a copy in $EDITOR", do: func(string) error { return d.edit() }},
	}
}

// maxCopy is what terminals commonly take by OSC 52, in bytes of base64.
const maxCopy = 74_000

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
	if base64.StdEncoding.EncodedLen(len(b)) > maxCopy {
		return fmt.Errorf("copying %s: %s is more than terminals take; w writes it to a file", what, size(int64(len(b))))
	}
	d.su.u.clipboard(b)
	d.su.u.say(toneGood, "copied "+what+", "+size(int64(len(b))))
	return nil
}

// save writes the bytes of the frame to a file that does not exist yet.
func (d *detail) save(arg string) error {
	write := func(name string) error {
		if name == "" {
			return nil
		}
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return fmt.Errorf("saving the frame: %w", err)
		}
		s := d.su.story
		r, err := s.look.Session.Reader(s.ctx, d.frame.Seq)
		if err == nil {
			_, err = f.ReadFrom(r)
			r.Close()
		}
		if closed := f.Close(); err == nil {
			err = closed
		}
		if err != nil {
			return fmt.Errorf("saving the frame: %w", err)
		}
		d.su.u.say(toneGood, "saved "+name)
		return nil
	}
	if arg != "" {
		return write(arg)
	}
	d.su.u.typeLine("save as: ", fmt.Sprintf("frame-%d.json", d.frame.Seq), nil, func(name string) { d.su.u.fail(write(name)) })
	return nil
}

// program runs the program that a variable names, with the text as its stdin.
func (d *detail) program(variable, fallback string) error {
	argv := strings.Fields(d.su.u.environment(variable))
	if len(argv) == 0 {
		argv = []string{fallback}
	}
	var b strings.Builder
	for _, l := range d.text.lines {
		b.WriteString(visibleLines(l.Text))
		b.WriteByte('\n')
	}
	return d.su.u.external(argv, []byte(b.String()))
}

// edit opens a copy of the frame, made visible, in the editor.
func (d *detail) edit() error {
	f, err := os.CreateTemp("", "agentrec-frame-*.json")
	if err != nil {
		return fmt.Errorf("opening the editor: %w", err)
	}
	defer os.Remove(f.Name())
	for _, l := range d.text.lines {
		fmt.Fprintln(f, visibleLines(l.Text))
	}
	if err := f.Close(); err != nil {
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
		for len(open) > 0 && t.nodes[open[len(open)-1]].next <= i {
			out = append(out, closeText(t, open[len(open)-1]))
			open = open[:len(open)-1]
		}
		head := strings.Repeat("  ", min(n.depth, 20))
		if n.isMember {
			head += n.key + ": "
		}
		v := t.raw[n.start:n.end]
		switch {
		case n.children > 0:
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
				out = append(out, span{strings.Repeat("  ", min(n.depth, 20)+1) + l, toneOut})
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
	return span{strings.Repeat("  ", min(n.depth, 20)) + string(t.raw[n.end-1:n.end]), tonePlain}
}
