package llm

import (
	"encoding/base64"
	"strings"

	"github.com/tidwall/gjson"
)

// embeddings counts the vectors in a list of objects that hold one as a member.
func (j *joiner) embeddings(list gjson.Result, member string) {
	list.ForEach(func(_, e gjson.Result) bool {
		j.vector(e.Get(member))
		return true
	})
}

// vector counts a vector: a list of numbers, or base64 of 32-bit ones.
func (j *joiner) vector(v gjson.Result) {
	n := 0
	switch {
	case v.IsArray():
		v.ForEach(func(_, _ gjson.Result) bool { n++; return true })
	case v.Type == gjson.String:
		n = base64.RawStdEncoding.DecodedLen(len(strings.TrimRight(v.Str, "="))) / 4
	default:
		return
	}
	if j.r.Vectors++; j.r.Vectors == 1 {
		j.r.Dimensions = n
	}
}

// models reads a list of models in the shape of any wire, or one model.
func (j *joiner) models(v gjson.Result) {
	name := func(m gjson.Result) string {
		return strings.TrimPrefix(firstOf(stringOf(m.Get("id")), firstOf(stringOf(m.Get("name")), stringOf(m.Get("model")))), "models/")
	}
	listed := false
	for _, list := range []string{"data", "models"} {
		v.Get(list).ForEach(func(_, m gjson.Result) bool {
			listed = true
			if n := name(m); n != "" {
				j.r.Models = append(j.r.Models, n)
			}
			return len(j.r.Models) < maxList
		})
	}
	if n := name(v); !listed && n != "" {
		j.r.Models = append(j.r.Models, n)
	}
}

// maxError is how much of an error that is no JSON is kept, in bytes.
const maxError = 2 << 10

// errorBody reads the body of an answer that is an error: JSON in the shape of
// any wire, or text.
func (r *Reading) errorBody(body []byte) {
	if looksSSE(body) {
		for e := range eventsOf(body) {
			body = e.data
			break
		}
	}
	v, whole := jsonValue(body)
	r.CutAnswer = !whole && len(v) > 0
	if len(v) > 0 {
		p := gjson.ParseBytes(v)
		if p.IsArray() { // Gemini without alt=sse
			p = p.Get("0")
		}
		r.errorValue(p)
	}
	if r.Error == "" {
		r.Error = strings.ToValidUTF8(strings.TrimSpace(string(body[:min(len(body), maxError)])), "\ufffd")
	}
}

// errorValue takes what a JSON value says of an error, unless one was seen
// before.
func (r *Reading) errorValue(v gjson.Result) {
	e := v.Get("error")
	said := ""
	switch {
	case e.Type == gjson.String:
		said = e.String()
	case e.IsObject():
		said = stringOf(e.Get("message"))
	default:
		e = v
		for _, name := range []string{"message", "detail", "error_description"} {
			said = firstOf(said, stringOf(v.Get(name)))
		}
	}
	kind := ""
	for _, name := range []string{"type", "status", "code"} {
		if k := e.Get(name); kind == "" && e.IsObject() && (k.Type == gjson.String || k.Type == gjson.Number) && k.String() != "error" {
			kind = k.String()
		}
	}
	if said == "" && kind == "" {
		if !v.Get("error").Exists() {
			return
		}
		said = v.Get("error").Raw
	}
	if r.Error == "" && r.ErrorKind == "" {
		r.Error, r.ErrorKind = said[:min(len(said), maxError)], kind
	}
}
