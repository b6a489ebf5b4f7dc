package dialect

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"agentrec/store"
)

// Drafter proposes a table from the frames of a recording: the tag, the
// families, which fields are ids and what answers what. Its guesses rest on
// what repeats: a value first seen on one side and echoed by the other is an
// id, a kind that follows another each time is its answer.
type Drafter struct {
	frames []draftFrame
	seen   int
	other  int // frames that are not JSON objects or arrays
}

// draftFrame is what is kept of a frame.
type draftFrame struct {
	stream store.Stream
	leaves []leaf
	kind   *draftKind
}

type leaf struct {
	path  string // as a table names it
	token string // cut
	depth int
}

// Bounds of what a draft rests on.
const (
	draftFrames = 5000
	draftLeaves = 48
	draftDepth  = 4
	draftToken  = 200
)

// Observe takes the next frame and reports whether more would be of use.
func (d *Drafter) Observe(stream store.Stream, raw []byte) bool {
	if stream != store.In && stream != store.Out {
		return true
	}
	d.seen++
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || raw[0] != '{' && raw[0] != '[' || !Valid(raw) {
		d.other++
		return true
	}
	f := draftFrame{stream: stream}
	f.collect(raw, "", 0)
	d.frames = append(d.frames, f)
	return len(d.frames) < draftFrames
}

// collect notes the leaves of an object, and of the array that a frame is.
func (f *draftFrame) collect(raw []byte, under string, depth int) {
	eachEntry(raw, func(key string, value []byte) bool {
		path := under + key
		switch {
		case value[0] == '{' && depth < draftDepth:
			f.collect(value, path+".", depth+1)
		case value[0] == '{' || value[0] == '[':
			f.leaves = append(f.leaves, leaf{path, string(value[:1]), depth})
		default:
			f.leaves = append(f.leaves, leaf{path, string(value[:min(len(value), draftToken)]), depth})
		}
		return len(f.leaves) < draftLeaves
	})
}

// eachEntry calls do with the key, as a table names it, and the value of each
// member of a valid container.
func eachEntry(raw []byte, do func(key string, value []byte) bool) {
	object := raw[0] == '{'
	for i, n := 0, 0; ; n++ {
		i = space(raw, i+1) // after '{', '[' or ','
		key := strconv.Itoa(n)
		if object {
			end := -1
			if i < len(raw) && raw[i] == '"' {
				end = stringEnd(raw, i)
			}
			if end < 0 {
				return
			}
			key = pathKey(decode(raw[i:end]))
			i = space(raw, space(raw, end)+1)
		}
		end := skip(raw, i, 0)
		if end < 0 || !do(key, raw[i:end]) {
			return
		}
		if i = space(raw, end); i >= len(raw) || raw[i] != ',' {
			return
		}
	}
}

// pathKey escapes a key for a gjson path.
func pathKey(key string) string {
	var b strings.Builder
	for i, r := range key {
		if strings.ContainsRune(`\.#*?|[]{}()`, r) || i == 0 && (r == '@' || r == '!') {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

func (f *draftFrame) get(path string) (string, bool) {
	for _, l := range f.leaves {
		if l.path == path {
			return l.token, true
		}
	}
	return "", false
}

// text returns the string at a path.
func (f *draftFrame) text(path string) (string, bool) {
	t, ok := f.get(path)
	if !ok || len(t) < 2 || t[0] != '"' || t[len(t)-1] != '"' {
		return "", false
	}
	return decode([]byte(t)), true
}

// draftKind is a family in the making.
type draftKind struct {
	stream   store.Stream
	tag, sub string
	at       []int // its frames

	role, id, about, answers, key string
	why                           string
}

func (k *draftKind) name() string {
	switch {
	case k.sub != "":
		return k.tag + "." + k.sub
	case k.tag != "":
		return k.tag
	}
	return "untagged"
}

var (
	tagNames    = []string{"type", "method", "event", "kind", "op", "cmd", "command", "action", "msg", "message_type", "t", "0"}
	subNames    = later(`(?i)(type|kind|event|subtype|update|variant)$`)
	idNames     = later(`(?i:(^|[._])(id|uuid|ref|token|tid|rid|seq|nonce|name)$)|(_id|Id|ID|Ref|Token|_ref|_token)$|(?i:(^|\.)(call|request)[^.]*$)`)
	roomNames   = later(`(?i)(session|conversation|thread|chat|room|channel)_?id$`)
	secretNames = later(`(?i)(api_?key|secret|password|passwd|authorization|access_?token|auth_?token)$`)
	timeNames   = later(`(?i:(^|[._])(ts|time|timestamp|elapsed|duration|uuid)$)|(_at|At|_ms|Ms|Timestamp|_time|Duration)$`)
	timeValues  = later(`^"?(\d{4}-\d\d-\d\d[T ]\d\d:\d\d|1[0-9]{12}$|1[0-9]{9}\.\d+$)`)
	uuidValues  = later(`^"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"$`)
)

// later compiles a regular expression when it is first used: most commands draft
// no table.
func later(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

// tag returns the path whose text tells the kinds apart, "" when there is none.
func (d *Drafter) tag() string {
	type tally struct {
		frames int
		values map[string]bool
	}
	all := map[string]*tally{}
	for i := range d.frames {
		for _, l := range d.frames[i].leaves {
			if l.depth > 0 || l.token[0] != '"' {
				continue
			}
			t := all[l.path]
			if t == nil {
				t = &tally{values: map[string]bool{}}
				all[l.path] = t
			}
			t.frames++
			t.values[l.token] = true
		}
	}
	best, most := "", 0.0
	for path, t := range all {
		covered := float64(t.frames) / float64(len(d.frames))
		varied := float64(len(t.values)) / float64(t.frames)
		score := covered - varied/2
		if n := slices.Index(tagNames, path); n >= 0 {
			score += 0.6 - float64(n)/100
		}
		if covered >= 0.5 && score > 0.5 && (score > most || score == most && path < best) {
			best, most = path, score
		}
	}
	return best
}

// kinds sorts the frames into families by the tag, and a family with one of its
// own below it by that.
func (d *Drafter) kinds(tag string) []*draftKind {
	var out []*draftKind
	kind := func(s store.Stream, value, sub string) *draftKind {
		for _, k := range out {
			if k.stream == s && k.tag == value && k.sub == sub {
				return k
			}
		}
		k := &draftKind{stream: s, tag: value, sub: sub}
		if len(out) < 500 {
			out = append(out, k)
		}
		return k
	}
	for i := range d.frames {
		f := &d.frames[i]
		value, _ := f.text(tag)
		f.kind = kind(f.stream, value, "")
		f.kind.at = append(f.kind.at, i)
	}
	return out
}

// subTag returns the path of a second tag within a family, "" when it has none.
func (d *Drafter) subTag(k *draftKind, tag string) string {
	if len(k.at) < 4 {
		return ""
	}
	for _, l := range d.frames[k.at[0]].leaves {
		if l.path == tag || !subNames().MatchString(l.path) || l.token[0] != '"' {
			continue
		}
		values := map[string]bool{}
		every := true
		for _, i := range k.at {
			v, ok := d.frames[i].text(l.path)
			every = every && ok && len(v) < 60
			values[v] = true
		}
		if every && len(values) > 1 && len(values) <= 64 && len(values) <= max(3, len(k.at)*2/3) {
			return l.path
		}
	}
	return ""
}
