package inspect

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"unicode/utf8"
)

// printer writes a command's stdout. It remembers the first error; a reader
// that went away (head, a closed pager) is no error but the end of the wish for
// more, see gone.
type printer struct {
	term terminal
	w    *bufio.Writer
	held []byte // the beginning of a character whose rest has not come yet
	err  error
}

// newPrinter returns a printer to w; color is the value of --color. The caller
// calls finish.
func newPrinter(w io.Writer, color string) *printer {
	return &printer{term: terminalOf(w, color, os.Getenv), w: bufio.NewWriterSize(w, 32<<10)}
}

// line prints one line of text.
func (p *printer) line(l line) {
	for _, s := range l {
		text := visible(s.Text)
		if code := sgr[s.Tone]; p.term.Color && code != "" && text != "" {
			p.string(code + text + "\x1b[0m")
			continue
		}
		p.string(text)
	}
	p.string("\n")
}

// json prints v as one line of NDJSON.
func (p *printer) json(v any) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		p.fail(err)
		return
	}
	p.bytes(safeJSON(b.Bytes()))
}

// raw prints recorded bytes: exactly as they are into a pipe or file, made
// visible on a terminal, where they could do harm.
func (p *printer) raw(b []byte) {
	if !p.term.TTY {
		p.bytes(b)
		return
	}
	b = append(p.held, b...)
	n := len(b)
	for i := n - 1; i >= 0 && i > n-utf8.UTFMax; i-- {
		if utf8.RuneStart(b[i]) {
			if !utf8.FullRune(b[i:]) {
				n = i
			}
			break
		}
	}
	p.held = append([]byte(nil), b[n:]...)
	p.string(visibleLines(string(b[:n])))
}

func (p *printer) string(s string) {
	if p.err == nil {
		_, p.err = p.w.WriteString(s)
	}
}

func (p *printer) bytes(b []byte) {
	if p.err == nil {
		_, p.err = p.w.Write(b)
	}
}

func (p *printer) fail(err error) {
	if p.err == nil {
		p.err = err
	}
}

// stopped reports whether printing more is useless.
func (p *printer) stopped() bool { return p.err != nil }

// flush hands on what was printed so far: for output that grows while someone
// watches.
func (p *printer) flush() {
	p.string(visibleLines(string(p.held)))
	p.held = nil
	if p.err == nil {
		p.err = p.w.Flush()
	}
}

// finish flushes and returns the first error, nil when the reader went away.
// err, when not nil, is the command's own and wins.
func (p *printer) finish(err error) error {
	p.flush()
	if err != nil && !gone(err) {
		return err
	}
	if p.err == nil || gone(p.err) {
		return nil
	}
	return p.err
}

// gone reports whether err says that the reader of our output went away.
func gone(err error) bool { return errors.Is(err, errReaderGone) || isBrokenPipe(err) }

// errReaderGone ends a loop that prints, once the reader is gone.
var errReaderGone = errors.New("the reader of the output went away")
