package dialect

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// Unescape returns the text that stands inside a JSON string literal: in itself
// where it has no escapes. Unlike a usual decoder it keeps different strings
// different: a lone surrogate stays what it is (as the three bytes UTF-8 would
// give it), and so do bytes that are not UTF-8 and escapes that JSON does not
// know.
func Unescape(in []byte) []byte {
	if bytes.IndexByte(in, '\\') < 0 {
		return in
	}
	out := make([]byte, 0, len(in))
	for i := 0; i < len(in); i++ {
		if in[i] != '\\' || i+1 >= len(in) {
			out = append(out, in[i])
			continue
		}
		i++
		switch in[i] {
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 't':
			out = append(out, '\t')
		case 'u':
			r, ok := hex4(in[i-1:])
			if !ok {
				out = append(out, '\\', 'u')
				continue
			}
			i += 4
			if utf16.IsSurrogate(r) {
				if low, ok := hex4(in[i+1:]); ok {
					if both := utf16.DecodeRune(r, low); both != utf8.RuneError {
						out = utf8.AppendRune(out, both)
						i += 6
						continue
					}
				}
				out = append(out, 0xE0|byte(r>>12), 0x80|byte(r>>6)&0xBF, 0x80|byte(r)&0xBF)
				continue
			}
			out = utf8.AppendRune(out, r)
		default:
			out = append(out, in[i])
		}
	}
	return out
}
