package transcript

import (
	"bytes"
	"math/big"
	"strconv"
	"strings"

	"agentrec/internal/dialect"
)

// onPlaces reports whether some place of the path in a valid frame satisfies
// the condition. Of duplicate keys the first counts.
func (c *condition) onPlaces(raw []byte) bool {
	if c.keys != nil && !c.mayHold(raw) {
		return false
	}
	if !dialect.Valid(raw) {
		return false
	}
	t := parse(raw)
	if c.keys != nil {
		n := int32(0)
		for _, key := range c.keys {
			if n = t.child(n, key); n < 0 {
				return false
			}
		}
		return c.onToken(t, n)
	}
	return t.walk(0, nil, func(place []string, n int32) bool {
		return c.places.Match(place) && c.onToken(t, n)
	})
}

// mayHold is a cheap look for the last key of the path: a frame that does not
// contain it, and has no escapes that could hide it, has no such place.
func (c *condition) mayHold(raw []byte) bool {
	if len(c.keys) == 0 || isIndex(c.keys[len(c.keys)-1]) {
		return true
	}
	return bytes.Contains(raw, []byte(c.keys[len(c.keys)-1])) || bytes.IndexByte(raw, '\\') >= 0
}

func isIndex(key string) bool { return key != "" && strings.Trim(key, "0123456789") == "" }

// child returns the value of a key of an object, or of an index of an array;
// -1 when there is none.
func (t *tree) child(n int32, key string) int32 {
	switch t.kind(n) {
	case '{':
		for c := n + 1; c < t.nodes[n].next; c = t.nodes[c].next {
			if t.name(c) == key {
				return c
			}
		}
	case '[':
		if !isIndex(key) || len(key) > 9 || len(key) > 1 && key[0] == '0' {
			return -1
		}
		want := int32(0)
		for i := range len(key) {
			want = want*10 + int32(key[i]-'0')
		}
		for c := n + 1; c < t.nodes[n].next; c = t.nodes[c].next {
			if want--; want < 0 {
				return c
			}
		}
	}
	return -1
}

// walk calls visit for every value until it returns true. Depth is bounded by
// dialect.MaxDepth.
func (t *tree) walk(n int32, place []string, visit func([]string, int32) bool) bool {
	if visit(place, n) {
		return true
	}
	kind := t.kind(n)
	if kind != '{' && kind != '[' {
		return false
	}
	seen := map[string]bool{}
	i := 0
	for c := n + 1; c < t.nodes[n].next; c = t.nodes[c].next {
		key := strconv.Itoa(i)
		if kind == '{' {
			if key = t.name(c); seen[key] {
				continue
			}
			seen[key] = true
		}
		if t.walk(c, append(place, key), visit) {
			return true
		}
		i++
	}
	return false
}

// onToken compares one JSON value.
func (c *condition) onToken(t *tree, n int32) bool {
	if c.op == opIs {
		return true
	}
	token := t.text(n)
	kind := t.kind(n)
	text := string(token)
	if kind == '"' {
		text = Unquote(token)
	}
	switch c.op {
	case opContains:
		return strings.Contains(text, c.text)
	case opMatches:
		return c.re.MatchString(text)
	case opEqual:
		switch {
		case c.quoted:
			return kind == '"' && text == c.text
		case isNumber(c.text):
			return kind == '0' && canonical(text) == canonical(c.text)
		case c.text == "true" || c.text == "false" || c.text == "null":
			return kind != '"' && text == c.text
		}
		return kind == '"' && glob(c.text, text)
	}
	if kind != '0' {
		return false
	}
	order := compareNumbers(text, c.text)
	switch c.op {
	case opLess:
		return order < 0
	case opLessEqual:
		return order <= 0
	case opGreater:
		return order > 0
	}
	return order >= 0
}

// isNumber reports whether s is a JSON number.
func isNumber(s string) bool {
	return s != "" && (s[0] == '-' || '0' <= s[0] && s[0] <= '9') && dialect.Valid([]byte(s)) && strings.TrimSpace(s) == s
}

// compareNumbers orders two JSON numbers by their exact value.
func compareNumbers(a, b string) int {
	an, ad, ae := decimal(a)
	bn, bd, be := decimal(b)
	switch {
	case an != bn:
		if an {
			return -1
		}
		return 1
	case an:
		ad, ae, bd, be = bd, be, ad, ae
	}
	if ad == "" || bd == "" {
		return len(ad) - len(bd) // zero has no digits
	}
	if order := ae.Cmp(be); order != 0 {
		return order
	}
	return strings.Compare(ad, bd)
}

// decimal takes a number apart: its sign, its digits without zeros at either
// end, and the power of ten that its first digit stands before. Zero is not
// negative and has no digits.
func decimal(s string) (negative bool, digits string, exponent *big.Int) {
	c := canonical(s)
	if c == "0" {
		return false, "", new(big.Int)
	}
	negative = strings.HasPrefix(c, "-")
	digits, e, _ := strings.Cut(strings.TrimPrefix(c, "-"), "e")
	exponent, ok := new(big.Int).SetString(e, 10)
	if !ok {
		exponent = new(big.Int)
	}
	return negative, digits, exponent.Add(exponent, big.NewInt(int64(len(digits))))
}
