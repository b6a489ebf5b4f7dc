package tape

import (
	"bytes"
	"time"

	"agentrec/internal/redact"
	"agentrec/store"
)

// line is the unfinished line of one stream.
type line struct {
	pending []byte // its bytes so far, unless it is a giant
	begun   bool
	start   place // the record it begins in
	giant   bool
	redact  *redact.Giant // nil when nothing is redacted
	cr      bool          // a giant's last byte so far was CR: it may belong to the terminator
	parts   int64         // bytes stored of the giant
	skip    int64         // of the giant's output: stored by an earlier drain
}

// chunk cuts a chunk of a stream into lines, at LF only. at is the record it
// came in.
func (d *Drain) chunk(s store.Stream, t time.Duration, p []byte, at place) error {
	l := &d.lines[s]
	for len(p) > 0 {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			return d.hold(s, p, at)
		}
		if !l.begun {
			d.frame(s, t, p[:i])
			d.done[s] += int64(i + 1)
		} else if err := d.finish(s, t, p[:i], true); err != nil {
			return err
		}
		p = p[i+1:]
	}
	return nil
}

// hold keeps the beginning or the middle of a line.
func (d *Drain) hold(s store.Stream, p []byte, at place) error {
	l := &d.lines[s]
	if !l.begun {
		l.begun, l.start = true, at
	}
	if l.giant {
		return d.part(s, p)
	}
	l.keep(p)
	if len(l.pending) <= store.MaxRaw {
		return nil
	}
	whole := l.pending
	l.giant, l.pending = true, nil
	l.skip = d.resumed[s]
	d.resumed[s] = 0
	if d.redactor != nil {
		l.redact = d.redactor.Giant()
	}
	for len(whole) > 0 { // in pieces, for what is made of them is copied more than once
		n := min(len(whole), giantPiece)
		if err := d.part(s, whole[:n]); err != nil {
			return err
		}
		whole = whole[n:]
	}
	return nil
}

const giantPiece = 256 << 10

// keep adds to pending, whose memory doubles, but not beyond what a line can
// need before it is a giant.
func (l *line) keep(p []byte) {
	if need := len(l.pending) + len(p); need > cap(l.pending) {
		size := max(need, min(2*cap(l.pending), store.MaxRaw+MaxChunk), 1<<10)
		l.pending = append(make([]byte, 0, size), l.pending...)
	}
	l.pending = append(l.pending, p...)
}

// part stores more of a giant, less a trailing CR.
func (d *Drain) part(s store.Stream, p []byte) error {
	l := &d.lines[s]
	d.held[s] += int64(len(p))
	if l.cr {
		l.cr = false
		if err := d.store(s, []byte{'\r'}); err != nil {
			return err
		}
	}
	if n := len(p); n > 0 && p[n-1] == '\r' {
		l.cr, p = true, p[:n-1]
	}
	return d.store(s, p)
}

func (d *Drain) store(s store.Stream, p []byte) error {
	if r := d.lines[s].redact; r != nil {
		p = r.Next(p)
	}
	return d.keep(s, p)
}

func (d *Drain) keep(s store.Stream, p []byte) error {
	l := &d.lines[s]
	l.parts += int64(len(p))
	if l.skip > 0 {
		n := min(l.skip, int64(len(p)))
		l.skip -= n
		p = p[n:]
	}
	d.weight += len(p)
	if len(p) == 0 {
		return nil
	}
	return d.writer.Part(s, p)
}

// finish ends the unfinished line of a stream with its last bytes; terminated
// tells whether an LF followed them.
func (d *Drain) finish(s store.Stream, t time.Duration, p []byte, terminated bool) error {
	l := &d.lines[s]
	if !l.giant && len(l.pending)+len(p) > store.MaxRaw {
		if err := d.hold(s, p, l.start); err != nil {
			return err
		}
		p = nil
	}
	var size int64
	if l.giant {
		size = d.held[s]
		if len(p) > 0 {
			if err := d.part(s, p); err != nil {
				return err
			}
			size += int64(len(p))
		}
		term := store.None
		switch {
		case terminated && l.cr:
			term = store.CRLF
		case terminated:
			term = store.LF
		case l.cr:
			if err := d.store(s, []byte{'\r'}); err != nil {
				return err
			}
		}
		if l.redact != nil {
			if err := d.keep(s, l.redact.End()); err != nil {
				return err
			}
		}
		if _, err := d.writer.EndParts(s, d.clock(t), term); err != nil {
			return err
		}
	} else {
		l.keep(p)
		size = int64(len(l.pending))
		if terminated {
			d.frame(s, t, l.pending)
		} else {
			d.add(s, t, l.pending, store.None)
		}
	}
	if terminated {
		size++
	}
	d.done[s] += size
	d.held[s] = 0
	*l = line{pending: l.pending[:0]}
	if cap(l.pending) > 1<<20 {
		l.pending = nil
	}
	return nil
}

// frame stores a line that LF ended.
func (d *Drain) frame(s store.Stream, t time.Duration, raw []byte) {
	if n := len(raw); n > 0 && raw[n-1] == '\r' {
		d.add(s, t, raw[:n-1], store.CRLF)
		return
	}
	d.add(s, t, raw, store.LF)
}

func (d *Drain) add(s store.Stream, t time.Duration, raw []byte, term store.Terminator) {
	if d.detector != nil && d.detector.Observe(s, raw) {
		d.decide()
	}
	if d.redactor != nil {
		raw = d.redactor.Frame(s, raw)
	}
	d.weight += len(raw) + 32
	d.writer.Frame(s, d.clock(t), raw, term)
}

// clock keeps times from running backwards between streams.
func (d *Drain) clock(t time.Duration) time.Duration {
	d.now = max(d.now, t)
	return d.now
}
