package llm

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"agentrec/store"
)

// rewriter puts live paths in the place of the recorded ones in answers, so that
// a model's tool calls mean files that are there.
type rewriter struct{ list []replacement }

// Relocate puts the live paths in the place of the recorded ones in the bodies of
// an exchange.
func Relocate(x *store.Exchange, paths []PathPair) {
	r := newRewriter(paths)
	x.SetPieces(r.pieces(x))
	if edits := r.plain(x.Body); len(edits) > 0 && headerValue(x.Header, "Content-Encoding") == "" {
		body, _ := applied(x.Body, nil, edits)
		x.SetBody(body)
	}
}

// replacement is a recorded path as it stands in text, in a JSON string or in
// JSON within one, and the live path for each of these depths.
type replacement struct {
	recorded string
	live     [3]string
	sure     bool // the recorded form tells the depth
	depth    int
}

func newRewriter(paths []PathPair) *rewriter {
	r := &rewriter{}
	for _, p := range longestFirst(paths) {
		if p.Recorded == "" || p.Recorded == p.Live {
			continue
		}
		one := replacement{recorded: p.Recorded, live: [3]string{p.Live, inside(p.Live), inside(inside(p.Live))}}
		if inside(p.Recorded) == p.Recorded {
			r.list = append(r.list, one)
			continue
		}
		for one.sure = true; one.depth < len(one.live); one.depth++ {
			r.list = append(r.list, one)
			one.recorded = inside(one.recorded)
		}
	}
	slices.SortStableFunc(r.list, func(a, b replacement) int { return cmp.Compare(len(b.recorded), len(a.recorded)) })
	return r
}

// at returns the live path for a place in an answer: the quote before it tells
// how deep in JSON it stands.
func (p *replacement) at(all []byte, i int) string {
	if p.sure || p.live[0] == p.live[1] {
		return p.live[p.depth]
	}
	quote := bytes.LastIndexByte(all[:i], '"')
	if quote < 0 {
		return p.live[0]
	}
	if quote > 0 && all[quote-1] == '\\' {
		return p.live[2]
	}
	return p.live[1]
}

// inside returns text as it stands within a JSON string.
func inside(s string) string {
	q := quotedText(s)
	return q[1 : len(q)-1]
}

func longestFirst(paths []PathPair) []PathPair {
	out := slices.Clone(paths)
	slices.SortStableFunc(out, func(a, b PathPair) int { return cmp.Compare(len(b.Recorded), len(a.Recorded)) })
	return out
}

// pieces returns the pieces of an answer with live paths. A path that stands
// across pieces goes into the first of them.
func (r *rewriter) pieces(x *store.Exchange) []store.Piece {
	if len(r.list) == 0 || len(x.Pieces) == 0 || headerValue(x.Answer, "Content-Encoding") != "" {
		return x.Pieces
	}
	all := AnswerBody(*x)
	ends := make([]int, len(x.Pieces))
	end := 0
	for i, p := range x.Pieces {
		end += len(p.Bytes)
		ends[i] = end
	}
	changed := false
	for _, find := range []func([]byte) []edit{r.plain, r.spelled} {
		if edits := find(all); len(edits) > 0 {
			all, ends = applied(all, ends, edits)
			changed = true
		}
	}
	if !changed {
		return x.Pieces
	}
	out := slices.Clone(x.Pieces)
	from := 0
	for i, end := range ends {
		out[i].Bytes = all[from:end]
		from = end
	}
	return slices.DeleteFunc(out, func(p store.Piece) bool { return len(p.Bytes) == 0 })
}

// edit puts text in the place of bytes.
type edit struct {
	start, end int
	with       string
}

// plain finds the paths that stand in an answer as they are.
func (r *rewriter) plain(all []byte) []edit {
	var out []edit
	for i := range r.list {
		out = append(out, r.list[i].find(all)...)
	}
	slices.SortStableFunc(out, func(a, b edit) int { return a.start - b.start })
	end := 0
	return slices.DeleteFunc(out, func(e edit) bool { // of paths within paths the longest counts
		if e.start < end {
			return true
		}
		end = e.end
		return false
	})
}

func (p *replacement) find(all []byte) []edit {
	var out []edit
	for at := 0; ; {
		i := bytes.Index(all[at:], []byte(p.recorded))
		if i < 0 {
			return out
		}
		start, end := at+i, at+i+len(p.recorded)
		if wholePath(all, start, end) {
			out = append(out, edit{start, end, p.at(all, start)})
		}
		at = end
	}
}

// applied makes edits, which are in order and apart, and returns the answer with
// the new ends of its pieces. What takes the place of bytes of several pieces
// goes into the first of them.
func applied(all []byte, ends []int, edits []edit) ([]byte, []int) {
	out := make([]byte, 0, len(all)+64)
	moved := slices.Clone(ends)
	at, n := 0, 0 // bytes read, pieces that end before them
	for _, e := range edits {
		for ; n < len(ends) && ends[n] <= e.start; n++ {
			moved[n] = len(out) + ends[n] - at
		}
		out = append(append(out, all[at:e.start]...), e.with...)
		for ; n < len(ends) && ends[n] < e.end; n++ {
			moved[n] = len(out)
		}
		at = e.end
	}
	for ; n < len(ends); n++ {
		moved[n] = len(out) + ends[n] - at
	}
	return append(out, all[at:]...), moved
}

func wholePath[T string | []byte](s T, start, end int) bool {
	before := start == 0 || !isWord(s[start-1]) && s[start-1] != '.' && s[start-1] != '-'
	after := end == len(s) || !isWord(s[end]) && s[end] != '-' && (s[end] != '.' || end+1 == len(s) || !isWord(s[end+1]))
	return before && after
}

// replacePath puts mark in the place of a path where it stands whole: as it is,
// or before a separator.
func replacePath(s, path, mark string) string {
	if path == "" || !strings.Contains(s, path) {
		return s
	}
	var out strings.Builder
	for at := 0; ; {
		i := strings.Index(s[at:], path)
		if i < 0 {
			out.WriteString(s[at:])
			return out.String()
		}
		start, end := at+i, at+i+len(path)
		out.WriteString(s[at:start])
		if wholePath(s, start, end) {
			out.WriteString(mark)
		} else {
			out.WriteString(path)
		}
		at = end
	}
}
