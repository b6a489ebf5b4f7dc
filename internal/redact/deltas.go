package redact

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"

	"agentrec/internal/dialect"
	"agentrec/store"

	"github.com/tidwall/gjson"
)

// A model's answer comes word by word, each in an event of its own: no event
// holds the whole of a secret that the model says, and nor do the bytes of all
// of them. So the strings that stand in the same place of one event after the
// other are joined and looked at.

// longestDeltas bounds how much joined text of one answer is looked at, in
// bytes, and longestWord how much of its end can be the beginning of a secret.
const (
	longestDeltas = 16 << 20
	longestWord   = 512
)

// deltas is the text that the strings in one place of all events make.
type deltas struct {
	text  []byte // joined, without the escapes of JSON
	parts []delta
	alike bool // all are the same: an id, a model's name
}

// delta is one of the strings.
type delta struct {
	start, end int // what stands between its quotes, in the answer
	at, upto   int // its text in the joined one
	line       int // where its event begins in the answer
}

// joiner joins the deltas of an answer.
type joiner struct {
	answer []byte
	groups map[string]*deltas // by place
	list   []*deltas
	size   int    // of all texts
	line   int    // where the event at hand begins
	from   int    // where its JSON does
	place  []byte // of the value at hand
}

// joinDeltas returns the texts that an answer's events make, those of one event
// left out. Events are lines of JSON, or what follows "data:" in a line.
func joinDeltas(answer []byte) []*deltas {
	j := &joiner{answer: answer, groups: map[string]*deltas{}}
	for at := 0; at < len(answer) && j.size < longestDeltas; {
		j.line = at
		end := len(answer)
		if i := bytes.IndexByte(answer[at:], '\n'); i >= 0 {
			end = at + i
		}
		at = end + 1
		j.from = j.line
		if bytes.HasPrefix(answer[j.line:end], []byte("data:")) {
			j.from += len("data:")
		}
		for j.from < end && answer[j.from] == ' ' {
			j.from++
		}
		if j.from < end && (answer[j.from] == '{' || answer[j.from] == '[') && dialect.Valid(answer[j.from:end]) {
			j.value(gjson.ParseBytes(answer[j.from:end]))
		}
	}
	return slices.DeleteFunc(j.list, func(g *deltas) bool { return len(g.parts) < 2 || g.alike })
}

// marks are the members of an object that tell texts apart which come in turns.
var marks = []string{"type", "index", "output_index", "content_index", "summary_index", "item_id", "id"}

// value takes the strings of a valid JSON value.
func (j *joiner) value(v gjson.Result) {
	here := len(j.place)
	switch {
	case v.Type == gjson.String:
		j.text(j.from+v.Index+1, j.from+v.Index+len(v.Raw)-1)
	case v.IsObject():
		v.ForEach(func(key, value gjson.Result) bool {
			if value.Type != gjson.JSON && len(value.Raw) < 100 && slices.Contains(marks, key.Str) {
				j.place = append(append(append(j.place, key.Str...), '='), value.Raw...)
			}
			return true
		})
		marked := len(j.place)
		v.ForEach(func(key, value gjson.Result) bool {
			if value.Type == gjson.String || value.Type == gjson.JSON {
				j.place = append(append(j.place[:marked], '.'), key.Str...)
				j.value(value)
			}
			return true
		})
	case v.IsArray():
		n := 0
		v.ForEach(func(_, value gjson.Result) bool {
			j.place = strconv.AppendInt(append(j.place[:here], '#'), int64(n), 10)
			j.value(value)
			n++
			return true
		})
	}
	j.place = j.place[:here]
}

// text takes a string, whose quotes stand around answer[start:end].
func (j *joiner) text(start, end int) {
	g := j.groups[string(j.place)]
	if g == nil {
		g = &deltas{alike: true}
		j.groups[string(j.place)] = g
		j.list = append(j.list, g)
	}
	d := delta{start: start, end: end, at: len(g.text), line: j.line}
	g.text = appendDecoded(g.text, j.answer[start:end])
	d.upto = len(g.text)
	g.alike = g.alike && (len(g.parts) == 0 || bytes.Equal(g.text[d.at:], g.text[:g.parts[0].upto]))
	g.parts = append(g.parts, d)
	j.size += d.upto - d.at
}

// splitHit is a secret that lies in several strings.
type splitHit struct {
	hit
	text   []byte // of the deltas
	pieces []edit // what each string loses, in the answer
}

