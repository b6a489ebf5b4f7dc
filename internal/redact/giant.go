package redact

import "bytes"

// The window of a giant: it is looked at in stretches of giantWindow bytes.
// giantAhead is how much of what follows is known before a decision, longer
// than any shape or known value; giantBehind is what is kept of what went out,
// so that names and edges are seen.
const (
	giantWindow = 512 << 10
	giantAhead  = 64 << 10
	giantBehind = 4 << 10
)

// Giant redacts one frame of any length in bounded memory, by key names, key
// shapes, known values and rules, with an overlap between parts. It treats a
// frame that begins like JSON as JSON. A secret longer than a window is cut out
// whole; its token stands for its beginning.
type Giant struct {
	r       *Redactor
	buf     []byte
	from    int  // buf[from:] has not gone out yet
	learned bool // look for what was learned, too
	begun   bool // the first byte is known
	json    bool
	inside  bool   // buf[from] is inside a JSON string
	drop    bool   // in the middle of a secret whose token went out
	until   quote  // what ends that secret
	out     []byte // reused

	note  bool   // keep the edits made
	edits []edit // by their places in all that came
	base  int    // where buf[from:] stands in that, less from
}

// Giant returns a redactor for a frame that comes in parts. It looks for what r
// was made with and not for what r has learned since: who begins again in the
// middle of a recording, with a new redactor, gets the same bytes.
func (r *Redactor) Giant() *Giant { return &Giant{r: r} }

// Stream returns a redactor for text that comes in parts: a frame, or with
// lines true a file of many. It looks for all that r has learned.
func (r *Redactor) Stream(lines bool) *Giant { return &Giant{r: r, begun: lines, learned: true} }

// Next takes the next part and returns what may be stored so far; it holds
// back what could begin a secret. The result is valid until the next call.
func (g *Giant) Next(part []byte) []byte {
	g.out = g.out[:0]
	for len(part) > 0 {
		n := min(len(part), giantWindow)
		g.buf = append(g.buf, part[:n]...)
		part = part[n:]
		if len(g.buf)-g.from >= giantWindow+giantAhead {
			g.window(false)
		}
	}
	return g.out
}

// End returns the rest.
func (g *Giant) End() []byte {
	g.out = g.out[:0]
	g.window(true)
	return g.out
}

// giantEdits returns what redacting a long text, which comes in pieces, changes
// in it.
func (r *Redactor) giantEdits(pieces ...[]byte) []edit {
	g := r.Stream(false)
	g.note = true
	for _, p := range pieces {
		for len(p) > 0 {
			n := min(len(p), giantWindow)
			g.Next(p[:n])
			p = p[n:]
		}
	}
	g.End()
	return g.edits
}

// window moves what is decided from buf to out.
func (g *Giant) window(last bool) {
	if g.drop && !g.dropped(last) {
		return
	}
	if !g.begun {
		if t := bytes.TrimLeft(g.buf, " \t\r\n"); len(t) > 0 {
			g.begun, g.json = true, t[0] == '{' || t[0] == '['
		}
	}
	s := &search{engine: g.r.made, rules: g.r.rules, frame: g.buf}
	if g.learned {
		s.engine = g.r.engine.Load()
	}
	if s.engine.rules || s.suspect(g.buf) {
		s.look()
	}
	hits := s.hits
	for len(hits) > 0 && hits[0].end <= g.from {
		hits = hits[1:]
	}
	cut := len(g.buf)
	if !last {
		cut = align(g.buf, len(g.buf)-giantAhead)
	}
	for i := range hits {
		hits[i].start = max(hits[i].start, g.from)
		if hits[i].start < cut && hits[i].end > cut {
			if hits[i].start > g.from || len(g.buf)-g.from < 2*giantWindow && !last {
				cut = hits[i].start
			} else {
				if g.drop = !last && hits[i].end == len(g.buf); g.drop {
					hits[i].end, g.until = align(g.buf, len(g.buf)), hits[i].in
				}
				cut = hits[i].end
			}
			break
		}
	}
	if cut <= g.from {
		return
	}
	for len(hits) > 0 && hits[len(hits)-1].start >= cut {
		hits = hits[:len(hits)-1]
	}
	s.hits = hits
	if g.json {
		s.fit(g.from, g.inside)
	}
	s.name()
	g.r.learn(g.buf, s.hits)
	g.write(s.hits, cut)
}

// write moves buf[from:cut] to out with tokens over the hits.
func (g *Giant) write(hits []hit, cut int) {
	if g.json {
		g.inside = insideAt(g.buf[g.from:cut], g.inside)
	}
	at := g.from
	for _, h := range hits {
		g.out = append(g.out, g.buf[at:h.start]...)
		with := len(g.out)
		g.out = append(g.out, h.quote...)
		g.out = g.r.token(g.out, h.kind, decodeTimes(g.buf[h.start:h.end], h.level))
		g.out = append(g.out, h.quote...)
		if g.note {
			g.edits = append(g.edits, edit{g.base + h.start, g.base + h.end, bytes.Clone(g.out[with:])})
		}
		at = h.end
	}
	g.out = append(g.out, g.buf[at:cut]...)
	keep := align(g.buf, max(cut-giantBehind, 0))
	g.from, g.base = cut-keep, g.base+keep
	g.buf = append(g.buf[:0], g.buf[keep:]...)
}

// dropped takes the rest of an over-long secret out of buf and reports whether
// its end has been found.
func (g *Giant) dropped(last bool) bool {
	rest := g.buf[g.from:]
	end := len(rest)
	if g.until.char != 0 {
		end, _ = (&search{}).closing(&view{text: rest}, 0, g.until)
	} else if i := bytes.IndexAny(rest, "\"'\\ \t\r\n"); i >= 0 {
		end = i
	}
	more := end == len(rest) && !last
	if more {
		end = align(rest, end)
	}
	if g.note {
		g.edits = append(g.edits, edit{start: g.base + g.from, end: g.base + g.from + end})
	}
	g.base += end
	g.buf = append(g.buf[:g.from], rest[end:]...)
	if more {
		return false
	}
	g.drop = false
	return true
}

// align moves a place in text back so that it is not inside an escape.
func align(text []byte, at int) int {
	near := max(at-12, 0)
	i := bytes.LastIndexByte(text[near:at], '\\')
	if i < 0 {
		return at
	}
	end := near + i + 1
	start := end
	for start > 0 && text[start-1] == '\\' {
		start--
	}
	if end-start > giantBehind/4 {
		start = end - (end-start)%2 // a heap of backslashes: between two pairs
	}
	return start
}

// insideAt reports whether the byte behind text is inside a JSON string, when
// the first byte of text is inside one or not.
func insideAt(text []byte, inside bool) bool {
	for i := 0; i < len(text); i++ {
		if !inside {
			n := bytes.IndexByte(text[i:], '"')
			if n < 0 {
				return false
			}
			i += n
			inside = true
			continue
		}
		switch text[i] {
		case '\\':
			i++
		case '"':
			inside = false
		}
	}
	return inside
}
