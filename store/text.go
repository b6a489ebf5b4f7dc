package store

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf8"
)

// textVersion is the version of the text form that this package writes. A
// reader refuses a higher one; additions that old readers may ignore do not
// raise it.
const textVersion = 1

// startedForm is how a header tells the start: RFC 3339 with microseconds.
const startedForm = "2006-01-02T15:04:05.000000Z07:00"

// textHeader is the first line of a session.
type textHeader struct {
	Agentrec   json.RawMessage   `json:"agentrec"`
	UID        string            `json:"uid,omitempty"`
	Name       string            `json:"name,omitempty"`
	Tags       map[string]string `json:"tags,omitempty"`
	Started    string            `json:"started,omitempty"`
	Host       string            `json:"host,omitempty"`
	Cwd        string            `json:"cwd,omitempty"`
	Folders    map[string]string `json:"folders,omitempty"`
	Argv       []string          `json:"argv,omitempty"`
	Version    string            `json:"version,omitempty"`
	Dialect    string            `json:"dialect,omitempty"`
	Unredacted bool              `json:"unredacted,omitempty"`
	Edited     bool              `json:"edited,omitempty"`
	Parent     string            `json:"parent,omitempty"`
}

// textEvent is what a line of kind event holds.
type textEvent struct {
	Kind   EventKind `json:"kind"`
	Stream string    `json:"stream,omitempty"`
	Signal string    `json:"signal,omitempty"`
	Exit   *Exit     `json:"exit,omitempty"`
	Bytes  int64     `json:"bytes,omitempty"`
	Detail string    `json:"detail,omitempty"`
}

// textProof is what the last line of a session holds.
type textProof struct {
	State    State       `json:"state"`
	Reason   string      `json:"reason,omitempty"`
	Exit     *Exit       `json:"exit,omitempty"`
	Wire     *textWire   `json:"wire,omitempty"`
	In       *textChain  `json:"in,omitempty"`
	Out      *textChain  `json:"out,omitempty"`
	Err      *textChain  `json:"err,omitempty"`
	Original *textProofs `json:"original,omitempty"`

	Exchanges *textCount `json:"exchanges,omitempty"`
}

type textChains struct {
	In  *textChain `json:"in,omitempty"`
	Out *textChain `json:"out,omitempty"`
	Err *textChain `json:"err,omitempty"`
}

// textProofs is the proof that an edited session had.
type textProofs struct {
	textChains
	Exchanges *textCount `json:"exchanges,omitempty"`
}

type textWire struct {
	In  *int64 `json:"in,omitempty"`
	Out *int64 `json:"out,omitempty"`
	Err *int64 `json:"err,omitempty"`
}

type textChain struct {
	Frames int64  `json:"frames"`
	Bytes  int64  `json:"bytes"`
	Hash   string `json:"hash"`
}

// textChainsOf leaves out streams without frames.
func textChainsOf(c [Streams]Chain) textChains {
	form := func(c Chain) *textChain {
		if c.Frames == 0 {
			return nil
		}
		return &textChain{c.Frames, c.Bytes, hex.EncodeToString(c.Hash[:])}
	}
	return textChains{form(c[In]), form(c[Out]), form(c[Err])}
}

func (t textChains) chains() (c [Streams]Chain, err error) {
	for i, f := range []*textChain{t.In, t.Out, t.Err} {
		if f == nil {
			continue
		}
		c[i].Frames, c[i].Bytes = f.Frames, f.Bytes
		if n, err := hex.Decode(c[i].Hash[:], []byte(f.Hash)); err != nil || n != len(c[i].Hash) || len(f.Hash) != 2*n {
			return c, fmt.Errorf("%q is not a hash of 64 hexadecimal digits", f.Hash)
		}
		if f.Frames < 0 || f.Frames > maxSeq || f.Bytes < 0 {
			return c, fmt.Errorf("%d frames of %d bytes cannot be", f.Frames, f.Bytes)
		}
	}
	return c, nil
}

