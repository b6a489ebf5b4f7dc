// Package printable makes recorded text fit for a terminal. That text is
// hostile; what comes out of here holds no control character of C0 (but LF from
// Lines), none of C1, no DEL, no bidirectional or other invisible format
// character and no invalid UTF-8. Each becomes the escape that Go and most
// shells write for it: \x1b, \u202e, \xff.
package printable

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Line returns s on one line, with every character that a terminal or an eye
// could be deceived by as an escape.
func Line(s string) string { return escape(s, false) }

// Lines is Line but keeps LF and turns a tab into spaces: for text that is read
// in paragraphs.
func Lines(s string) string { return escape(s, true) }

// Cut is Line of at most n runes of s, with an ellipsis when s is longer. Its
// cost does not grow with s.
func Cut(s string, n int) string {
	cut, runes := len(s), 0
	for i := range s {
		if runes == n {
			cut = i
			break
		}
		runes++
	}
	if cut == len(s) {
		return Line(s)
	}
	return Line(s[:cut]) + "…"
}

func escape(s string, lines bool) string {
	clean := true
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < 0x20 || c >= 0x7f {
			clean = false
			break
		}
	}
	if clean {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n <= 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case lines && r == '\n':
			b.WriteByte('\n')
		case lines && r == '\t':
			b.WriteString("    ")
		case Deceives(r):
			b.WriteString(escapeRune(r))
		default:
			b.WriteString(s[i : i+n])
		}
		i += n
	}
	return b.String()
}

func escapeRune(r rune) string {
	switch {
	case r == '\n':
		return `\n`
	case r == '\r':
		return `\r`
	case r == '\t':
		return `\t`
	case r < 0x80:
		return fmt.Sprintf(`\x%02x`, r)
	case r > 0xffff:
		return fmt.Sprintf(`\U%08x`, r)
	}
	return fmt.Sprintf(`\u%04x`, r)
}

// Deceives reports whether a rune controls a terminal or is invisible: the
// control characters, the line and paragraph separators, and the format
// characters (Unicode category Cf: bidi controls, zero-width space, byte order
// mark, tag characters) but the joiners that scripts and emoji need and the
// visible signs that stand in that category.
func Deceives(r rune) bool {
	switch {
	case r < 0x20, r >= 0x7f && r <= 0x9f, r == 0x2028, r == 0x2029:
		return true
	case r < 0x80, r == 0x200c, r == 0x200d:
		return false
	case r >= 0x600 && r <= 0x605, r == 0x6dd, r == 0x70f, r == 0x890, r == 0x891, r == 0x8e2, r == 0x110bd, r == 0x110cd:
		return false
	}
	return unicode.Is(unicode.Cf, r)
}

// JSON returns the JSON text j with the runes that a terminal could be
// deceived by as \u escapes. They can stand in strings only, so the value stays
// the same. j must be valid JSON on one line; invalid UTF-8 becomes U+FFFD, as
// every JSON reader would have it.
func JSON(j []byte) []byte {
	clean := true
	for _, c := range j {
		if c >= 0x7f {
			clean = false
			break
		}
	}
	if clean {
		return j
	}
	out := make([]byte, 0, len(j)+16)
	for i := 0; i < len(j); {
		r, n := utf8.DecodeRune(j[i:])
		switch {
		case r == utf8.RuneError && n <= 1:
			out = append(out, `\ufffd`...)
		case r >= 0x7f && Deceives(r) && r > 0xffff:
			hi, lo := (r-0x10000)>>10+0xd800, (r-0x10000)&0x3ff+0xdc00
			out = fmt.Appendf(out, `\u%04x\u%04x`, hi, lo)
		case r >= 0x7f && Deceives(r):
			out = fmt.Appendf(out, `\u%04x`, r)
		default:
			out = append(out, j[i:i+n]...)
		}
		i += n
	}
	return out
}
