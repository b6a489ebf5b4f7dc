package store

import (
	"bufio"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"math"
	"strconv"
	"time"
	"unicode/utf8"
)

// WriteText writes the session in the text form (TEXTFORM.md). The same stored
// session always gives the same bytes, and reading them back gives an equal
// session. Of a session that is being recorded it writes what is committed, as
// cut. Memory does not depend on the length of frames.
func WriteText(ctx context.Context, w io.Writer, s *Session) error {
	now := *s
	if err := now.Refresh(ctx); err != nil {
		return err
	}
	t := &textWriter{ctx: ctx, s: &now, out: bufio.NewWriterSize(w, 64<<10)}
	err := t.write()
	if err == nil {
		err = t.out.Flush()
	}
	if err != nil {
		return fmt.Errorf("writing session %d in the text form: %w", s.ID, err)
	}
	return nil
}

type textWriter struct {
	ctx  context.Context
	s    *Session
	out  *bufio.Writer
	last time.Duration // of the line before
	buf  []byte

	exchanges Chain // over those written
}

func (t *textWriter) write() error {
	s := t.s
	head := textHeader{
		Agentrec: strconv.AppendInt(nil, textVersion, 10), UID: clean(s.UID), Name: clean(s.Name), Tags: map[string]string{}, Folders: map[string]string{},
		Started: started(s.Started), Host: clean(s.Host), Cwd: clean(s.Cwd), Version: clean(s.Version), Dialect: clean(s.Dialect),
		Unredacted: s.Unredacted, Edited: s.Edited, Parent: clean(s.Parent),
	}
	for k, v := range s.Tags {
		head.Tags[clean(k)] = clean(v)
	}
	for k, v := range s.Folders {
		head.Folders[clean(k)] = clean(v)
	}
	for _, arg := range s.Argv {
		head.Argv = append(head.Argv, clean(arg))
	}
	line, err := textJSON(head)
	if err != nil {
		return err
	}
	t.out.Write(line)
	t.out.WriteByte('\n')

	events, err := s.Events(t.ctx)
	if err != nil {
		return err
	}
	count := s.Count()
	var x *keptExchange // the next one
	var known knownBodies
	next := func() error {
		x = nil
		if t.exchanges.Frames == s.Exchanged {
			return nil
		}
		kept, err := s.keptExchange(t.ctx, t.exchanges.Frames+1, &known)
		x = &kept
		return err
	}
	if err := next(); err != nil {
		return err
	}
	before := func(seq int64) error {
		for {
			event := len(events) > 0 && events[0].After < min(seq, count+1)
			exchange := x != nil && x.After < seq
			switch {
			case event && exchange && (x.After < events[0].After || x.After == events[0].After && x.Time < events[0].Time):
				event = false
			case !event && !exchange:
				return nil
			}
			if event {
				if err := t.event(events[0]); err != nil {
					return err
				}
				events = events[1:]
				continue
			}
			t.exchanges.link(x.digest(), x.Sent+x.Received)
			if err := t.exchange(&x.Exchange); err != nil {
				return err
			}
			if err := next(); err != nil {
				return err
			}
		}
	}
	if count > 0 {
		for f, err := range s.Frames(t.ctx, 1, count) {
			if err != nil {
				return err
			}
			if err := before(f.Seq); err != nil {
				return err
			}
			if err := t.frame(f); err != nil {
				return err
			}
		}
	}
	if err := before(math.MaxInt64); err != nil {
		return err
	}
	return t.proof()
}

// head writes the beginning of a line of a kind.
func (t *textWriter) head(kind string, at time.Duration) {
	t.buf = append(t.buf[:0], `["`...)
	t.buf = append(t.buf, kind...)
	t.buf = append(t.buf, `", `...)
	t.buf = strconv.AppendInt(t.buf, (at - t.last).Microseconds(), 10)
	t.buf = append(t.buf, `, `...)
	t.out.Write(t.buf)
	t.last = at
}

// tail ends a line.
func (t *textWriter) tail(term Terminator) error {
	end := "]\n"
	switch term {
	case CRLF:
		end = `, "crlf"]` + "\n"
	case None:
		end = `, "eof"]` + "\n"
	}
	_, err := t.out.WriteString(end)
	return err
}

