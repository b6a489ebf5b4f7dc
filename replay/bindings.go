package replay

import (
	"bytes"
	"slices"
	"strings"
	"sync"

	"agentrec/internal/tape"
	"agentrec/internal/transcript"
	"agentrec/store"
)

// binding ties a recorded value to the live value that takes its place.
type binding struct {
	space    string // namespace of the slot; "" is a value that only occurs in text
	recorded string // raw JSON token; plain text when space is ""
	live     string
	request  int32 // of a reference: the request it means
	given    given
}

// given says that a binding holds from the start and needs not look distinctive.
type given uint8

const (
	byHand   given = iota + 1 // or the working directory
	byFolder                  // a folder of the surroundings; a live value may name the recorded one, too
)

// bindings is the log of all bindings made in a replay. Its length is the
// epoch: what is sent is rendered with the bindings of the epoch in which it
// was released. The engine appends, the writer reads.
type bindings struct {
	mu  sync.Mutex
	log []binding
}

func (b *bindings) add(n binding) {
	b.mu.Lock()
	b.log = append(b.log, n)
	b.mu.Unlock()
}

func (b *bindings) upTo(from, epoch int) []binding {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.log[from:epoch:epoch]
}

// view is the state of the bindings at an epoch. Not for concurrent use.
type view struct {
	log    *bindings
	epoch  int
	refs   map[refKey]string
	values map[string]string // by naming(space, recorded)
	text   []textPair        // longest first
	secret []textPair        // redaction tokens: replaced in what is sent, never in what is compared
	back   []textPair        // from live folders to recorded ones
}

type refKey struct {
	request int32
	name    string // naming(space, recorded)
}

// textPair is a distinctive value that is replaced outside slots too.
type textPair struct {
	recorded, live string
	path           bool
	known          bool // given from the start, so it need not look distinctive
}

func newView(log *bindings) *view {
	return &view{log: log, refs: map[refKey]string{}, values: map[string]string{}}
}

// startView returns the view of what holds from the start.
func startView(binds []binding) *view {
	log := &bindings{log: binds}
	v := newView(log)
	v.advance(len(binds))
	return v
}

// pairs returns the values to replace in the text of a frame on a stream.
func (v *view) pairs(stream store.Stream) []textPair {
	if stream == store.In || len(v.secret) == 0 {
		return v.text
	}
	return append(v.secret[:len(v.secret):len(v.secret)], v.text...)
}

// advance brings the view to a later epoch.
func (v *view) advance(epoch int) {
	if epoch <= v.epoch {
		return
	}
	for _, n := range v.log.upTo(v.epoch, epoch) {
		v.apply(n)
	}
	v.epoch = epoch
}

func (v *view) apply(n binding) {
	if n.request != 0 {
		v.refs[refKey{n.request, naming(n.space, n.recorded)}] = n.live
		return
	}
	recorded, live := n.recorded, n.live
	if n.space == redactedSpace {
		v.values[naming(n.space, n.recorded)] = n.live
		v.secret = append(slices.DeleteFunc(v.secret, func(p textPair) bool { return p.recorded == recorded }), textPair{recorded: recorded, live: live})
		return
	}
	if n.space != "" {
		v.values[naming(n.space, n.recorded)] = n.live
		if !quoted(recorded) || !quoted(live) {
			return
		}
		recorded, live = transcript.Unquote([]byte(recorded)), transcript.Unquote([]byte(live))
	}
	known := n.given != 0
	v.text = slices.DeleteFunc(v.text, func(p textPair) bool {
		known = known || p.recorded == recorded && p.known
		return p.recorded == recorded
	})
	path := isPath(recorded) || known && isFolder(recorded)
	if recorded == live || !path && !known && !distinctive(recorded) {
		return
	}
	if n.given == byFolder {
		v.back = longestFirst(append(v.back, textPair{recorded: live, live: recorded, path: true}))
	}
	v.text = longestFirst(append(v.text, textPair{recorded, live, path, known}))
}

