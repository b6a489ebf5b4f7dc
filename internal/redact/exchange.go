package redact

import (
	"bytes"
	"slices"
	"strconv"
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
// fits. Slices and bytes of x that others hold stay as they are.
func (r *Redactor) Exchange(x *store.Exchange) {
	x.URL = r.URL(x.URL)
	x.Error = string(r.Text([]byte(x.Error)))
	x.Header, x.Answer, x.Trailer = r.fields(x.Header), r.fields(x.Answer), r.fields(x.Trailer)

	was := len(x.Body)
	if strings.HasPrefix(fieldOf(x.Header, "content-type"), "application/x-www-form-urlencoded") {
		x.Body = []byte(r.Query(string(x.Body)))
	} else {
		x.Body = r.body(x.Body, nil)
	}
	x.Header = resized(x.Header, was, len(x.Body))

	var joined []byte
	ends := make([]int, len(x.Pieces))
	for i, p := range x.Pieces {
		joined = append(joined, p.Bytes...)
		ends[i] = len(joined)
	}
	now := r.body(joined, ends)
	if bytes.Equal(now, joined) {
		return
	}
	x.Answer = resized(x.Answer, len(joined), len(now))
	x.Pieces = slices.Clone(x.Pieces)
	at := 0
	for i, end := range ends {
		x.Pieces[i].Bytes = now[at:end:end]
		at = end
	}
}

// body returns a body with its secrets replaced, and moves the ends of its
// pieces accordingly. Only a request, which has no pieces, has secret places.
func (r *Redactor) body(b []byte, ends []int) []byte {
	paths := requestSecrets
	if ends != nil {
		paths = dialect.Paths{}
	}
	for range passes {
		s := r.lookAt(b, paths)
		if s == nil || len(s.hits) == 0 {
			break
		}
		hits := s.hits
		r.learn(b, hits)
		now := make([]byte, 0, len(b)+len(hits)*16)
		at, piece := 0, 0
		for _, h := range hits {
			for ; piece < len(ends) && ends[piece] <= h.start; piece++ {
				ends[piece] += len(now) - at
			}
			now = append(now, b[at:h.start]...)
			now = append(now, h.quote...)
			now = r.token(now, h.kind, decodeTimes(b[h.start:h.end], h.level))
			now = append(now, h.quote...)
			for at = h.end; piece < len(ends) && ends[piece] <= h.end; piece++ {
				ends[piece] = len(now)
			}
		}
		for ; piece < len(ends); piece++ {
			ends[piece] += len(now) - at
		}
		b = append(now, b[at:]...)
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

// fieldOf returns the value of the first header line of that name.
func fieldOf(list []store.Field, name string) string {
	for _, f := range list {
		if strings.EqualFold(f.Name, name) {
			return f.Value
		}
	}
	return ""
}

// resized changes a content-length that told the length a body had.
func resized(list []store.Field, was, now int) []store.Field {
	for i, f := range list {
		if was != now && strings.EqualFold(f.Name, "content-length") && f.Value == strconv.Itoa(was) {
			list[i].Value = strconv.Itoa(now)
		}
	}
	return list
}
