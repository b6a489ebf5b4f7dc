package llm

import (
	"bytes"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"agentrec/internal/dialect"
	"agentrec/internal/redact"
	"agentrec/store"
)

// maxDecoded bounds what a compressed body may unpack to.
const maxDecoded = 64 << 20

// AnswerBody returns the body of an answer as it came, joined.
func AnswerBody(x store.Exchange) []byte {
	if len(x.Pieces) == 1 {
		return x.Pieces[0].Bytes
	}
	n := 0
	for _, p := range x.Pieces {
		n += len(p.Bytes)
	}
	body := make([]byte, 0, n)
	for _, p := range x.Pieces {
		body = append(body, p.Bytes...)
	}
	return body
}

// Decoded returns a body without the content encodings that its header names, as
// redact.Decoder knows them. What cannot be unpacked to its end is unpacked as far
// as it can; any other encoding leaves the bytes as they are.
func Decoded(body []byte, header []store.Field) []byte {
	return unpacked(body, headerValue(header, "content-encoding"))
}

func unpacked(body []byte, encoding string) []byte {
	if encoding == "" {
		return body
	}
	r, free, err := redact.Decoder(encoding, bytes.NewReader(body))
	if err != nil {
		return body // the header does not tell the truth
	}
	defer free()
	plain, err := io.ReadAll(io.LimitReader(r, maxDecoded))
	if len(plain) == 0 && err != nil {
		return body
	}
	return plain
}

// arrival returns when the byte before offset end of the joined answer came,
// since the exchange began; -1 where the offset is of decoded bytes.
func arrival(x *store.Exchange, end int) time.Duration {
	if e := headerValue(x.Answer, "content-encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return -1
	}
	for _, p := range x.Pieces {
		if end -= len(p.Bytes); end <= 0 {
			return p.Time - x.Time
		}
	}
	return -1
}

// jsonValue returns the JSON value in raw. Of a cut one it returns the part that is
// there, its strings and containers closed, with whole false; of what is no
// JSON nothing.
func jsonValue(raw []byte) (v []byte, whole bool) {
	raw = bytes.TrimPrefix(raw, []byte("\xef\xbb\xbf"))
	if dialect.Valid(raw) {
		return raw, true
	}
	return mend(raw), false
}

// mend closes a cut JSON value behind the last thing in it that is complete, or
// within the string value that is cut.
func mend(raw []byte) []byte {
	var open []byte // closing brackets still to come
	safe := 0       // up to here it is complete but for these
	key := false    // a key must come
	for i := 0; i < len(raw); {
		switch c := raw[i]; c {
		case ' ', '\t', '\n', '\r', ':':
			i++
		case ',':
			key = len(open) > 0 && open[len(open)-1] == '}'
			i++
		case '{', '[':
			if len(open) >= dialect.MaxDepth {
				return nil
			}
			key = c == '{'
			open = append(open, c+2) // '}' and ']' stand two behind their partners
			i++
			safe = i
		case '}', ']':
			if len(open) == 0 || open[len(open)-1] != c {
				return closeJSON(raw[:safe], open)
			}
			open, key = open[:len(open)-1], false
			i++
			safe = i
		case '"':
			end := literalEnd(raw, i)
			if end < 0 {
				if key || len(open) == 0 {
					return closeJSON(raw[:safe], open)
				}
				return closeJSON(append(wholeRunes(raw[i:], raw[:i]), '"'), open)
			}
			i = end
			if !key {
				safe = i
			}
			key = false
		default:
			end := i
			for end < len(raw) && strings.IndexByte(" \t\r\n,:{}[]\"", raw[end]) < 0 {
				end++
			}
			if end == len(raw) || end == i {
				return closeJSON(raw[:safe], open)
			}
			i, safe = end, end
		}
		if len(open) == 0 && safe > 0 {
			break
		}
	}
	return closeJSON(raw[:safe], open)
}

// wholeRunes returns before and the cut string behind it, less an escape or
// character that is cut.
func wholeRunes(s, before []byte) []byte {
	if i := bytes.LastIndexByte(s, '\\'); i >= 0 {
		slashes := 0
		for k := i; k >= 0 && s[k] == '\\'; k-- {
			slashes++
		}
		if tail := s[i:]; slashes%2 == 1 && (len(tail) == 1 || tail[1] == 'u' && len(tail) < 6) {
			s = s[:i]
		}
	}
	for n := 1; n <= utf8.UTFMax && n < len(s); n++ {
		if utf8.RuneStart(s[len(s)-n]) {
			if !utf8.FullRune(s[len(s)-n:]) {
				s = s[:len(s)-n]
			}
			break
		}
	}
	out := make([]byte, 0, len(before)+len(s)+64)
	return append(append(out, before...), s...)
}

// closeJSON returns raw with the brackets that are open, or nothing when that is
// no JSON.
func closeJSON(raw, open []byte) []byte {
	out := make([]byte, 0, len(raw)+len(open))
	out = append(out, raw...)
	for i := len(open) - 1; i >= 0; i-- {
		out = append(out, open[i])
	}
	if !dialect.Valid(out) {
		return nil
	}
	return out
}

// literalEnd returns where the string that begins at i ends, -1 when it does not.
func literalEnd(raw []byte, i int) int {
	for i++; i < len(raw); i++ {
		switch raw[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return -1
}
