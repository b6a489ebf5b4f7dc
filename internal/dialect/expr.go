package dialect

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

// frame is a frame being read: its bytes and where the table's places stand.
type frame struct {
	raw   []byte
	spans []Span
}

// expr is a compiled gjson path: a slot when it is made of keys and indexes
// only, else gjson evaluates it.
type expr struct {
	slot int
	path string // for gjson, "" when slot is used
	keys []string
}

// get returns the raw token at the path, nil when there is none.
func (e *expr) get(f frame) []byte {
	if e.path == "" {
		s := f.spans[e.slot]
		return f.raw[s.Start:s.End:s.End]
	}
	r := gjson.Get(share(f.raw), e.path)
	if !r.Exists() {
		return nil
	}
	return []byte(r.Raw)
}

// pick is the first of several paths that leads to something.
type pick []expr

func (p pick) get(f frame) []byte {
	for i := range p {
		if t := p[i].get(f); len(t) > 0 {
			return t
		}
	}
	return nil
}

// compiler turns a table into a dialect.
type compiler struct {
	tree *tree
	line int // of the family being compiled
}

func (c *compiler) fail(format string, args ...any) error {
	if c.line > 0 {
		return fmt.Errorf("line %d: %s", c.line, fmt.Sprintf(format, args...))
	}
	return fmt.Errorf(format, args...)
}

func (c *compiler) expr(path string) (expr, error) {
	if keys, ok := splitPlain(path); ok {
		if len(keys) > maxKeys {
			return expr{}, c.fail("the path %q has more than %d keys", path, maxKeys)
		}
		return expr{slot: c.tree.place(keys), keys: keys}, nil
	}
	if path == "" || strings.ContainsAny(path, "@!{}") || strings.HasPrefix(path, "[") || strings.Contains(path, ".[") {
		return expr{}, c.fail("the path %q is not a gjson path of keys, indexes, # and queries; write one such as params.update.content.text", path)
	}
	return expr{path: path}, nil
}

// maxKeys bounds how deep a table looks.
const maxKeys = 32

func (c *compiler) pick(paths list) (pick, error) {
	var out pick
	for _, path := range paths {
		if path == none {
			continue
		}
		e, err := c.expr(path)
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

// none takes back in a case what its family says.
const none = "none"

// template is text with places in it: "event.{runtimeEventType}".
type template struct {
	parts []part
	whole bool // it is one place and nothing else
}

type part struct {
	text string
	at   *expr
}

func (c *compiler) template(text string) (template, error) {
	var t template
	for rest := text; rest != ""; {
		open := strings.IndexByte(rest, '{')
		if open < 0 {
			t.parts = append(t.parts, part{text: rest})
			break
		}
		if open > 0 {
			t.parts = append(t.parts, part{text: rest[:open]})
		}
		end := strings.IndexByte(rest[open:], '}')
		if end < 0 {
			return t, c.fail("%q opens a place with { and does not close it with }", text)
		}
		e, err := c.expr(rest[open+1 : open+end])
		if err != nil {
			return t, err
		}
		t.parts = append(t.parts, part{at: &e})
		rest = rest[open+end+1:]
	}
	t.whole = len(t.parts) == 1 && t.parts[0].at != nil
	return t, nil
}

func (c *compiler) templates(texts list) ([]template, error) {
	var out []template
	for _, text := range texts {
		if text == none {
			continue
		}
		t, err := c.template(text)
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, nil
}

// texts compiles a list in which an entry is a path, a template when it has a
// place in braces, or the words behind a "=".
func (c *compiler) texts(from list) ([]template, error) {
	wrapped := make(list, len(from))
	for i, s := range from {
		if wrapped[i] = s; s != none && !strings.Contains(s, "{") && !strings.HasPrefix(s, "=") {
			wrapped[i] = "{" + s + "}"
		}
		wrapped[i] = strings.TrimPrefix(wrapped[i], "=")
	}
	return c.templates(wrapped)
}

// appendTo appends the text; missing places make ok false and add nothing.
// Each place adds at most limit bytes.
func (t *template) appendTo(b []byte, f frame, limit int) (_ []byte, ok bool) {
	ok = true
	for i := range t.parts {
		p := &t.parts[i]
		if p.at == nil {
			b = append(b, p.text...)
			continue
		}
		token := p.at.get(f)
		if len(token) == 0 {
			ok = false
			continue
		}
		if len(token) > limit {
			token = token[:limit]
			if token[0] == '"' {
				token = cutString(token)
			}
		}
		if token[0] == '"' {
			b = append(b, decode(token)...)
		} else {
			b = append(b, token...)
		}
	}
	return b, ok
}

// cutString closes a string token that was cut, away from any escape.
func cutString(token []byte) []byte {
	if i := strings.IndexByte(share(token), '\\'); i > 0 {
		token = token[:i]
	}
	return append(token[:len(token):len(token)], '"')
}

// text returns what the first of the templates that has all its places says,
// "" when none has.
func text(from []template, f frame) string {
	for i := range from {
		t := &from[i]
		if t.whole {
			if s := readable(t.parts[0].at.get(f)); s != "" {
				return s
			}
			continue
		}
		if b, ok := t.appendTo(nil, f, len(f.raw)); ok {
			return share(b)
		}
	}
	return ""
}

// readable returns a token as text: a string decoded, a content part as people
// read it, the elements of an array joined by line breaks, anything else as it
// stands less its binary strings; null is nothing.
func readable(token []byte) string {
	switch {
	case len(token) == 0 || token[0] == 'n':
		return ""
	case token[0] == '"':
		return decode(token)
	case token[0] == '{':
		if s, ok := partText(token); ok {
			return s
		}
		return share(StripBinary(token))
	case token[0] != '[':
		return share(token)
	}
	var said []string
	eachMemberOf(token, func(_ string, s Span) bool {
		if e := token[s.Start:s.End]; e[0] == '[' {
			said = append(said, share(StripBinary(e)))
		} else if text := readable(e); text != "" {
			said = append(said, text)
		}
		return true
	})
	return strings.Join(said, "\n")
}

// key returns what a request is known by, or what a response answers by: the
// template's text, long values by their hash so that it stays short. ok is false
// when a place is missing.
func (t *template) key(f frame) (_ string, ok bool) {
	var b []byte
	ok = true
	for i := range t.parts {
		p := &t.parts[i]
		if p.at == nil {
			b = append(b, p.text...)
			continue
		}
		token := p.at.get(f)
		ok = ok && len(token) > 0
		if len(token) > 128 {
			h := fnv.New64a()
			h.Write(token)
			b = append(strconv.AppendUint(append(b, '#'), h.Sum64(), 16), '#')
			continue
		}
		if len(token) > 0 && token[0] == '"' {
			b = append(b, decode(token)...)
		} else {
			b = append(b, token...)
		}
	}
	return share(b), ok
}
