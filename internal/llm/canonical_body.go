package llm

import (
	"bytes"
	"crypto/sha256"
	"io"
	"mime"
	"mime/multipart"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxParts bounds the parts of a multipart body.
const maxParts = 1000

// bodyValue returns a request's body, without its content encoding, as a value.
// A form is its fields, a multipart body its parts: a boundary is made up anew
// each time. What is none of these is its bytes.
func bodyValue(body []byte, contentType string) node {
	if v, ok := parse(bytes.TrimPrefix(body, []byte("\xef\xbb\xbf"))); ok {
		return v
	}
	kind, params, err := mime.ParseMediaType(contentType)
	switch {
	case err != nil:
	case strings.HasPrefix(kind, "multipart/"):
		if v, ok := partsValue(body, params["boundary"]); ok {
			return v
		}
	case kind == "application/x-www-form-urlencoded":
		if form, err := url.ParseQuery(string(body)); err == nil {
			return formValue(form)
		}
	}
	return bytesValue(body)
}

func bytesValue(b []byte) node {
	if len(b) >= bigString {
		sum := sha256.Sum256(b)
		return node{kind: blob, text: string(sum[:]), raw: &node{kind: bytesText, text: string(b)}}
	}
	n := node{kind: text, text: string(b)}
	if !utf8.Valid(b) {
		n.kind = bytesText
	}
	return n
}

func partsValue(body []byte, boundary string) (node, bool) {
	if boundary == "" {
		return node{}, false
	}
	out := node{kind: array}
	for r := multipart.NewReader(bytes.NewReader(body), boundary); ; {
		part, err := r.NextRawPart()
		if err == io.EOF {
			return out, true
		}
		if err != nil || len(out.list) == maxParts {
			return node{}, false
		}
		content, err := io.ReadAll(part)
		if err != nil {
			return node{}, false
		}
		value := bodyValue(content, "")
		one := node{kind: object, at: int32(len(out.list)), keys: []string{"content", "disposition", "type"}, list: []node{
			value, {kind: text, text: part.Header.Get("Content-Disposition")}, {kind: text, text: part.Header.Get("Content-Type")}}}
		out.list = append(out.list, one)
	}
}

func formValue(form url.Values) node {
	out := node{kind: object}
	for name, values := range form {
		for range values {
			out.keys = append(out.keys, name)
		}
	}
	slices.Sort(out.keys)
	next := map[string]int{}
	for _, name := range out.keys {
		out.list = append(out.list, node{kind: text, text: form[name][next[name]]})
		next[name]++
	}
	return out
}
