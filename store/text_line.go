package store

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// maxObject is the longest object of an event, a proof or a header.
const maxObject = 4 << 20

// textLine reads one line of the text form, ["kind", GAP, VALUE] or
// ["kind", GAP, VALUE, "end"], which may come in pieces. What the value holds
// goes to take as it comes.
type textLine struct {
	take func(p []byte) error

	kind  string // "in", "out", "err", "event", "exchange", "proof"
	form  string // of a frame
	gap   int64
	term  Terminator
	phase int // 0 head, 1 value, 2 tail
	head  []byte
	tail  []byte
	scan  jsonScanner
	utf8  utf8Scanner
	text  textDecoder
}

var (
	errNotLine  = errors.New(`it is not an array ["kind", GAP, VALUE]`)
	errLineUTF8 = errors.New("it is not UTF-8")
)

// reset makes the line ready for another one.
func (l *textLine) reset() {
	*l = textLine{take: l.take, head: l.head[:0], tail: l.tail[:0], text: textDecoder{out: l.text.out[:0], rest: l.text.rest[:0]}}
}

// add takes the next piece of the line, without its line feed.
func (l *textLine) add(p []byte) error {
	l.utf8.scan(p)
	if l.phase == 0 {
		had := len(l.head)
		l.head = append(l.head, p[:min(len(p), maxHead)]...)
		n, err := l.parseHead()
		if err != nil {
			return err
		}
		if n == 0 {
			if len(l.head) >= maxHead {
				return errNotLine
			}
			return nil
		}
		// What parseHead missed before was in p, so the value begins there.
		p, l.phase = p[n-had:], 1
	}
	if l.phase == 1 {
		return l.value(p)
	}
	return l.more(p)
}

// maxHead is more than the head of any line takes.
const maxHead = 200

// parseHead reads ["kind", GAP, and the white space after it, and returns how
// much of head that is: 0 when it is not all there yet.
func (l *textLine) parseHead() (int, error) {
	b := l.head
	i := 0
	blank := func() {
		for i < len(b) && (b[i] == ' ' || b[i] == '\t') {
			i++
		}
	}
	expect := func(c byte) (bool, error) {
		blank()
		if i == len(b) {
			return false, nil
		}
		if b[i] != c {
			return false, errNotLine
		}
		i++
		return true, nil
	}
	for _, c := range []byte(`["`) {
		if ok, err := expect(c); !ok {
			return 0, err
		}
	}
	end := bytes.IndexByte(b[i:], '"')
	if end < 0 {
		return 0, nil
	}
	kind := string(b[i : i+end])
	i += end + 1
	if ok, err := expect(','); !ok {
		return 0, err
	}
	blank()
	end = bytes.IndexAny(b[i:], ", \t")
	if end < 0 {
		return 0, nil
	}
	gap, err := strconv.ParseInt(string(b[i:i+end]), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("its second element must be whole microseconds since the line before, not %q", b[i:i+end])
	}
	i += end
	if ok, err := expect(','); !ok {
		return 0, err
	}
	blank()
	if i == len(b) {
		return 0, nil
	}
	l.gap = gap
	name, form, _ := strings.Cut(kind, ":")
	if form != "" {
		form = ":" + form
	}
	_, frame := parseStream(name)
	switch {
	case frame && (form == asJSON || form == asText || form == asBase64):
	case !frame && form == "" && (name == "event" || name == "exchange" || name == "proof"):
	default:
		return 0, fmt.Errorf("kind %q is unknown; a newer agentrec may know it", kind)
	}
	l.kind, l.form = name, form
	l.text.base64 = form == asBase64
	if form != asJSON && b[i] != '"' {
		return 0, fmt.Errorf("what follows %q must be a string", kind)
	}
	return i, nil
}

func (l *textLine) value(p []byte) error {
	n := l.scan.scan(p)
	if n > 0 {
		if err := l.give(p[:n]); err != nil {
			return err
		}
	}
	switch l.scan.state {
	case jsonBroken:
		return fmt.Errorf("its third element is not JSON of one line, or nests deeper than %d", maxJSONDepth)
	case jsonEnd:
		l.phase = 2
		return l.more(p[n:])
	}
	return nil
}

func (l *textLine) give(p []byte) error {
	if l.form == asJSON {
		return l.take(p)
	}
	out, err := l.text.decode(p)
	if err != nil || len(out) == 0 {
		return err
	}
	return l.take(out)
}

