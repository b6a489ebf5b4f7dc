package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"strconv"
	"strings"
)

func itoa(n int) string { return strconv.Itoa(n) }

// shortest is the length from which on a value is replaced wherever it stands.
const shortest = 8

// known is one form of a value that is known to be a secret.
type known struct {
	kind   string
	value  []byte
	anchor int // where the word that finds it begins in value
	digits bool
	before int // bytes of base64 around it that hold some of its bits
	after  int
	hex    bool // %2F and %2f are one
	fold   bool // all letters are hex digits: capital or not is one
	weak   bool // as of its value
}

// anchorLen bounds the words of known values in the automaton; the rest of the
// value is compared.
const anchorLen = 10

// environment returns the secrets among KEY=VALUE pairs.
func environment(pairs []string) []value {
	var values []value
	add := func(v, kind string) {
		if v = strings.TrimSpace(v); !common(v) {
			values = append(values, value{text: v, kind: kind})
		}
		if strings.Contains(v, "\n") { // it may be printed, and so come line by line
			for line := range strings.Lines(v) {
				if line = strings.TrimSpace(line); !common(line) && !strings.HasPrefix(line, "-----") {
					values = append(values, value{text: line, kind: kind})
				}
			}
		}
	}
	for _, pair := range pairs {
		k, v, ok := strings.Cut(pair, "=")
		if !ok {
			continue
		}
		if u, err := url.Parse(v); err == nil && u.User != nil {
			if pass, ok := u.User.Password(); ok {
				add(pass, "password")
			}
			continue
		}
		if kind := secretVariable(k); kind != "" && !strings.Contains(v, "://") && !pathLike([]byte(v)) {
			add(v, kind)
		}
	}
	return values
}

// secretVariable returns the kind of secret that a variable of this name
// holds, "" for none. It is broader than nameKind: the value is at hand, and it
// only counts when it does not look like a word.
func secretVariable(k string) string {
	if kind, s := nameKind([]byte(k), false); s != nothing {
		return kind
	}
	up := strings.ToUpper(k)
	for _, end := range []string{"_FILE", "_PATH", "_DIR", "_URL", "_URI", "_SOCK", "_TYPE", "_NAME", "_MODE", "_COUNT", "_TOKENS",
		"_LIMIT", "_HOST", "_PORT", "_USER", "_EMAIL", "_PARALLELISM", "_TTL", "_TIMEOUT", "_ENABLED", "_REGION", "_MODEL", "_ALGORITHM"} {
		if strings.HasSuffix(up, end) {
			return ""
		}
	}
	for _, part := range []struct{ word, kind string }{{"PASSWORD", "password"}, {"PASSWD", "password"}, {"PASSPHRASE", "password"},
		{"API_KEY", "api_key"}, {"APIKEY", "api_key"}, {"PRIVATE_KEY", "private_key"}, {"SECRET", "secret"}, {"_TOKEN", "token"},
		{"CREDENTIAL", "credentials"}, {"ACCESS_KEY", "secret"}} {
		if strings.Contains(up, part.word) {
			return part.kind
		}
	}
	if strings.HasSuffix(up, "_PWD") || strings.HasSuffix(up, "_AUTH") {
		return "secret"
	}
	return ""
}