func textWireOf(w [Streams]int64) *textWire {
	if w == [Streams]int64{-1, -1, -1} {
		return nil
	}
	form := func(n int64) *int64 {
		if n < 0 {
			return nil
		}
		return &n
	}
	return &textWire{form(w[In]), form(w[Out]), form(w[Err])}
}

func (t *textWire) counts() [Streams]int64 {
	w := [Streams]int64{-1, -1, -1}
	if t == nil {
		return w
	}
	for i, n := range []*int64{t.In, t.Out, t.Err} {
		if n != nil && *n >= 0 {
			w[i] = *n
		}
	}
	return w
}

func parseStream(name string) (Stream, bool) {
	for s := In; s <= Err; s++ {
		if s.String() == name {
			return s, true
		}
	}
	return 0, false
}

// clean puts U+FFFD in the place of bytes that are not UTF-8, as it stands
// after reading back what encoding/json makes of them.
func clean(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return string([]rune(s))
}

// textJSON encodes v in one line, with <, > and & as they are.
func textJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

// How a frame's bytes stand in the text form: as they are, as a JSON string, as
// base64.
const (
	asJSON   = ""
	asText   = ":text"
	asBase64 = ":base64"
)

// encodingTest finds the form for a frame that comes in pieces. The zero value
// is ready.
type encodingTest struct {
	json jsonScanner
	utf8 utf8Scanner
	more bool // bytes after the end of the value
}

func (t *encodingTest) add(p []byte) {
	t.utf8.scan(p)
	if t.json.scan(p) < len(p) {
		t.more = true
	}
}

func (t *encodingTest) form() string {
	switch {
	case !t.utf8.valid():
		return asBase64
	case t.json.complete() && !t.more:
		return asJSON
	}
	return asText
}

// utf8Scanner judges UTF-8 that comes in pieces.
type utf8Scanner struct {
	tail [utf8.UTFMax]byte // the beginning of a character
	n    int
	bad  bool
}

func (u *utf8Scanner) scan(p []byte) {
	for u.n > 0 && len(p) > 0 && !u.bad {
		u.tail[u.n] = p[0]
		u.n++
		p = p[1:]
		if utf8.FullRune(u.tail[:u.n]) {
			r, size := utf8.DecodeRune(u.tail[:u.n])
			u.bad = r == utf8.RuneError && size <= 1
			u.n = 0
		}
	}
	if u.bad || len(p) == 0 {
		return
	}
	// Only the last character can be incomplete.
	end := len(p)
	for i := 1; i <= min(utf8.UTFMax-1, len(p)); i++ {
		if c := p[len(p)-i]; utf8.RuneStart(c) {
			if !utf8.FullRune(p[len(p)-i:]) {
				end = len(p) - i
			}
			break
		}
	}
	u.bad = !utf8.Valid(p[:end])
	u.n = copy(u.tail[:], p[end:])
}

func (u *utf8Scanner) valid() bool { return !u.bad && u.n == 0 }

// appendText appends p, which is UTF-8 and a piece of a longer text, as part of
// a JSON string. What would break lines or end the string is escaped.
func appendText(dst, p []byte) []byte {
	from := 0
	for i, r := range string(p) {
		if r >= 0x20 && r != '"' && r != '\\' && r != 0x7f && r != 0x2028 && r != 0x2029 {
			continue
		}
		dst = append(dst, p[from:i]...)
		from = i + utf8.RuneLen(r)
		switch r {
		case '"', '\\':
			dst = append(dst, '\\', byte(r))
		case '\t':
			dst = append(dst, `\t`...)
		case '\r':
			dst = append(dst, `\r`...)
		case '\n':
			dst = append(dst, `\n`...)
		default:
			dst = fmt.Appendf(dst, `\u%04x`, r)
		}
	}
	return append(dst, p[from:]...)
}

// started is the header's form of t.
func started(t time.Time) string { return t.UTC().Format(startedForm) }
