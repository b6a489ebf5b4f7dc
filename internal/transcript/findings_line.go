package transcript

import (
	"bytes"
	"fmt"
	"regexp"
	"sync"

	"agentrec/internal/dialect"
	"agentrec/store"
)

// escapes are the control sequences of terminals: CSI, OSC and the two-byte
// ones.
var escapes = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("\x1b\\[[0-?]*[ -/]*[@-~]|\x1b\\][^\x07\x1b]*(?:\x07|\x1b\\\\)|\x1b[@-Z\\\\-_=>78]")
})

// maxSplits bounds how many places are tried at which a line may hold two
// values.
const maxSplits = 64

// line says what is wrong with a line that is not JSON.
func (c *findings) line(f store.Frame, e Entry) {
	if f.Stream == store.Err || c.t.Dialect.TextInput() && f.Stream == store.In {
		return
	}
	who := "agent's stdout"
	if f.Stream == store.In {
		who = "client's side"
	}
	raw := f.Raw
	start := bytes.IndexByte(raw, '{')
	switch {
	case len(bytes.TrimSpace(raw)) == 0:
		c.add(f.Seq, "empty", Warning, "an empty line on the %s", who)
	case bytes.IndexByte(raw, 0x1b) >= 0 && dialect.Valid(escapes().ReplaceAll(raw, nil)):
		c.add(f.Seq, "escape", Fault, "terminal escape codes stick to the JSON of this line: clients drop it")
	case bytes.HasPrefix(raw, []byte("\xef\xbb\xbf")) && dialect.Valid(raw[3:]):
		c.add(f.Seq, "bom", Fault, "a byte order mark stands before the JSON of this line")
	case splits(raw) > 1:
		c.add(f.Seq, "two", Fault, "%d JSON values on one line: one line is one frame", splits(raw))
	case start > 0 && dialect.Valid(raw[start:]):
		c.add(f.Seq, "glued", Fault, "text sticks to the JSON of this line: %s", excerpt(raw[:start]))
	case raw[0] == '{' || raw[0] == '[':
		c.add(f.Seq, "broken", Fault, "broken JSON on the %s: %s", who, excerpt(raw))
	default:
		c.add(f.Seq, "stray", Warning, "a stray line on the %s: %s", who, excerpt(raw))
	}
}

// splits returns how many JSON objects or arrays a line holds one after the
// other, 0 when it is not made of such.
func splits(raw []byte) int {
	rest := bytes.TrimSpace(raw)
	n, tries := 0, 0
	for len(rest) > 0 {
		if dialect.Valid(rest) {
			return n + 1
		}
		end := -1
		for i := 0; i < len(rest) && tries < maxSplits; i++ {
			if rest[i] != '}' && rest[i] != ']' {
				continue
			}
			next := bytes.TrimLeft(rest[i+1:], " \t")
			if len(next) == 0 || next[0] != '{' && next[0] != '[' {
				continue
			}
			tries++
			if dialect.Valid(rest[:i+1]) {
				end = i + 1
				break
			}
		}
		if end < 0 {
			return 0
		}
		n++
		rest = bytes.TrimSpace(rest[end:])
	}
	return n
}

// excerpt quotes the beginning of recorded bytes.
func excerpt(b []byte) string {
	const most = 60
	if len(b) > most {
		return fmt.Sprintf("%q...", Clip(string(b), most))
	}
	return fmt.Sprintf("%q", b)
}
