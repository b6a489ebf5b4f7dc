package redact

import (
	"bytes"
	"slices"
	"strings"

	"agentrec/internal/dialect"
	"agentrec/store"
)

// requestSecrets are places in the requests of LLM APIs whose names do not say
// by the rules for names that they are secret: credentials for the servers of
// tools (OpenAI Responses, Anthropic Messages), and the account of who asks.
var requestSecrets = func() dialect.Paths {
	p, err := dialect.ParsePaths("tools.*.authorization", "tools.*.headers.*", "mcp_servers.*.authorization_token", "metadata.user_id")
	if err != nil {
		panic("redact: " + err.Error())
	}
	return p
}()

// Exchange replaces the secrets of an LLM exchange: in headers, URL, bodies and
// error. A secret of the answer may lie in several pieces: its token stands in
// the first of them, and all pieces stay. A content-length that fitted still
// fits, and a compressed body that holds secrets is stored uncompressed. Slices and bytes of x that others hold stay as they are.
func (r *Redactor) Exchange(x *store.Exchange) {
	x.URL = r.URL(x.URL)
	x.Error = string(r.Text([]byte(x.Error)))
	x.Header, x.Answer, x.Trailer = r.fields(x.Header), r.fields(x.Answer), r.fields(x.Trailer)

	request, answer := r.compressed(x)
	switch {
	case request:
	case form(x):
		x.SetBody([]byte(r.Query(string(x.Body))))
	default:
		x.SetBody(r.body(x.Body, nil))
	}
	if answer {
		return
	}
	if length(x.Pieces) > store.MaxRaw {
		if edits := r.giantEdits(bytesOf(x.Pieces)...); len(edits) > 0 {
			x.SetPieces(applyTo(x.Pieces, edits))
		}
		return
	}
	joined, ends := join(x.Pieces)
	if now := r.body(joined, ends); !bytes.Equal(now, joined) {
		x.SetPieces(cut(now, ends, x.Pieces))
	}
}

// form reports whether the request's body is written like a query.
func form(x *store.Exchange) bool {
	return strings.HasPrefix(store.FieldOf(x.Header, "content-type"), "application/x-www-form-urlencoded")
}

// join returns the bytes of all pieces, and where each ends.
func join(pieces []store.Piece) (joined []byte, ends []int) {
	joined, ends = make([]byte, 0, length(pieces)), make([]int, len(pieces))
	for i, p := range pieces {
		joined = append(joined, p.Bytes...)
		ends[i] = len(joined)
	}
	return joined, ends
}

func length(pieces []store.Piece) (n int) {
	for _, p := range pieces {
		n += len(p.Bytes)
	}
	return n
}

// applyTo is apply for text in pieces, of which those that no edit touches are
// not copied.
func applyTo(pieces []store.Piece, edits []edit) []store.Piece {
	pieces = slices.Clone(pieces)
	from := 0 // where the piece begins
	for i := range pieces {
		b := pieces[i].Bytes
		end := from + len(b)
		if len(edits) > 0 && edits[0].start < end {
			var now []byte
			at := from
			for len(edits) > 0 && edits[0].start < end {
				e := edits[0]
				now = append(append(now, b[at-from:max(e.start, at)-from]...), e.with...)
				at = min(e.end, end)
				if e.end > end {
					edits[0] = edit{start: end, end: e.end} // the rest of it
					break
				}
				edits = edits[1:]
			}
			pieces[i].Bytes = append(now, b[at-from:]...)
		}
		from = end
	}
	return pieces
}

// ExchangeHit is a secret found in an exchange.
type ExchangeHit struct {
	Hit          // Start and End count in what Where names, of a header line in its value
	Where string // "URL", "request", "request header X", "answer", "answer (in pieces)", "answer header X", "trailer X" or "error"
}

