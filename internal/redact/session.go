package redact

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"agentrec/store"
)

// Session redacts the frames of one session in their order, and so finds what
// no frame shows by itself: a private key in PEM form that comes line by line.
// Not safe for concurrent use; the Redactor in it is.
type Session struct {
	*Redactor
	keys [store.Streams]openKey
}

// Session returns a redactor for the frames of a session from its first on.
func (r *Redactor) Session() *Session { return &Session{Redactor: r} }

// Frame is Redactor.Frame for the next frame of a stream.
func (s *Session) Frame(stream store.Stream, raw []byte) []byte {
	if from, to := s.keys[stream].line(raw); from < to {
		raw = s.replace(raw, []hit{{start: from, end: to, kind: keyKind, level: 1}})
	}
	for i := range passes {
		l := s.look(stream, raw)
		if i == 0 {
			s.keys[stream].open(raw, l)
		}
		if l == nil || len(l.hits) == 0 {
			break
		}
		s.learn(raw, l.hits)
		raw = s.replace(raw, l.hits)
	}
	return raw
}

// Find is Redactor.Find for the next frame of a stream.
func (s *Session) Find(stream store.Stream, raw []byte) []Hit {
	from, to := s.keys[stream].line(raw)
	l := s.look(stream, raw)
	s.keys[stream].open(raw, l)
	var out []Hit
	if l != nil {
		out = l.out()
	}
	if from >= to {
		return out
	}
	at := 0
	for at < len(out) && out[at].End <= from {
		at++
	}
	rest := out[at:]
	for len(rest) > 0 && rest[0].Start < to {
		rest = rest[1:]
	}
	return append(append(out[:at:at], Hit{keyKind, from, to, true}), rest...)
}

// sessionState is what a Session knows besides what it was made with.
type sessionState struct {
	Learned []learned              `json:"learned,omitempty"`
	Keys    [store.Streams]openKey `json:"keys"`
}

// State returns what the frames so far have taught, for the Restore of another
// Session that goes on behind them; nil for nothing. It holds secrets in clear.
func (s *Session) State() []byte {
	now := sessionState{s.learned(), s.keys}
	if now.Learned == nil && !slices.ContainsFunc(now.Keys[:], func(k openKey) bool { return k.Left > 0 }) {
		return nil
	}
	b, err := json.Marshal(now)
	if err != nil {
		panic("redact: " + err.Error()) // bytes, numbers and truth values only
	}
	return b
}

// Restore takes over what State returned.
func (s *Session) Restore(state []byte) error {
	var then sessionState
	if err := json.Unmarshal(state, &then); err != nil {
		return fmt.Errorf("reading what redaction had learned: %w", err)
	}
	s.keys = then.Keys
	s.recall(then.Learned)
	return nil
}

// openKey is a private key of which a frame of the stream held the beginning
// and not the end. Its lines are looked for where the beginning stood: in the
// same column of a plain line, or under the same name of a JSON frame.
type openKey struct {
	Left   int    `json:"left"`             // frames that may still hold some of it, 0 for no key
	Odd    int    `json:"odd,omitempty"`    // frames in a row that held none
	Sure   bool   `json:"sure,omitempty"`   // some of it was found
	Next   bool   `json:"next,omitempty"`   // its first bytes are the next under the name
	Column int    `json:"column,omitempty"` // of the beginning in a plain line
	Member []byte `json:"member,omitempty"` // in a JSON frame: what stands before the text, as "text":"
}

const (
	keyKind   = "private_key"
	keyFrames = 400  // the longest RSA keys in use have 200 lines,
	keyPieces = 8000 // or 6500 letters, of which each can be a piece of a text
	keyOdd    = 3    // other lines that may come between
	keyLine   = 40   // the least length of the first line; RFC 7468 lines have 64
)

