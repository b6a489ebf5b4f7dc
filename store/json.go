package store

// maxJSONDepth is how deep a frame may nest to stand verbatim in the text form:
// common parsers give up somewhere above.
const maxJSONDepth = 512

// jsonScanner finds where a JSON value (RFC 8259) ends that comes in pieces. It
// allows no white space before the value, and within it only what can stand in
// one line. It does not look at UTF-8. The zero value is ready.
type jsonScanner struct {
	object [maxJSONDepth/64 + 1]uint64 // which levels are objects
	depth  int
	outer  int // levels around the value
	state  jsonState
	key    bool   // the string is an object's key
	rest   string // of a literal
	hex    int    // digits still to come
}

type jsonState uint8

const (
	jsonValue    jsonState = iota // a value must come
	jsonElement                   // a value or the end of an empty array
	jsonMember                    // a key or the end of an empty object
	jsonKey                       // a key must come
	jsonColon                     //
	jsonAfter                     // a comma or the end of an array or object
	jsonString                    // within a string
	jsonEscape                    // after a backslash
	jsonHex                       // within \uHHHH
	jsonLiteral                   // within true, false or null
	jsonMinus                     // a number's first digit must come
	jsonZero                      // after a leading zero
	jsonInteger                   //
	jsonPoint                     // a digit must come
	jsonFraction                  //
	jsonE                         // a sign or a digit must come
	jsonESign                     // a digit must come
	jsonExponent                  //
	jsonEnd                       // the value is complete
	jsonBroken                    // no value can begin like this
)

// plain tells which bytes of a string need no attention.
var plain = func() (t [256]bool) {
	for i := range t {
		t[i] = i >= 0x20 && i != '"' && i != '\\'
	}
	return t
}()

// scan goes on with p and returns how much of it belongs to the value. Less
// than all of it does when the value has ended (state jsonEnd) or cannot be one
// (jsonBroken).
func (j *jsonScanner) scan(p []byte) int {
	for i := 0; i < len(p); {
		if j.state == jsonString {
			for i < len(p) && plain[p[i]] {
				i++
			}
			if i == len(p) {
				return i
			}
		}
		if j.state >= jsonEnd {
			return i
		}
		if j.next(p[i]) {
			i++
		}
	}
	return len(p)
}

// complete reports whether what was scanned is a whole value, if nothing more
// comes.
func (j *jsonScanner) complete() bool {
	switch j.state {
	case jsonEnd:
		return true
	case jsonZero, jsonInteger, jsonFraction, jsonExponent:
		return j.depth == 0
	}
	return false
}

// next takes one byte. It reports false when the byte was not used up: the
// number before it has ended, or all is over.
func (j *jsonScanner) next(c byte) bool {
	switch j.state {
	case jsonValue, jsonElement, jsonMember, jsonKey, jsonColon, jsonAfter:
		if c == ' ' || c == '\t' {
			if j.depth == 0 {
				return j.broken()
			}
			return true
		}
	}
	switch j.state {
	case jsonElement:
		if c == ']' {
			return j.close()
		}
		return j.begin(c)
	case jsonValue:
		return j.begin(c)
	case jsonMember, jsonKey:
		if c == '}' && j.state == jsonMember {
			return j.close()
		}
		if c != '"' {
			return j.broken()
		}
		j.state, j.key = jsonString, true
	case jsonColon:
		if c != ':' {
			return j.broken()
		}
		j.state = jsonValue
	case jsonAfter:
		return j.after(c)
	case jsonString:
		switch {
		case c == '\\':
			j.state = jsonEscape
		case c != '"':
			return j.broken()
		case j.key:
			j.state, j.key = jsonColon, false
		default:
			j.ended()
		}
	case jsonEscape:
		switch c {
		case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			j.state = jsonString
		case 'u':
			j.state, j.hex = jsonHex, 4
		default:
			return j.broken()
		}
	case jsonHex:
		if _, ok := hexDigit(c); !ok {
			return j.broken()
		}
		if j.hex--; j.hex == 0 {
			j.state = jsonString
		}
	case jsonLiteral:
		if c != j.rest[0] {
			return j.broken()
		}
		if j.rest = j.rest[1:]; j.rest == "" {
			j.ended()
		}
	case jsonEnd, jsonBroken:
		return false
	default:
		return j.number(c)
	}
	return true
}

// begin takes the first byte of a value.
func (j *jsonScanner) begin(c byte) bool {
	switch {
	case c == '"':
		j.state = jsonString
	case c == '{' || c == '[':
		if j.outer+j.depth == maxJSONDepth {
			return j.broken()
		}
		word, bit := j.depth/64, uint64(1)<<(j.depth%64)
		j.depth++
		if c == '{' {
			j.object[word] |= bit
			j.state = jsonMember
		} else {
			j.object[word] &^= bit
			j.state = jsonElement
		}
	case c == 't':
		j.state, j.rest = jsonLiteral, "rue"
	case c == 'f':
		j.state, j.rest = jsonLiteral, "alse"
	case c == 'n':
		j.state, j.rest = jsonLiteral, "ull"
	case c == '-':
		j.state = jsonMinus
	case c == '0':
		j.state = jsonZero
	case c >= '1' && c <= '9':
		j.state = jsonInteger
	default:
		return j.broken()
	}
	return true
}

// after takes what follows a value in an array or object.
func (j *jsonScanner) after(c byte) bool {
	object := j.object[(j.depth-1)/64]>>((j.depth-1)%64)&1 == 1
	switch {
	case c == ',' && object:
		j.state = jsonKey
	case c == ',':
		j.state = jsonValue
	case c == '}' && object || c == ']' && !object:
		return j.close()
	default:
		return j.broken()
	}
	return true
}

func (j *jsonScanner) number(c byte) bool {
	digit := c >= '0' && c <= '9'
	switch j.state {
	case jsonMinus:
		switch {
		case c == '0':
			j.state = jsonZero
		case digit:
			j.state = jsonInteger
		default:
			return j.broken()
		}
		return true
	case jsonPoint, jsonE, jsonESign:
		switch {
		case digit && j.state == jsonPoint:
			j.state = jsonFraction
		case digit:
			j.state = jsonExponent
		case j.state == jsonE && (c == '+' || c == '-'):
			j.state = jsonESign
		default:
			return j.broken()
		}
		return true
	}
	switch {
	case digit && j.state != jsonZero:
		return true
	case c == '.' && (j.state == jsonZero || j.state == jsonInteger):
		j.state = jsonPoint
		return true
	case (c == 'e' || c == 'E') && j.state != jsonExponent:
		j.state = jsonE
		return true
	}
	j.ended()
	return false
}

func (j *jsonScanner) close() bool {
	j.depth--
	j.ended()
	return true
}

// ended says that a value ended.
func (j *jsonScanner) ended() {
	j.state = jsonAfter
	if j.depth == 0 {
		j.state = jsonEnd
	}
}

func (j *jsonScanner) broken() bool {
	j.state = jsonBroken
	return false
}

func hexDigit(c byte) (rune, bool) {
	switch {
	case c >= '0' && c <= '9':
		return rune(c - '0'), true
	case c >= 'a' && c <= 'f':
		return rune(c - 'a' + 10), true
	case c >= 'A' && c <= 'F':
		return rune(c - 'A' + 10), true
	}
	return 0, false
}
