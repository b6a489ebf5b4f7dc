package redact

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// A token is "<redacted:KIND:MARK>". KIND is a short lower-case name; MARK is
// markDigits hex digits of a keyed hash, or in the text form a small number.
// No byte of it needs an escape in JSON, so it stands in a string at any depth
// of quoting.
//
// markDigits is 12, that is 48 bits. Nobody can guess a secret from a mark
// without the 32-byte key, however short or long the mark is. What the length
// decides is whether two secrets of one database share a mark: among 10,000
// secrets that happens once in five million databases (with 8 digits, once in
// a hundred).
const (
	tokenOpen  = "<redacted:"
	markDigits = 12
	maxKind    = 40
	maxNumber  = 9 // digits of a numbered token
)

// token appends the token for a secret.
func (r *Redactor) token(dst []byte, kind string, secret []byte) []byte {
	h := hmac.New(sha256.New, r.key)
	h.Write(secret)
	var sum [sha256.Size]byte
	dst = append(dst, tokenOpen...)
	dst = append(dst, kind...)
	dst = append(dst, ':')
	dst = hex.AppendEncode(dst, h.Sum(sum[:0])[:markDigits/2])
	return append(dst, '>')
}

// Token returns the token for a secret. Its mark depends on the secret and the
// key alone, so equal secrets have equal marks whatever the kind. secret is
// what the program meant: without the escapes of JSON.
func (r *Redactor) Token(kind string, secret []byte) string {
	return string(r.token(nil, cleanKind(kind), secret))
}

// Match reports whether token stands for the live secret: always when token is
// a numbered one, for then the key is not at hand and it fits any value. Which
// numbered tokens must be equal to one another is the caller's to remember.
func (r *Redactor) Match(token, secret string) bool {
	_, mark, ok := splitToken(token)
	if !ok {
		return false
	}
	if len(mark) != markDigits {
		return true
	}
	_, live, _ := splitToken(r.Token("x", []byte(secret)))
	return hmac.Equal([]byte(mark), []byte(live))
}

// IsToken reports whether s is a token and nothing else, and its kind.
func IsToken(s string) (kind string, ok bool) {
	kind, _, ok = splitToken(s)
	return kind, ok
}

// NextToken returns the place of the first token in b, or -1, -1.
func NextToken(b []byte) (start, end int) {
	for at := 0; ; {
		i := bytes.Index(b[at:], []byte(tokenOpen))
		if i < 0 {
			return -1, -1
		}
		at += i
		if n := tokenLen(b[at:]); n > 0 {
			return at, at + n
		}
		at += len(tokenOpen)
	}
}

func splitToken(s string) (kind, mark string, ok bool) {
	if !strings.HasPrefix(s, tokenOpen) || tokenLen([]byte(s)) != len(s) {
		return "", "", false
	}
	kind, mark, ok = strings.Cut(s[len(tokenOpen):len(s)-1], ":")
	return kind, mark, ok
}

// tokenLen returns the length of the token at the start of b, 0 when there is
// none.
func tokenLen(b []byte) int {
	if len(b) < len(tokenOpen) || string(b[:len(tokenOpen)]) != tokenOpen {
		return 0
	}
	i := len(tokenOpen)
	for i < len(b) && kindByte(b[i]) {
		i++
	}
	if n := i - len(tokenOpen); n == 0 || n > maxKind || i >= len(b) || b[i] != ':' {
		return 0
	}
	i++
	start, digits := i, true
	for i < len(b) && (isDigit(b[i]) || 'a' <= b[i] && b[i] <= 'f') {
		digits = digits && isDigit(b[i])
		i++
	}
	n := i - start
	if i >= len(b) || b[i] != '>' || !(n == markDigits || digits && 0 < n && n <= maxNumber) {
		return 0
	}
	return i + 1
}

func kindByte(c byte) bool {
	return 'a' <= c && c <= 'z' || isDigit(c) || c == '_' || c == '-' || c == '.'
}

// cleanKind makes any text fit to be a kind.
func cleanKind(kind string) string {
	b := []byte(strings.ToLower(kind))
	for i, c := range b {
		if !kindByte(c) {
			b[i] = '_'
		}
	}
	if len(b) == 0 {
		return "secret"
	}
	return string(b[:min(len(b), maxKind)])
}

// Numbering gives the tokens of a session the form they have in the text form,
// "<redacted:api_key:1>": numbers in order of appearance, equal for equal
// secrets. A number tells nothing about the secret, not even to those who hold
// the key. Not safe for concurrent use.
type Numbering struct {
	names map[string]string // mark or number as found, to number
	taken map[string]bool
	last  int
}

// NewNumbering returns a numbering that begins at 1.
func NewNumbering() *Numbering {
	return &Numbering{names: map[string]string{}, taken: map[string]bool{}}
}

// Apply returns b with its tokens numbered, b itself when it has none. Tokens
// that are numbered already keep their number unless another token has it.
func (n *Numbering) Apply(b []byte) []byte {
	start, end := NextToken(b)
	if start < 0 {
		return b
	}
	out := make([]byte, 0, len(b))
	for start >= 0 {
		kind, mark, _ := splitToken(string(b[start:end]))
		out = append(out, b[:start]...)
		out = append(out, tokenOpen...)
		out = append(out, kind...)
		out = append(out, ':')
		out = append(out, n.number(mark)...)
		out = append(out, '>')
		b = b[end:]
		start, end = NextToken(b)
	}
	return append(out, b...)
}

// Keep reserves the numbers of the numbered tokens in b: tokens that Apply meets
// before them get others.
func (n *Numbering) Keep(b []byte) {
	for {
		start, end := NextToken(b)
		if start < 0 {
			return
		}
		if _, mark, _ := splitToken(string(b[start:end])); len(mark) != markDigits {
			n.names[mark], n.taken[mark] = mark, true
		}
		b = b[end:]
	}
}

func (n *Numbering) number(mark string) string {
	if name, ok := n.names[mark]; ok {
		return name
	}
	name := mark
	if len(mark) == markDigits || n.taken[mark] {
		for name = ""; name == "" || n.taken[name]; {
			n.last++
			name = itoa(n.last)
		}
	}
	n.names[mark], n.taken[name] = name, true
	return name
}