// open notes that l has found the beginning of a key in raw.
func (k *openKey) open(raw []byte, l *search) {
	if l == nil || l.header < 0 {
		return
	}
	*k = openKey{Left: keyFrames, Column: l.header}
	k.Sure = slices.ContainsFunc(l.hits, func(h hit) bool { return h.start <= l.header && l.header < h.end })
	if !l.json {
		return
	}
	quote := bytes.LastIndexByte(raw[:l.header], '"')
	if quote < 1 {
		k.Left = 0
		return
	}
	colon := blankBefore(raw, quote)
	name := blankBefore(raw, max(colon-1, 0))
	if raw[max(colon-1, 0)] != ':' || name < 2 || raw[name-1] != '"' {
		k.Left = 0
		return
	}
	start := bytes.LastIndexByte(raw[:name-1], '"')
	k.Left, k.Member = keyPieces, bytes.Clone(raw[max(start, 0):quote+1])
	rest := raw[l.header:min(literalEnd(raw, quote)-1, len(raw))]
	if i := bytes.LastIndex(rest, []byte("PRIVATE KEY-----")); i >= 0 {
		k.Next = onlyBlank(rest[i+len("PRIVATE KEY-----"):])
	}
}

// line returns the bytes of the frame that belong to the key, none with
// from >= to.
func (k *openKey) line(raw []byte) (from, to int) {
	if k.Left == 0 {
		return 0, 0
	}
	k.Left--
	begins := false
	if k.Member == nil {
		from, to = min(k.Column, len(raw)), len(raw)
		if i, j, ok := keyText(raw, from, to); ok {
			from, to = i, j
		} else {
			from, to, _ = keyText(raw, 0, len(raw))
		}
	} else if i := bytes.Index(raw, k.Member); i >= 0 {
		i += len(k.Member)
		end := min(literalEnd(raw, i-1)-1, len(raw))
		if onlyBlank(raw[i:end]) {
			return 0, 0
		}
		// A text that comes in pieces is cut anywhere. Words begin with a blank.
		if raw[i] != ' ' {
			from, to, _ = keyText(raw, i, end)
		}
		begins = k.Next && from < to && keyStart(raw[from:to])
		k.Next = false
	} else {
		return 0, 0 // a frame of another kind
	}
	switch end := bytes.Contains(raw, []byte("-----END")); {
	case to-from >= keyLine, to > from && k.Sure && k.Odd == 0, begins:
		k.Sure, k.Odd = true, 0
		if end {
			k.Left = 0
		}
		return from, to
	case end:
		k.Left = 0
	case between(raw):
	default:
		if k.Odd++; k.Odd > keyOdd {
			k.Left = 0
		}
	}
	return 0, 0
}

// onlyBlank reports whether there is nothing in a text but blanks and line ends,
// written or escaped.
func onlyBlank(text []byte) bool { return blank(text, 0) == len(text) }

// between reports whether a line can stand inside a key without being of it: a
// token in its place, a blank one, or a header (RFC 1421: Proc-Type, DEK-Info).
func between(raw []byte) bool {
	start, _ := NextToken(raw)
	return start >= 0 || len(bytes.TrimSpace(raw)) == 0 || bytes.Contains(raw, []byte("Proc-Type:")) || bytes.Contains(raw, []byte("DEK-Info:"))
}

// keyText returns the span of base64 in raw[from:to], when there is nothing
// else but quotes, blanks and line ends, written or escaped, and the end of the
// key.
func keyText(raw []byte, from, to int) (int, int, bool) {
	first, last := -1, -1
	for i := from; i < to; i++ {
		switch c := raw[i]; {
		case alnum[c] || c == '+' || c == '/' || c == '=':
			if first < 0 {
				first = i
			}
			last = i + 1
		case c == '\\' && i+1 < to && (raw[i+1] == 'n' || raw[i+1] == 'r' || raw[i+1] == '/' || raw[i+1] == '"'):
			i++
			if raw[i] == '/' {
				last = i + 1
			}
		case c == '-' && bytes.HasPrefix(raw[i:to], []byte("-----END")):
			return first, last, first >= 0
		case c == ' ' || c == '\t' || c == '\r' || c == '"' || c == '\'' || c == ',' || c == '>' || c == '|':
			if first >= 0 && c == ' ' && i+1 < to && alnum[raw[i+1]] {
				return 0, 0, false // words
			}
		default:
			return 0, 0, false
		}
	}
	return first, last, first >= 0
}