func (l *textLine) more(p []byte) error {
	if l.tail = append(l.tail, p...); len(l.tail) > maxHead {
		return errors.New("something follows its value")
	}
	return nil
}

// end says that the line is over.
func (l *textLine) end() error {
	if !l.utf8.valid() {
		return errLineUTF8
	}
	if l.phase != 2 {
		return errors.New("it is cut short")
	}
	if l.text.base64 {
		if err := l.text.endBase64(); err != nil {
			return err
		}
	}
	tail := strings.Map(func(r rune) rune {
		if r == ' ' || r == '\t' || r == '\r' {
			return -1
		}
		return r
	}, string(l.tail))
	_, frame := parseStream(l.kind)
	switch {
	case tail == "]":
		l.term = LF
	case tail == `,"crlf"]` && frame:
		l.term = CRLF
	case tail == `,"eof"]` && frame:
		l.term = None
	case tail == "":
		return errors.New("it is cut short")
	default:
		return fmt.Errorf(`its value is followed by %q; only "crlf" and "eof" can stand there`, string(l.tail))
	}
	return nil
}

// textDecoder turns a JSON string that comes in pieces, and was found to be
// one, into its text or the bytes that it holds as base64. Half a surrogate
// pair becomes U+FFFD.
type textDecoder struct {
	base64 bool
	begun  bool // after the opening quote
	escape int  // 1 after a backslash, 2 to 5 within \uHHHH
	code   rune
	high   rune // first half of a surrogate pair
	out    []byte
	rest   []byte // base64 digits that make no group yet
	padded bool
}

func (d *textDecoder) decode(p []byte) ([]byte, error) {
	d.out = d.out[:0]
	for i := 0; i < len(p); i++ {
		c := p[i]
		switch {
		case d.escape == 1:
			d.escape = 0
			if c == 'u' {
				d.escape, d.code = 2, 0
				continue
			}
			d.lone()
			d.out = append(d.out, unescaped(c))
		case d.escape > 1:
			digit, _ := hexDigit(c)
			d.code = d.code<<4 | digit
			if d.escape++; d.escape == 6 {
				d.escape = 0
				d.char()
			}
		case c == '\\':
			d.escape = 1
		case c == '"' && !d.begun:
			d.begun = true
		case c == '"':
			d.lone()
		default:
			d.lone()
			from := i
			for i+1 < len(p) && plain[p[i+1]] {
				i++
			}
			d.out = append(d.out, p[from:i+1]...)
		}
	}
	if d.base64 {
		return d.bytes()
	}
	return d.out, nil
}

func unescaped(c byte) byte {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return c
}

// char takes the code of a \uHHHH.
func (d *textDecoder) char() {
	if d.high != 0 {
		if r := utf16.DecodeRune(d.high, d.code); r != utf8.RuneError {
			d.out = utf8.AppendRune(d.out, r)
			d.high = 0
			return
		}
		d.lone()
	}
	if d.code >= 0xd800 && d.code < 0xdc00 {
		d.high = d.code
		return
	}
	d.out = utf8.AppendRune(d.out, d.code)
}

// lone gives up on the other half of a surrogate pair.
func (d *textDecoder) lone() {
	if d.high != 0 {
		d.out = utf8.AppendRune(d.out, utf8.RuneError)
		d.high = 0
	}
}

var errBase64 = errors.New("its value is not base64")

// bytes decodes the groups of four digits that are complete.
func (d *textDecoder) bytes() ([]byte, error) {
	if len(d.out) > 0 && d.padded {
		return nil, errBase64
	}
	d.rest = append(d.rest, d.out...)
	n := len(d.rest) &^ 3
	out := make([]byte, base64.StdEncoding.DecodedLen(n))
	k, err := base64.StdEncoding.Strict().Decode(out, d.rest[:n])
	if err != nil || bytes.ContainsAny(d.rest[:n], "\r\n") {
		return nil, errBase64
	}
	d.padded = n > 0 && d.rest[n-1] == '='
	if d.padded && n < len(d.rest) {
		return nil, errBase64
	}
	d.rest = append(d.rest[:0], d.rest[n:]...)
	return out[:k], nil
}

func (d *textDecoder) endBase64() error {
	if len(d.rest) > 0 {
		return errBase64
	}
	return nil
}