// common reports whether a value is too short or too much like a word to be
// replaced wherever it stands.
func common(v string) bool {
	if len(v) < shortest || placeholder([]byte(v)) {
		return true
	}
	letters := all([]byte(v), classOf("a-zA-Z_./:, -"))
	if letters && len(v) < 20 {
		// Capitals inside a word are a sign of chance; at its beginning they are not.
		inner := strings.TrimLeft(v, "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
		mixed := strings.ToLower(inner) != inner && strings.ToUpper(v) != v && len(v) >= 16
		return !mixed
	}
	return bytes.Count([]byte(v), []byte(v[:1])) == len(v)
}

// forms returns the forms in which a value can stand in a text: as it is,
// percent-encoded where it must be or throughout, as hex digits, and inside
// base64 at each of the three offsets.
func forms(value, kind string) []known {
	var out []known
	seen := map[string]bool{}
	add := func(k known) {
		if len(k.value) < shortest-1 || seen[string(k.value)] {
			return
		}
		seen[string(k.value)] = true
		k.kind = kind
		k.anchor = anchorOf(k.value)
		out = append(out, k)
	}
	add(known{value: []byte(value), digits: all([]byte(value), classOf("0-9"))})
	digits := hex.EncodeToString([]byte(value))
	for _, v := range []string{url.QueryEscape(value), url.PathEscape(value), component(value), percent(digits)} {
		add(known{value: []byte(v), hex: true})
	}
	add(known{value: []byte(digits), fold: true})
	for _, alphabet := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for offset := range 3 {
			coded := alphabet.EncodeToString([]byte(strings.Repeat("\x00", offset) + value))
			// The characters that hold bits of what stands before or behind
			// the value are cut off for the search and replaced with it.
			first := []int{0, 2, 3}[offset]
			last := (offset + len(value)) / 3 * 4
			before, after := min(offset, 1), 0
			if (offset+len(value))%3 != 0 {
				last += []int{0, 1, 2}[(offset+len(value))%3]
				after = 1
			}
			add(known{value: []byte(coded[first:last]), before: before, after: after})
		}
	}
	return out
}

// component encodes as JavaScript's encodeURIComponent does.
func component(v string) string {
	v = strings.ReplaceAll(url.QueryEscape(v), "+", "%20")
	return strings.NewReplacer("%21", "!", "%27", "'", "%28", "(", "%29", ")", "%2A", "*").Replace(v)
}

// percent writes every byte of which digits has the hex digits as %XX.
func percent(digits string) string {
	b := make([]byte, 0, len(digits)/2*3)
	for i := 0; i < len(digits); i += 2 {
		b = append(b, '%', digits[i], digits[i+1])
	}
	return string(b)
}

// anchorOf chooses the stretch of a value that is searched for: the first that
// holds no backslash, as long as may be.
func anchorOf(v []byte) int {
	best, length := 0, 0
	for i := 0; i < len(v); {
		n := bytes.IndexByte(v[i:], '\\')
		if n < 0 {
			n = len(v) - i
		}
		if n > length {
			best, length = i, n
		}
		i += n + 1
	}
	return best
}

// word is what the automaton looks for.
func (k *known) word() string {
	w := k.value[k.anchor:min(len(k.value), k.anchor+anchorLen)]
	if i := bytes.IndexByte(w, '\\'); i >= 0 {
		w = w[:i]
	}
	return folded(string(w))
}

func folded(s string) string {
	b := []byte(s)
	for i, c := range b {
		b[i] = fold(c)
	}
	return string(b)
}

// match returns the span of the value whose word begins at start, with the
// characters of base64 around it.
func (k *known) match(text []byte, start int) (int, int, bool) {
	start -= k.anchor
	end := start + len(k.value)
	if start < 0 || end > len(text) {
		return 0, 0, false
	}
	if got := text[start:end]; !bytes.Equal(got, k.value) && !(k.hex && equalPercent(got, k.value)) && !(k.fold && bytes.EqualFold(got, k.value)) {
		return 0, 0, false
	}
	if k.digits && (start > 0 && isDigit(text[start-1]) || end < len(text) && isDigit(text[end])) {
		return 0, 0, false
	}
	for n := 0; n < k.before && start > 0 && base64Byte(text[start-1]); n++ {
		start--
	}
	for n := 0; n < k.after && end < len(text) && base64Byte(text[end]); n++ {
		end++
	}
	return start, end, true
}

func base64Byte(c byte) bool { return alnum[c] || c == '+' || c == '/' || c == '-' || c == '_' }

// equalPercent compares two percent-encoded texts without regard to the case
// of the hex digits.
func equalPercent(a, b []byte) bool {
	for i := 0; i < len(a); i++ {
		if a[i] == b[i] {
			continue
		}
		in := i > 0 && a[i-1] == '%' || i > 1 && a[i-2] == '%'
		if !in || fold(a[i]) != fold(b[i]) {
			return false
		}
	}
	return true
}
