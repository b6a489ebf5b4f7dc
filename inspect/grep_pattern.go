package inspect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"agentrec/internal/transcript"
	"agentrec/store"
)

// pattern is what grep looks for, compiled. Not for concurrent use.
type pattern struct {
	re       *regexp.Regexp  // nil for a text
	word     transcript.Word // what re needs
	text     string
	variants [][]byte // the text, and how JSON spells it
	wide     bool     // JSON may also spell it in hexadecimal
	fold     bool     // letters of ASCII match in either case
	lower    []byte   // room for a frame in lower case
}

// newPattern compiles what grep looks for.
func newPattern(text string, isRegexp, ignoreCase bool) (*pattern, error) {
	if text == "" {
		return nil, errors.New("searching for an empty text: write what to look for")
	}
	wide := strings.IndexFunc(text, func(r rune) bool { return r >= 0x80 }) >= 0
	if isRegexp || ignoreCase && wide {
		expr := text
		if !isRegexp {
			expr = regexp.QuoteMeta(text)
		}
		if ignoreCase {
			expr = "(?i)" + expr
		}
		re, err := regexp.Compile(expr)
		if err != nil {
			return nil, fmt.Errorf("reading the regular expression: %s", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
		}
		return &pattern{re: re, word: transcript.WordOf(re), text: text}, nil
	}
	if ignoreCase {
		text = string(transcript.Lowered(nil, []byte(text)))
	}
	p := &pattern{text: text, fold: ignoreCase, wide: wide, variants: [][]byte{[]byte(text)}}
	if spelled := jsonSpelling.Replace(text); spelled != text {
		p.variants = append(p.variants, []byte(spelled))
	}
	return p, nil
}

// jsonSpelling writes a text as JSON does inside a string.
var jsonSpelling = strings.NewReplacer(`"`, `\"`, `\`, `\\`, "\n", `\n`, "\r", `\r`, "\t", `\t`, "\b", `\b`, "\f", `\f`)

// needle returns what must stand where the pattern is found.
func (p *pattern) needle() transcript.Needle {
	if p.re != nil {
		return transcript.NeedleOfRegexp(p.re)
	}
	texts := make([]string, len(p.variants))
	for i, v := range p.variants {
		texts[i] = string(v)
	}
	return transcript.NeedleOf(texts...)
}

// find returns the first match in recorded bytes, and the text that it stands
// in: b itself, or b with its escapes read; nil when there is none.
func (p *pattern) find(b []byte) ([]byte, []int) {
	if p.re != nil {
		if at := p.match(b); at != nil {
			return b, at
		}
		if bytes.IndexByte(b, '\\') >= 0 {
			text := []byte(transcript.Unescaped(b))
			return text, p.match(text)
		}
		return b, nil
	}
	in := b
	if p.fold {
		p.lower = transcript.Lowered(p.lower[:0], b)
		in = p.lower
	}
	for _, v := range p.variants {
		if i := bytes.Index(in, v); i >= 0 {
			return b, []int{i, i + len(v)}
		}
	}
	if p.wide && bytes.Contains(b, []byte(`\u`)) {
		text := []byte(transcript.Unescaped(b))
		return text, p.findText(string(text))
	}
	return b, nil
}

// match finds the regular expression.
func (p *pattern) match(b []byte) []int {
	if !p.word.In(b, &p.lower) {
		return nil
	}
	return p.re.FindIndex(b)
}

// findText returns the first match in a decoded text, nil when there is none.
func (p *pattern) findText(s string) []int {
	if p.re != nil {
		if !p.word.In([]byte(s), &p.lower) {
			return nil
		}
		return p.re.FindStringIndex(s)
	}
	if p.fold {
		p.lower = transcript.Lowered(p.lower[:0], []byte(s))
		if i := bytes.Index(p.lower, []byte(p.text)); i >= 0 {
			return []int{i, i + len(p.text)}
		}
		return nil
	}
	if i := strings.Index(s, p.text); i >= 0 {
		return []int{i, i + len(p.text)}
	}
	return nil
}

// Blocks in which a giant is searched: they overlap, so that a match of up to
// giantOverlap bytes is found wherever it stands.
const (
	giantBlock   = 1 << 20
	giantOverlap = 64 << 10
)

// findGiant looks for a match in a frame of any size and returns the bytes
// around it.
func (p *pattern) findGiant(ctx context.Context, s *store.Session, seq int64) ([]byte, []int, error) {
	r, err := s.Reader(ctx, seq)
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	block := make([]byte, 0, giantBlock+giantOverlap)
	for {
		keep := min(len(block), giantOverlap)
		block = append(block[:0], block[len(block)-keep:]...)
		n, err := io.ReadFull(r, block[keep:keep+giantBlock])
		block = block[:keep+n]
		if text, m := p.find(block); m != nil {
			return text, m, nil
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, nil, nil
		}
		if err != nil {
			return nil, nil, fmt.Errorf("reading frame %d: %w", seq, err)
		}
	}
}
