package redact

import (
	"bytes"
	"cmp"
	"regexp"
	"slices"

	"agentrec/internal/dialect"
)

// hit is a secret in a frame.
type hit struct {
	start, end int
	kind       string
	level      int    // how often its bytes are decoded to get what was meant
	quote      string // to write around its token, where the secret stood without
	weak       bool   // found by a weak name alone
	named      bool   // found by a name or place that says enough
	in         quote  // what ends it, of a value in quotes of the frame itself
}

// search looks closely at one frame.
type search struct {
	*engine
	rules []*regexp.Regexp
	frame []byte
	json  bool
	hits  []hit
	keep  []hit // tokens: never touched

	shapeEnd int // in the view at work: behind the last shape, URL or key found
	nameEnd  int // behind the last value found by a name
	belowEnd int // behind the last object or list looked at for its name

	header int // in the frame: where the last private key begins that does not end in it, or -1
}

// out returns the hits as others see them.
func (s *search) out() []Hit {
	var out []Hit
	for _, h := range s.hits {
		out = append(out, Hit{h.kind, h.start, h.end, !h.weak})
	}
	return out
}

// run fills hits.
func (s *search) run(paths dialect.Paths) {
	s.json = dialect.Valid(s.frame)
	if s.json && !paths.Empty() {
		s.places(paths)
	}
	s.look()
	if s.json {
		s.fit(0, false)
	}
	s.name()
}

// look fills hits from all views.
func (s *search) look() {
	v := &view{text: s.frame}
	for level := 0; v != nil && level < maxViews; level++ {
		// In valid JSON with escapes the frame itself is not yet text: only
		// the names in it are looked at, whose values end at real quotes.
		s.scan(v, level == 0 && s.json && bytes.IndexByte(s.frame, '\\') >= 0)
		if level > 0 && !v.deeper(s.deep || len(s.rules) > 0) {
			break
		}
		v = decodeView(v)
	}
	s.merge()
	s.protect()
}

// name gives every hit the kind that its secret has anywhere.
func (s *search) name() {
	for i := range s.hits {
		h := &s.hits[i]
		h.kind = s.kindOf(decodeTimes(s.frame[h.start:h.end], h.level), h.kind)
	}
}

// add notes a secret at [start,end) of v. decode is how often the text of v
// must be decoded for it.
func (s *search) add(v *view, start, end int, kind string, decode int) {
	if start >= end {
		return
	}
	level := v.level() + decode
	start, end = v.source(start, end)
	if n := len(s.hits); n > 0 { // a text that repeats makes many of one
		if last := &s.hits[n-1]; last.start <= start && start < last.end && last.kind == kind && last.level == level {
			last.end = max(last.end, end)
			return
		}
	}
	s.hits = append(s.hits, hit{start: start, end: end, kind: kind, level: level})
}

// scan looks for secrets in one view. namesOnly leaves out all but values in
// quotes beside a name, and tokens.
func (s *search) scan(v *view, namesOnly bool) {
	a := s.auto
	s.shapeEnd, s.nameEnd, s.belowEnd = 0, 0, 0
	state := uint32(0)
	for i, c := range v.text {
		if state = a.step(state, c); state < a.limit || state == a.escape {
			continue
		}
		for _, id := range a.at(state) {
			p := &s.patterns[id]
			start := i + 1 - len(p.word)
			switch {
			case p.nature == aToken:
				if n := tokenLen(v.text[start:]); n > 0 {
					from, to := v.source(start, start+n)
					s.keep = append(s.keep, hit{start: from, end: to})
				}
			case p.nature == aName:
				if start >= s.nameEnd || i+1+64 > s.nameEnd {
					s.named(v, start, i+1, namesOnly)
				}
			case namesOnly:
			default:
				s.pattern(v, p, start)
			}
		}
	}
	if namesOnly {
		return
	}
	for _, rule := range s.rules {
		for _, m := range rule.FindAllSubmatchIndex(v.text, -1) {
			if len(m) > 2 && m[2] >= 0 {
				m = m[2:]
			}
			s.add(v, m[0], m[1], "rule", 0)
		}
	}
}

