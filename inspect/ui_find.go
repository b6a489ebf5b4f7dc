package inspect

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"agentrec/internal/transcript"
)

// finder is rows that know where a text stands better than their lines tell,
// which may be cut, folded or wrapped.
type finder interface {
	// find returns the row of the next hit after row at (before it, when back),
	// going round, or -1. text is in lower case.
	find(text string, at int, back bool) (int, error)
}

// round yields the numbers below n from the one after at on (before, when back),
// going round, at last.
func round(n, at int, back bool) iter.Seq[int] {
	return func(yield func(int) bool) {
		step := 1
		if back {
			step = -1
		}
		for i := 1; i <= n; i++ {
			if !yield(((at+i*step)%n + n) % n) {
				return
			}
		}
	}
}

// searchLines searches the text of a pane's rows, for panes whose rows are few.
func searchLines(p *pane) func(text string, back bool) error {
	return func(text string, back bool) error {
		wanted := lower(text)
		at, err := -1, error(nil)
		if f, ok := p.rows.(finder); ok {
			at, err = f.find(wanted, p.sel, back)
		} else {
			at = findLines(p, wanted, back)
		}
		if err != nil {
			return err
		}
		if at < 0 {
			return notFound(text)
		}
		p.to(at)
		return nil
	}
}

func findLines(p *pane, text string, back bool) int {
	w, _ := p.text()
	for at := range round(p.rows.Len(), p.sel, back) {
		for _, l := range p.rows.Item(at, w) {
			if strings.Contains(lower(l.String()), text) {
				return at
			}
		}
	}
	return -1
}

// find looks for a text in the lines as they are, not as they wrap.
func (t *textRows) find(text string, at int, back bool) (int, error) {
	for i := range round(len(t.lines), at, back) {
		if strings.Contains(lower(t.lines[i].Text), text) {
			return i, nil
		}
	}
	return -1, nil
}

// find looks for a text in the lines as they are, not as they wrap.
func (r *hangingRows) find(text string, at int, back bool) (int, error) {
	for i := range round(len(r.lines), at, back) {
		if strings.Contains(lower(r.lines[i].String()), text) {
			return i, nil
		}
	}
	return -1, nil
}

// find looks for a text in keys and values, also in those that are folded: it
// unfolds what holds the hit.
func (t *jsonTree) find(text string, at int, back bool) (int, error) {
	from := -1
	if at < len(t.visible) {
		from = t.visible[at]
	}
	for i := range round(len(t.nodes), from, back) {
		if t.holds(i, text) {
			return t.reveal(i), nil
		}
	}
	return -1, nil
}

// holds reports whether a text stands in the key or, when it is no object or
// array, in the value of a node.
func (t *jsonTree) holds(i int, text string) bool {
	n := t.nodes[i]
	if n.Member && strings.Contains(lower(n.Key), text) {
		return true
	}
	v := t.raw[n.Start:n.End]
	switch {
	case n.Children > 0:
		return false
	case v[0] == '"':
		return strings.Contains(lower(transcript.Unquote(v)), text)
	}
	return strings.Contains(lower(string(v)), text)
}

// reveal unfolds what holds a node and returns its row.
func (t *jsonTree) reveal(i int) int {
	for j := range i {
		if t.nodes[j].Next > i {
			delete(t.closed, j)
		}
	}
	t.layout()
	row, _ := slices.BinarySearch(t.visible, i)
	return row
}

// find looks for a text in the bytes, wherever rows break it.
func (h *hexRows) find(text string, at int, back bool) (int, error) {
	r, err := h.all()
	if err != nil {
		return -1, err
	}
	defer r.Close()
	const block = 1 << 20
	hits := nearestHit{at: at, first: -1, last: -1, before: -1, after: -1}
	buf := make([]byte, 0, block+len(text))
	var low []byte
	base := int64(0) // of buf
	for {
		keep := min(len(buf), max(len(text)-1, 0))
		base += int64(len(buf) - keep)
		buf = append(buf[:0], buf[len(buf)-keep:]...)
		n, err := io.ReadFull(r, buf[keep:keep+block])
		buf = buf[:keep+n]
		low = transcript.Lowered(low[:0], buf)
		for from := 0; from < len(low); {
			i := bytes.Index(low[from:], []byte(text))
			if i < 0 {
				break
			}
			row := (base + int64(from+i)) / 16
			hits.add(int(row))
			from = max(from+i+1, int((row+1)*16-base))
		}
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return hits.choose(back), nil
		case err != nil:
			return -1, fmt.Errorf("reading frame %d: %w", h.frame.Seq, err)
		}
	}
}

// nearestHit keeps of rows that come in order those that a search may go to.
type nearestHit struct{ at, first, last, before, after int }

func (h *nearestHit) add(row int) {
	if h.first < 0 {
		h.first = row
	}
	h.last = row
	if row < h.at {
		h.before = row
	}
	if row > h.at && h.after < 0 {
		h.after = row
	}
}

func (h *nearestHit) choose(back bool) int {
	switch {
	case back && h.before >= 0:
		return h.before
	case back:
		return h.last
	case h.after >= 0:
		return h.after
	}
	return h.first
}
