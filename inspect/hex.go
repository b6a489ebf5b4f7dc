package inspect

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"

	"agentrec/store"
)

// hexPage is how many bytes of a giant frame are read at once.
const hexPage = 64 << 10

// hexRows shows the exact bytes of a frame, terminator included, 16 a row. Of
// a giant it reads the part on the screen; going on is cheap, going back reads
// from the beginning.
type hexRows struct {
	ctx   context.Context
	s     *store.Session
	frame store.Frame
	bytes []byte // all of a small frame, with its terminator

	r      io.ReadCloser // of a giant, standing at at
	at     int64
	page   []byte // of a giant: bytes from start
	start  int64
	failed error
}

func newHexRows(ctx context.Context, s *store.Session, f store.Frame) *hexRows {
	h := &hexRows{ctx: ctx, s: s, frame: f}
	if f.Raw != nil || f.Size == 0 {
		h.bytes = append(append([]byte(nil), f.Raw...), f.Term.Bytes()...)
	}
	return h
}

// Len returns the number of rows of 16 bytes.
func (h *hexRows) Len() int { return max(int((h.frame.Wire()+15)/16), 1) }

// Item returns row i: one line, or two of 8 bytes on a narrow screen.
func (h *hexRows) Item(i, width int) []line {
	b, err := h.read(int64(i)*16, 16)
	if err != nil {
		return []line{{{err.Error(), toneError}}}
	}
	if width >= 10+16*3+2+16 {
		return []line{hexLine(int64(i)*16, b, 16)}
	}
	out := []line{hexLine(int64(i)*16, b[:min(len(b), 8)], 8)}
	if len(b) > 8 {
		out = append(out, hexLine(int64(i)*16+8, b[8:], 8))
	}
	return out
}

func hexLine(at int64, b []byte, n int) line {
	var codes, text strings.Builder
	for i := range n {
		if i == 8 {
			codes.WriteByte(' ')
		}
		if i >= len(b) {
			codes.WriteString("   ")
			continue
		}
		fmt.Fprintf(&codes, "%02x ", b[i])
		if b[i] >= 0x20 && b[i] < 0x7f {
			text.WriteByte(b[i])
		} else {
			text.WriteByte('.')
		}
	}
	return line{}.add(toneDim, fmt.Sprintf("%08x  ", at)).add(tonePlain, codes.String()).add(toneOut, " "+text.String())
}

// read returns up to n bytes at off.
func (h *hexRows) read(off int64, n int) ([]byte, error) {
	if h.bytes != nil || h.frame.Size == 0 {
		off = min(off, int64(len(h.bytes)))
		return h.bytes[off:min(off+int64(n), int64(len(h.bytes)))], nil
	}
	if off < h.start || off+int64(n) > h.start+int64(len(h.page)) && h.start+int64(len(h.page)) < h.frame.Size {
		if err := h.load(off - off%hexPage); err != nil {
			return nil, err
		}
	}
	var b []byte
	if at := off - h.start; at < int64(len(h.page)) {
		b = append(b, h.page[at:min(at+int64(n), int64(len(h.page)))]...)
	}
	if end := off + int64(len(b)); len(b) < n && end >= h.frame.Size {
		term := h.frame.Term.Bytes()
		b = append(b, term[min(int(end-h.frame.Size), len(term)):]...)
	}
	return b, nil
}

// all returns a reader of the frame's bytes. The caller closes it.
func (h *hexRows) all() (io.ReadCloser, error) {
	if h.bytes != nil || h.frame.Size == 0 {
		return io.NopCloser(bytes.NewReader(h.bytes)), nil
	}
	r, err := h.s.Reader(h.ctx, h.frame.Seq)
	if err != nil {
		return nil, fmt.Errorf("reading frame %d: %w", h.frame.Seq, err)
	}
	return r, nil
}

// load reads the page that begins at off, and 16 bytes more.
func (h *hexRows) load(off int64) error {
	if h.failed != nil {
		return h.failed
	}
	if h.r == nil || h.at > off {
		h.Close()
		if h.r, h.failed = h.s.Reader(h.ctx, h.frame.Seq); h.failed != nil {
			return h.failed
		}
		h.at = 0
	}
	if _, err := io.CopyN(io.Discard, h.r, off-h.at); err != nil {
		h.failed = fmt.Errorf("reading frame %d: %w", h.frame.Seq, err)
		return h.failed
	}
	page := make([]byte, hexPage)
	n, err := io.ReadFull(h.r, page)
	if err != nil && err != io.ErrUnexpectedEOF && err != io.EOF {
		h.failed = fmt.Errorf("reading frame %d: %w", h.frame.Seq, err)
		return h.failed
	}
	h.at = off + int64(n)
	h.start, h.page = off, page[:n]
	return nil
}

// Close releases the reader of a giant.
func (h *hexRows) Close() {
	if h.r != nil {
		h.r.Close()
		h.r = nil
	}
}
