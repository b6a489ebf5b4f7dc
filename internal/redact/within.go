package redact

import "bytes"

// ReplaceIn returns a JSON frame with the bytes [from,to) of a string replaced
// by with, which must need no escape: the first string whose value is text. It
// returns raw itself when there is none.
func ReplaceIn(raw []byte, text string, from, to int, with string) []byte {
	for i := 0; i < len(raw); {
		n := bytes.IndexByte(raw[i:], '"')
		if n < 0 {
			return raw
		}
		start := i + n + 1
		end := literalEnd(raw, i+n) - 1
		if end >= len(raw) {
			return raw
		}
		v := &view{text: raw[start:end]}
		if d := decodeView(v); d != nil {
			v = d
		}
		if string(v.text) == text {
			a, b := v.source(from, to)
			out := append(make([]byte, 0, len(raw)+len(with)), raw[:start+a]...)
			return append(append(out, with...), raw[start+b:]...)
		}
		i = end + 1
	}
	return raw
}
