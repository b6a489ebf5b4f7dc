package store

import "bytes"

// Line is a frame cut from a stream, or a part of one that is longer than
// MaxRaw. Raw is valid until the Splitter is used again.
type Line struct {
	Raw  []byte     // without the terminator
	Term Terminator // of a whole frame or of a last part
	Part bool       // Raw is a part of a giant
	Last bool       // of a giant: this ends it; of a whole frame always true
}

// Splitter cuts the chunks of one stream into frames, on LF only, however the
// frames lie in the chunks. It keeps at most MaxRaw bytes and a little. The zero
// value is ready.
type Splitter struct {
	carry []byte // the beginning of a line, or a CR that may belong to a terminator
	giant bool   // parts of the line were handed over
}

// Split hands over the lines that chunk ends, and parts of giants, in order. It
// stops at the first error of fn, which it returns; the rest of chunk is lost
// then. What fn gets may lie in chunk.
func (s *Splitter) Split(chunk []byte, fn func(Line) error) error {
	for len(chunk) > 0 {
		i := bytes.IndexByte(chunk, '\n')
		if i < 0 {
			return s.hold(chunk, fn)
		}
		if err := s.end(chunk[:i], fn); err != nil {
			return err
		}
		chunk = chunk[i+1:]
	}
	return nil
}

// Open reports whether a line has begun and not ended.
func (s *Splitter) Open() bool { return s.giant || len(s.carry) > 0 }

// End says that the stream ended. An open line is handed over without a
// terminator. The Splitter is ready for another stream.
func (s *Splitter) End(fn func(Line) error) error {
	if !s.Open() {
		return nil
	}
	line := Line{Raw: s.carry, Part: s.giant, Last: true}
	if len(s.carry) > MaxRaw {
		line.Part = true
	}
	err := fn(line)
	s.reset()
	return err
}

// hold keeps the beginning or the middle of a line.
func (s *Splitter) hold(p []byte, fn func(Line) error) error {
	if s.giant {
		return s.part(p, fn)
	}
	if need := len(s.carry) + len(p); need > cap(s.carry) {
		// Double, where append would grow by a quarter and copy more often, but
		// not beyond what a line can need before it is a giant.
		size := max(need, min(2*cap(s.carry), MaxRaw+len(p)))
		s.carry = append(make([]byte, 0, size), s.carry...)
	}
	s.carry = append(s.carry, p...)
	if lessCR(s.carry) <= MaxRaw {
		return nil
	}
	whole := s.carry
	s.carry, s.giant = nil, true
	return s.part(whole, fn)
}

// part hands over p as part of a giant, less a CR at its end, which waits for
// what follows.
func (s *Splitter) part(p []byte, fn func(Line) error) error {
	if len(s.carry) > 0 && len(p) > 0 {
		if err := fn(Line{Raw: s.carry, Part: true}); err != nil {
			return err
		}
		s.carry = s.carry[:0]
	}
	if n := lessCR(p); n < len(p) {
		s.carry = append(s.carry, '\r')
		p = p[:n]
	}
	if len(p) == 0 {
		return nil
	}
	return fn(Line{Raw: p, Part: true})
}

// end hands over the line that ends with p and an LF.
func (s *Splitter) end(p []byte, fn func(Line) error) error {
	if s.giant {
		if err := s.part(p, fn); err != nil {
			return err
		}
		line := Line{Part: true, Last: true, Term: LF}
		if len(s.carry) > 0 {
			line.Term = CRLF
		}
		s.reset()
		return fn(line)
	}
	if len(s.carry) > 0 {
		s.carry = append(s.carry, p...)
		p = s.carry
	}
	line := Line{Raw: p, Last: true, Term: LF}
	if n := lessCR(p); n < len(p) {
		line.Raw, line.Term = p[:n], CRLF
	}
	line.Part = len(line.Raw) > MaxRaw
	err := fn(line)
	s.reset()
	return err
}

func (s *Splitter) reset() {
	s.giant = false
	if s.carry = s.carry[:0]; cap(s.carry) > 1<<20 {
		s.carry = nil
	}
}

// lessCR is the length of p without a CR at its end.
func lessCR(p []byte) int {
	if n := len(p); n > 0 && p[n-1] == '\r' {
		return n - 1
	}
	return len(p)
}