// pattern notes the secret that begins with p's word at start, if it is one.
func (s *search) pattern(v *view, p *pattern, start int) {
	if p.nature == aKnown {
		if from, to, ok := p.known.match(v.text, start); ok {
			n := len(s.hits)
			s.add(v, from, to, p.known.kind, 0)
			if len(s.hits) > n {
				s.hits[n].weak = p.known.weak
			}
		}
		return
	}
	if start < s.shapeEnd {
		return
	}
	from, end, kind := start, -1, ""
	switch p.nature {
	case aShape:
		end, kind = p.shape.match(v.text, start), p.shape.kind
	case aPEM:
		kind = keyKind
		if string(v.text[start:start+len(p.word)]) == pemBegin {
			end = privateKey(v.text, start, func(i int) bool { return v.parent == nil || !v.escaped(i) })
			if pemHeader(v.text, start) && (end < 0 || !bytes.HasSuffix(v.text[:end], []byte("-----"))) {
				s.header, _ = v.source(start, start+1)
			}
		}
	case aScheme:
		kind = "bearer"
		from, end = bearerToken(v.text, start, start+len(p.word))
	case aURL:
		kind = "password"
		from, end = userinfo(v.text, start+len(p.word))
	}
	if end > from {
		n := len(s.hits)
		s.add(v, from, end, kind, 0)
		if len(s.hits) > n {
			s.hits[n].named = p.nature == aScheme || p.nature == aURL
		}
		s.shapeEnd = end
	}
}

// bearerToken returns the span of what follows "Bearer ".
func bearerToken(text []byte, start, i int) (int, int) {
	if !edge(text, start, word) {
		return 0, -1
	}
	for i < len(text) && text[i] == ' ' {
		i++
	}
	end := i
	for end < len(text) && bearer[text[end]] {
		end++
	}
	if !plausible(text[i:end], 12) {
		return 0, -1
	}
	return i, end
}

// userinfo returns the span of the password in a URL whose authority begins at
// i, or of a user that looks like a token.
func userinfo(text []byte, i int) (int, int) {
	from, colon := i, -1
	for ; i < len(text) && i-from < maxUserinfo && (userinfoByte[text[i]] || text[i] == '@'); i++ {
		switch {
		case text[i] == ':' && colon < 0:
			colon = i
		case text[i] != '@':
		case colon >= 0:
			if placeholder(text[colon+1 : i]) {
				return 0, -1
			}
			return colon + 1, i
		case plausible(text[from:i], 16):
			return from, i
		default:
			return 0, -1
		}
	}
	return 0, -1
}

// merge sorts the hits and joins those that overlap; the longest gives the
// joined one its kind.
func (s *search) merge() {
	slices.SortFunc(s.hits, func(a, b hit) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end))
	})
	out := s.hits[:0]
	best := 0
	for _, h := range s.hits {
		n := len(out)
		if n == 0 || h.start >= out[n-1].end {
			out, best = append(out, h), h.end-h.start
			continue
		}
		last := &out[n-1]
		last.weak = last.weak && h.weak
		if h.start == last.start && h.end == last.end {
			last.named = last.named || h.named
		}
		last.end = max(last.end, h.end)
		if h.end-h.start > best {
			best = h.end - h.start
			last.kind, last.level, last.quote, last.in, last.named = h.kind, h.level, h.quote, h.in, h.named
		}
	}
	s.hits = out
}

// protect takes the tokens out of the hits. What is left between tokens counts
// only when it could be a secret.
func (s *search) protect() {
	if len(s.keep) == 0 || len(s.hits) == 0 {
		return
	}
	slices.SortFunc(s.keep, func(a, b hit) int { return cmp.Compare(a.start, b.start) })
	var out []hit
	k := 0
	for _, h := range s.hits {
		for k < len(s.keep) && s.keep[k].end <= h.start {
			k++
		}
		touched := false
		for j := k; j < len(s.keep) && s.keep[j].start < h.end; j++ {
			touched = true
			if rest := h; rest.start < s.keep[j].start {
				rest.end = s.keep[j].start
				out = s.left(out, rest)
			}
			h.start = max(h.start, s.keep[j].end)
		}
		switch {
		case !touched:
			out = append(out, h)
		case h.start < h.end:
			out = s.left(out, h)
		}
	}
	s.hits = out
}

// left appends what a token left of a hit, unless it is only punctuation.
func (s *search) left(out []hit, h hit) []hit {
	for _, c := range s.frame[h.start:h.end] {
		if word[c] || c >= 0x80 {
			return append(out, h)
		}
	}
	return out
}

// kindOf names a secret by what it is wherever that can be told, else by
// where it stood, so that equal secrets get equal tokens in most places.
func (e *engine) kindOf(secret []byte, context string) string {
	if len(secret) > 64<<10 {
		return context
	}
	a := e.auto
	state, kind := uint32(0), context
	for i, c := range secret[:min(len(secret), 64)] {
		if state = a.step(state, c); state < a.limit || state == a.escape {
			continue
		}
		for _, id := range a.at(state) {
			p := &e.patterns[id]
			start := i + 1 - len(p.word)
			switch p.nature {
			case aShape: // of several prefixes the longest says most
				if start == 0 && p.shape.match(secret, 0) == len(secret) {
					kind = p.shape.kind
				}
			case aKnown:
				if from, to, ok := p.known.match(secret, start); ok && from == 0 && to == len(secret) && kind == context {
					kind = p.known.kind
				}
			}
		}
	}
	return kind
}
