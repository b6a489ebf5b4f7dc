package inspect

import (
	"context"
	"strings"

	"agentrec/internal/dialect"
	"agentrec/store"
)

// pageFrames is how many frames a page of a window holds, and pagesKept how
// many pages are kept: enough for every frame on the largest screen and the
// screens around it, whatever the length of the session.
const (
	pageFrames = 64
	pagesKept  = 16
)

// bigFrame is the size from which a list reads only a frame's beginning.
const bigFrame = 256 << 10

// window reads the frames of a session page by page, for lists that show few
// of many. It keeps what rows need and never a payload.
type window struct {
	session *store.Session
	dialect *dialect.Dialect
	pages   map[int64][]frameRow
	recent  []int64 // page numbers, the last used at the end
	reads   int     // pages read so far

	label func(seq int64) string // of a frame that is not read whole; may be nil
}

// frameRow is what a list keeps of a frame.
type frameRow struct {
	Frame   store.Frame // without Raw
	Reading dialect.Reading
	Begin   string // the first bytes of the frame
}

func newWindow(s *store.Session, d *dialect.Dialect) *window {
	return &window{session: s, dialect: d, pages: map[int64][]frameRow{}}
}

// row returns the frame with a seq of 1 to the session's count.
func (w *window) row(ctx context.Context, seq int64) (frameRow, error) {
	n := (seq - 1) / pageFrames
	page, ok := w.pages[n]
	at := int((seq - 1) % pageFrames)
	if !ok || at >= len(page) {
		var err error
		if page, err = w.read(ctx, n); err != nil {
			return frameRow{}, err
		}
		w.keep(n, page)
	}
	if at >= len(page) {
		return frameRow{}, store.ErrNotFound
	}
	return page[at], nil
}

// read reads page n: the metas first, then the payloads of the small frames in
// as few queries as there are large ones between them.
func (w *window) read(ctx context.Context, n int64) ([]frameRow, error) {
	w.reads++
	from, to := n*pageFrames+1, (n+1)*pageFrames
	var page []frameRow
	for f, err := range w.session.Metas(ctx, from, to) {
		if err != nil {
			return nil, err
		}
		page = append(page, frameRow{Frame: f})
	}
	for i := 0; i < len(page); {
		if page[i].Frame.Size >= bigFrame {
			begin, err := w.begin(ctx, page[i].Frame)
			if err != nil {
				return nil, err
			}
			page[i].Begin = begin
			if w.label != nil {
				page[i].Reading.Label = w.label(page[i].Frame.Seq)
			}
			i++
			continue
		}
		last := i
		for last+1 < len(page) && page[last+1].Frame.Size < bigFrame {
			last++
		}
		for f, err := range w.session.Frames(ctx, page[i].Frame.Seq, page[last].Frame.Seq) {
			if err != nil {
				return nil, err
			}
			r := &page[f.Seq-from]
			r.Reading = owned(w.dialect.Read(f.Stream, f.Raw))
			r.Begin = string(f.Raw[:min(len(f.Raw), maxRow*4)])
		}
		i = last + 1
	}
	return page, nil
}

func (w *window) begin(ctx context.Context, f store.Frame) (string, error) {
	b, err := headOf(ctx, w.session, store.Frame{Seq: f.Seq, Size: f.Size})
	return string(b[:min(len(b), maxRow*4)]), err
}

// keep notes page n as used last and drops the one unused for longest.
func (w *window) keep(n int64, page []frameRow) {
	if _, ok := w.pages[n]; !ok && len(w.recent) >= pagesKept {
		delete(w.pages, w.recent[0])
		w.recent = w.recent[1:]
	}
	for i, r := range w.recent {
		if r == n {
			w.recent = append(w.recent[:i], w.recent[i+1:]...)
			break
		}
	}
	w.recent = append(w.recent, n)
	w.pages[n] = page
}

// owned returns what a list needs of a reading, in memory of its own: a reading
// may share memory with its frame.
func owned(r dialect.Reading) dialect.Reading {
	return dialect.Reading{JSON: r.JSON, Label: strings.Clone(r.Label), Role: r.Role, Failed: r.Failed, Shows: r.Shows}
}
