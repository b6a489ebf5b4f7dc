package tape

import (
	"time"

	"agentrec/internal/redact"
	"agentrec/store"
)

// line is what the drain knows of the unfinished line of one stream.
type line struct {
	cut    store.Splitter
	start  place         // the record it begins in, while it is open
	size   int64         // of what was handed over of it: it is a giant then
	redact *redact.Giant // of a giant; nil when nothing is redacted
	parts  int64         // bytes of the giant that came out of redaction
	skip   int64         // of these: stored by an earlier drain
}

// giant reports whether the unfinished line is one.
func (l *line) giant() bool { return l.size > 0 }

// chunk cuts a chunk of a stream into lines. at is the record it came in.
func (d *Drain) chunk(s store.Stream, t time.Duration, p []byte, at place) error {
	l := &d.lines[s]
	begins := !l.cut.Open()
	err := l.cut.Split(p, func(x store.Line) error {
		begins = begins || x.Last
		return d.line(s, t, x)
	})
	if begins {
		l.start = at
	}
	return err
}

// flush ends a line that will not be continued.
func (d *Drain) flush(s store.Stream, t time.Duration) error {
	return d.lines[s].cut.End(func(x store.Line) error { return d.line(s, t, x) })
}

// line takes a frame, or a part of a giant.
func (d *Drain) line(s store.Stream, t time.Duration, x store.Line) error {
	size := int64(len(x.Raw))
	if x.Last {
		size += int64(len(x.Term.Bytes()))
	}
	if !x.Part {
		d.frame(s, t, x.Raw, x.Term)
		d.done[s] += size
		return nil
	}
	l := &d.lines[s]
	if !l.giant() {
		l.skip, d.resumed[s] = d.resumed[s], 0
		if d.redactor != nil {
			l.redact = d.redactor.Giant()
		}
	}
	l.size += size
	for raw := x.Raw; len(raw) > 0; { // in pieces, for what is made of them is copied more than once
		n := min(len(raw), giantPiece)
		p := raw[:n]
		if l.redact != nil {
			p = l.redact.Next(p)
		}
		if err := d.part(s, p); err != nil {
			return err
		}
		raw = raw[n:]
	}
	if !x.Last {
		return nil
	}
	if l.redact != nil {
		if err := d.part(s, l.redact.End()); err != nil {
			return err
		}
	}
	if _, err := d.writer.EndParts(s, d.clock(t), x.Term); err != nil {
		return err
	}
	d.done[s] += l.size
	l.size, l.parts, l.skip, l.redact = 0, 0, 0, nil
	return nil
}

const giantPiece = 256 << 10

// part stores more of a giant, but for what an earlier drain has stored.
func (d *Drain) part(s store.Stream, p []byte) error {
	l := &d.lines[s]
	l.parts += int64(len(p))
	n := min(l.skip, int64(len(p)))
	l.skip -= n
	if p = p[n:]; len(p) == 0 {
		return nil
	}
	d.weight += len(p)
	return d.writer.Part(s, p)
}

// frame stores a frame.
func (d *Drain) frame(s store.Stream, t time.Duration, raw []byte, term store.Terminator) {
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