func (t *textWriter) object(kind string, at time.Duration, v any) error {
	b, err := textJSON(v)
	if err != nil {
		return err
	}
	t.head(kind, at)
	t.out.Write(b)
	return t.tail(LF)
}

func (t *textWriter) event(e Event) error {
	form := textEvent{Kind: EventKind(clean(string(e.Kind))), Signal: clean(e.Signal), Exit: cleanExit(e.Exit), Bytes: e.Bytes, Detail: clean(e.Detail)}
	if e.Kind == EventEOF || e.Kind == EventHangup || e.Kind == EventLost || e.Stream != In {
		form.Stream = e.Stream.String()
	}
	return t.object("event", e.Time, form)
}

func cleanExit(e *Exit) *Exit {
	if e == nil {
		return nil
	}
	return &Exit{Code: e.Code, Signal: clean(e.Signal)}
}

func (t *textWriter) proof() error {
	s := t.s
	c := textChainsOf(s.Chains)
	form := textProof{
		State: s.State, Reason: clean(s.Reason), Exit: cleanExit(s.Exit), Wire: textWireOf(s.Wire),
		In: c.In, Out: c.Out, Err: c.Err, Exchanges: textCountOf(s.exchangeChain),
	}
	if s.State == Recording {
		form.State, form.Reason = Cut, "it was still being recorded when this was written"
		form.Exchanges = textCountOf(t.exchanges) // open ones have grown
	}
	if s.Original != nil {
		form.Original = &textProofs{textChainsOf(*s.Original), textCountOf(*s.originalExchanges)}
	}
	return t.object("proof", s.Ended, form)
}

func (t *textWriter) frame(f Frame) error {
	if f.Raw == nil {
		return t.giant(f)
	}
	var test encodingTest
	test.add(f.Raw)
	form := test.form()
	t.head(f.Stream.String()+form, f.Time)
	switch form {
	case asJSON:
		t.out.Write(f.Raw)
	case asText:
		t.buf = append(t.buf[:0], '"')
		t.buf = appendText(t.buf, f.Raw)
		t.buf = append(t.buf, '"')
		t.out.Write(t.buf)
	default:
		t.buf = append(t.buf[:0], '"')
		t.buf = base64.StdEncoding.AppendEncode(t.buf, f.Raw)
		t.buf = append(t.buf, '"')
		t.out.Write(t.buf)
	}
	return t.tail(f.Term)
}

// giant reads a giant twice: first to see what form it can have.
func (t *textWriter) giant(f Frame) error {
	var test encodingTest
	err := t.parts(f, func(p []byte) error {
		test.add(p)
		return nil
	})
	if err != nil {
		return err
	}
	form := test.form()
	t.head(f.Stream.String()+form, f.Time)
	switch form {
	case asJSON:
		err = t.parts(f, func(p []byte) error {
			_, err := t.out.Write(p)
			return err
		})
	case asText:
		t.out.WriteByte('"')
		var cut []byte // the beginning of a character
		err = t.parts(f, func(p []byte) error {
			p = append(cut, p...)
			end := len(p)
			for i := 1; i < utf8.UTFMax && i <= len(p); i++ {
				if utf8.RuneStart(p[len(p)-i]) {
					if !utf8.FullRune(p[len(p)-i:]) {
						end = len(p) - i
					}
					break
				}
			}
			t.buf = appendText(t.buf[:0], p[:end])
			cut = append([]byte(nil), p[end:]...)
			_, err := t.out.Write(t.buf)
			return err
		})
		t.out.WriteByte('"')
	default:
		t.out.WriteByte('"')
		e := base64.NewEncoder(base64.StdEncoding, t.out)
		err = t.parts(f, func(p []byte) error {
			_, err := e.Write(p)
			return err
		})
		e.Close()
		t.out.WriteByte('"')
	}
	if err != nil {
		return err
	}
	return t.tail(f.Term)
}

// parts hands over the bytes of a giant piece by piece.
func (t *textWriter) parts(f Frame, fn func([]byte) error) error {
	r, err := t.s.Reader(t.ctx, f.Seq)
	if err != nil {
		return err
	}
	defer r.Close()
	piece := make([]byte, 64<<10)
	for {
		n, err := io.ReadFull(r, piece)
		if n > 0 {
			if err := fn(piece[:n]); err != nil {
				return err
			}
		}
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