// splitHits returns the secrets of an answer that its events hold only together.
func (r *Redactor) splitHits(answer []byte) []splitHit {
	var out []splitHit
	for _, g := range joinDeltas(answer) {
		s := r.lookAt(g.text, dialect.Paths{})
		if s == nil {
			continue
		}
		for _, h := range s.hits {
			x := splitHit{hit: h, text: g.text}
			i, _ := slices.BinarySearchFunc(g.parts, h.start+1, func(d delta, at int) int { return cmp.Compare(d.at, at) })
			for i--; i < len(g.parts) && g.parts[i].at < h.end; i++ {
				d := g.parts[i]
				if from, to := max(h.start, d.at)-d.at, min(h.end, d.upto)-d.at; from < to {
					v := &view{text: answer[d.start:d.end]}
					if decoded := decodeView(v); decoded != nil {
						v = decoded
					}
					a, b := v.source(from, to)
					x.pieces = append(x.pieces, edit{start: d.start + a, end: d.start + b})
				}
			}
			if len(x.pieces) > 1 {
				out = append(out, x)
			}
		}
	}
	return out
}

// splitEdits takes the secrets out that lie in several events: the token stands
// in the first, the others lose their part.
func (r *Redactor) splitEdits(answer []byte) []edit {
	var out []edit
	for _, h := range r.splitHits(answer) {
		r.learn(h.text, []hit{h.hit})
		h.pieces[0].with = append(append([]byte(h.quote), r.token(nil, h.kind, decodeTimes(h.text[h.start:h.end], h.level))...), h.quote...)
		out = append(out, h.pieces...)
	}
	slices.SortFunc(out, func(a, b edit) int { return cmp.Compare(a.start, b.start) })
	return out
}

// Settled returns the beginning of an answer that goes on, as far as it can be
// redacted and stored: whole lines, less the events that hold the beginning of
// a word, which may be one of a secret, that the next event goes on with. Of a
// compressed answer, as its header says, there is none.
func Settled(header []store.Field, pieces []store.Piece) []store.Piece {
	if Encoded(header) {
		return nil
	}
	end := 0
	if n := length(pieces); n <= longestDeltas {
		joined, _ := join(pieces)
		end = settled(joined)
	} else {
		for i := len(pieces) - 1; i >= 0 && end == 0; i-- {
			n -= len(pieces[i].Bytes)
			if at := bytes.LastIndexByte(pieces[i].Bytes, '\n'); at >= 0 {
				end = n + at + 1
			}
		}
	}
	for i, p := range pieces {
		if len(p.Bytes) < end {
			end -= len(p.Bytes)
			continue
		}
		pieces = slices.Clone(pieces[:i+1])
		pieces[i].Bytes = p.Bytes[:end]
		if end == 0 {
			return pieces[:i]
		}
		return pieces
	}
	return pieces
}

// settled is how many bytes of an answer are settled.
func settled(answer []byte) int {
	end := bytes.LastIndexByte(answer, '\n') + 1
	for _, g := range joinDeltas(answer[:end]) {
		word := len(g.text)
		for word > 0 && len(g.text)-word < longestWord && !blankOrQuote(g.text[word-1]) {
			word--
		}
		if word == len(g.text) {
			continue
		}
		i, _ := slices.BinarySearchFunc(g.parts, word+1, func(d delta, at int) int { return cmp.Compare(d.at, at) })
		end = min(end, g.parts[i-1].line)
	}
	return end
}

func blankOrQuote(c byte) bool {
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '"' || c == '\'' || c == '`'
}

// edit replaces bytes.
type edit struct {
	start, end int
	with       []byte
}

// apply returns b with the edits made, which are in order and apart, and moves
// the ends of its pieces accordingly: what stands instead of bytes of several
// pieces belongs to the first of them.
func apply(b []byte, edits []edit, ends []int) []byte {
	now := make([]byte, 0, len(b)+len(edits)*16)
	at, piece := 0, 0
	for _, e := range edits {
		for ; piece < len(ends) && ends[piece] <= e.start; piece++ {
			ends[piece] += len(now) - at
		}
		now = append(append(now, b[at:e.start]...), e.with...)
		for at = e.end; piece < len(ends) && ends[piece] <= e.end; piece++ {
			ends[piece] = len(now)
		}
	}
	for ; piece < len(ends); piece++ {
		ends[piece] += len(now) - at
	}
	return append(now, b[at:]...)
}