// FindExchange returns the secrets in an exchange.
func (r *Redactor) FindExchange(x *store.Exchange) []ExchangeHit {
	var out []ExchangeHit
	found := func(where string, paths dialect.Paths, text ...[]byte) {
		if len(text) > 1 || len(text[0]) > store.MaxRaw {
			for _, e := range r.giantEdits(text...) {
				if start, end := NextToken(e.with); start >= 0 {
					kind, _ := IsToken(string(e.with[start:end]))
					out = append(out, ExchangeHit{Hit{kind, e.start, e.end, true}, where})
				}
			}
		} else if s := r.lookAt(text[0], paths); s != nil {
			for _, h := range s.out() {
				out = append(out, ExchangeHit{h, where})
			}
		}
	}
	// Headers and URLs have rules of their own: what redaction changes is a secret.
	changed := func(where, was, now string) {
		if now == was {
			return
		}
		h := Hit{Kind: "secret", End: len(was), Sure: true}
		if start, end := NextToken([]byte(now)); start >= 0 {
			h.Kind, _ = IsToken(now[start:end])
		}
		out = append(out, ExchangeHit{h, where})
	}
	changed("URL", x.URL, r.URL(x.URL))
	for _, part := range []struct {
		name string
		list []store.Field
	}{{"request header ", x.Header}, {"answer header ", x.Answer}, {"trailer ", x.Trailer}} {
		for _, f := range part.list {
			changed(part.name+f.Name, f.Value, r.Header(f.Name, f.Value))
		}
	}
	body := x.Body
	if text, _, ok := decoded(x.Header, [][]byte{x.Body}, store.MaxRequestBody); ok {
		body = text
	}
	if form(x) {
		changed("request", string(body), r.Query(string(body)))
	} else {
		found("request", requestSecrets, body)
	}
	answer, _, unpacked := decoded(x.Answer, bytesOf(x.Pieces), store.MaxAnswerBody)
	if !unpacked && length(x.Pieces) > store.MaxRaw {
		found("answer", dialect.Paths{}, bytesOf(x.Pieces)...)
	} else {
		if !unpacked {
			answer, _ = join(x.Pieces)
		}
		found("answer", dialect.Paths{}, answer)
		for _, h := range r.splitHits(answer) {
			out = append(out, ExchangeHit{Hit{h.kind, h.pieces[0].start, h.pieces[0].end, !h.weak}, "answer (in pieces)"})
		}
	}
	found("error", dialect.Paths{}, []byte(x.Error))
	return out
}

// Exchange is Apply for all text of an exchange, whose tokens lie in one piece
// each.
func (n *Numbering) Exchange(x *store.Exchange) {
	fields := func(list []store.Field) []store.Field {
		list = slices.Clone(list)
		for i := range list {
			list[i].Value = string(n.Apply([]byte(list[i].Value)))
		}
		return list
	}
	x.URL, x.Error = string(n.Apply([]byte(x.URL))), string(n.Apply([]byte(x.Error)))
	x.Header, x.Answer, x.Trailer = fields(x.Header), fields(x.Answer), fields(x.Trailer)
	x.SetBody(n.Apply(x.Body))
	pieces := slices.Clone(x.Pieces)
	for i := range pieces {
		pieces[i].Bytes = n.Apply(pieces[i].Bytes)
	}
	x.SetPieces(pieces)
}

// KeepExchange is Keep for all text of an exchange.
func (n *Numbering) KeepExchange(x *store.Exchange) {
	n.Keep([]byte(x.URL))
	n.Keep([]byte(x.Error))
	for _, list := range [][]store.Field{x.Header, x.Answer, x.Trailer} {
		for _, f := range list {
			n.Keep([]byte(f.Value))
		}
	}
	n.Keep(x.Body)
	for _, p := range x.Pieces {
		n.Keep(p.Bytes)
	}
}

// HoldsToken reports whether there is a token in an exchange.
func HoldsToken(x *store.Exchange) bool {
	n, y := NewNumbering(), *x
	n.Exchange(&y)
	return len(n.names) > 0
}

// body returns a body with its secrets replaced, and moves the ends of its
// pieces accordingly. Only a request, which has no pieces, has secret places.
func (r *Redactor) body(b []byte, ends []int) []byte {
	paths := requestSecrets
	if ends != nil {
		paths = dialect.Paths{}
	}
	if len(b) > store.MaxRaw {
		if edits := r.giantEdits(b); len(edits) > 0 {
			b = apply(b, edits, ends)
		}
		return b
	}
	for range passes {
		s := r.lookAt(b, paths)
		if s == nil || len(s.hits) == 0 {
			break
		}
		r.learn(b, s.hits)
		edits := make([]edit, len(s.hits))
		for i, h := range s.hits {
			with := append(r.token([]byte(h.quote), h.kind, decodeTimes(b[h.start:h.end], h.level)), h.quote...)
			edits[i] = edit{h.start, h.end, with}
		}
		b = apply(b, edits, ends)
	}
	if ends == nil {
		return b
	}
	for range passes {
		edits := r.splitEdits(b)
		if len(edits) == 0 {
			break
		}
		b = apply(b, edits, ends)
	}
	return b
}

// URL returns a URL with its secrets replaced: in the user info, the path, the
// query and the fragment.
func (r *Redactor) URL(url string) string {
	rest, fragment, has := strings.Cut(url, "#")
	path, query, asks := strings.Cut(rest, "?")
	url = string(r.Text([]byte(path)))
	if asks {
		url += "?" + r.Query(query)
	}
	if has {
		url += "#" + r.Query(fragment)
	}
	return url
}

func (r *Redactor) fields(list []store.Field) []store.Field {
	list = slices.Clone(list)
	for i := range list {
		list[i].Value = r.Header(list[i].Name, list[i].Value)
	}
	return list
}