func longestFirst(list []textPair) []textPair {
	slices.SortStableFunc(list, func(a, b textPair) int { return len(b.recorded) - len(a.recorded) })
	return list
}

func quoted(token string) bool { return len(token) >= 2 && token[0] == '"' }

// isPath reports whether s is an absolute path of two or more components.
func isPath(s string) bool { return components(s) >= 2 }

// isFolder reports whether s is an absolute path that is no root.
func isFolder(s string) bool { return components(s) >= 1 }

// components returns how many components an absolute path has, 0 for what is
// none.
func components(s string) int {
	rest := s
	if len(s) > 2 && s[1] == ':' && (s[2] == '\\' || s[2] == '/') {
		rest = strings.ReplaceAll(s[2:], "\\", "/")
	}
	if !strings.HasPrefix(rest, "/") || strings.ContainsAny(rest, "\x00\n") {
		return 0
	}
	parts := 0
	for part := range strings.SplitSeq(rest, "/") {
		if part != "" {
			parts++
		}
	}
	return parts
}

// surroundings returns the bindings from the folders that a session was
// recorded in to those of this process, which works in cwd.
func surroundings(s *store.Session, cwd string) []binding {
	var out []binding
	live := tape.Folders()
	for _, name := range []string{store.HomeFolder, store.TempFolder} {
		if recorded := s.Folders[name]; isFolder(recorded) && live[name] != "" && live[name] != recorded {
			out = append(out, binding{recorded: recorded, live: live[name], given: byFolder})
		}
	}
	if isFolder(s.Cwd) && cwd != "" && cwd != s.Cwd {
		out = append(out, binding{recorded: s.Cwd, live: cwd, given: byHand})
	}
	return out
}

// inFolders reports whether two texts are equal once live folders of the
// surroundings count as the recorded ones.
func (v *view) inFolders(recorded, live string) bool {
	if len(v.back) == 0 || !quoted(recorded) || !quoted(live) {
		return false
	}
	a, b := unquoted(recorded), unquoted(live)
	return bytes.Equal(apply([]byte(a), texts(v.back, a)), apply([]byte(b), texts(v.back, b)))
}

// distinctive reports whether a value is unlikely to stand in a text by
// chance: 8 or more characters that are no plain word or number.
func distinctive(s string) bool {
	if len(s) < 8 {
		return false
	}
	letters, digits, other := 0, 0, 0
	for _, c := range s {
		switch {
		case 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z':
			letters++
		case '0' <= c && c <= '9' || c == '.':
			digits++
		default:
			other++
		}
	}
	if strings.ContainsAny(s, " \t\r\n") {
		return false
	}
	return (letters > 0 && digits > 0) || (letters > 0 && other > 0) || (digits > 0 && other > 0)
}

// edit replaces raw[start:end].
type edit struct {
	start, end int
	with       string
}

// texts returns the edits that replace distinctive values in text: in one pass,
// the longest first, never on what was put in.
func texts(pairs []textPair, text string) []edit {
	if !slices.ContainsFunc(pairs, func(p textPair) bool { return strings.Contains(text, p.recorded) }) {
		return nil
	}
	var out []edit
	for at := 0; at < len(text); {
		p, ok := valueAt(pairs, text, at)
		if !ok {
			at++
			continue
		}
		out = append(out, edit{at, at + len(p.recorded), p.live})
		at += len(p.recorded)
	}
	return out
}

// valueAt returns the longest value that stands at text[at:], at a boundary.
func valueAt(pairs []textPair, text string, at int) (textPair, bool) {
	for _, p := range pairs {
		if !strings.HasPrefix(text[at:], p.recorded) {
			continue
		}
		end := at + len(p.recorded)
		if at > 0 && (wordByte(text[at-1]) || p.path && (text[at-1] == '/' || text[at-1] == '.')) {
			continue
		}
		if end < len(text) && (wordByte(text[end]) || text[end] == '.' && end+1 < len(text) && wordByte(text[end+1])) {
			continue
		}
		return p, true
	}
	return textPair{}, false
}

func wordByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-' || c >= 0x80
}
