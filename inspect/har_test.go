package inspect

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"agentrec/store"
)

// harShape is what HAR 1.2 demands of an object: its members, each with a type;
// "?" before a type is a member that may be left out. Other members must begin
// with an underscore.
type harShape map[string]any

var (
	harPairShape = harShape{"name": "string", "value": "string", "comment": "?string"}
	harLogShape  = harShape{
		"version": "string", "creator": harShape{"name": "string", "version": "string"},
		"pages": []any{harShape{"startedDateTime": "time", "id": "string", "title": "string", "pageTimings": harShape{"onContentLoad": "?number", "onLoad": "?number"}}},
		"entries": []any{harShape{
			"pageref": "?string", "startedDateTime": "time", "time": "positive", "cache": harShape{}, "comment": "?string", "serverIPAddress": "?string", "connection": "?string",
			"request": harShape{
				"method": "string", "url": "string", "httpVersion": "string", "cookies": []any{harShape{}}, "headers": []any{harPairShape}, "queryString": []any{harPairShape},
				"headersSize": "number", "bodySize": "number", "postData": optional{harShape{"mimeType": "string", "text": "string", "params": []any{harPairShape}}},
			},
			"response": harShape{
				"status": "number", "statusText": "string", "httpVersion": "string", "cookies": []any{harShape{}}, "headers": []any{harPairShape}, "redirectURL": "string",
				"headersSize": "number", "bodySize": "number", "content": harShape{"size": "number", "compression": "?number", "mimeType": "string", "text": "?string", "encoding": "?string"},
			},
			"timings": harShape{"blocked": "?number", "dns": "?number", "connect": "?number", "ssl": "?number", "send": "positive", "wait": "positive", "receive": "positive"},
		}},
	}
)

// optional is a shape of a member that may be left out.
type optional struct{ shape any }

func (s harShape) problem(v any, at string) string {
	object, ok := v.(map[string]any)
	if !ok {
		return at + " is no object"
	}
	for name := range object {
		if _, known := s[name]; !known && !strings.HasPrefix(name, "_") {
			return at + "." + name + " is not in the format"
		}
	}
	for name, want := range s {
		got, there := object[name]
		if o, is := want.(optional); is {
			if !there {
				continue
			}
			want = o.shape
		}
		if word, is := want.(string); is && strings.HasPrefix(word, "?") {
			if !there {
				continue
			}
			want = word[1:]
		}
		if !there {
			return at + "." + name + " is missing"
		}
		if p := shapeProblem(want, got, at+"."+name); p != "" {
			return p
		}
	}
	return ""
}

func shapeProblem(want, got any, at string) string {
	switch want := want.(type) {
	case harShape:
		return want.problem(got, at)
	case []any:
		list, ok := got.([]any)
		if !ok {
			return at + " is no array"
		}
		for i, v := range list {
			if p := shapeProblem(want[0], v, fmt.Sprintf("%s[%d]", at, i)); p != "" {
				return p
			}
		}
	case string:
		text, isText := got.(string)
		n, isNumber := got.(float64)
		switch {
		case want == "string" && !isText, want == "number" && !isNumber, want == "positive" && !(isNumber && n >= 0):
			return fmt.Sprintf("%s is %v, want a %s", at, got, want)
		case want == "time":
			if _, err := time.Parse(time.RFC3339, text); err != nil {
				return at + ": " + err.Error()
			}
		}
	}
	return ""
}

func TestHAR(t *testing.T) {
	list := phiExchanges()
	list[1].URL += "?a=1&b=x%20y&c"
	list[3].Body = []byte("\xff\x00")
	failed := asked(6, 12, chatRequest(saidHello), 0)
	failed.End, failed.Error, failed.Answered, failed.Answer = store.Failed, "connection refused", 0, nil
	path := recordTold(t, phiSteps, append(list, failed))
	var b bytes.Buffer
	if err := export(t.Context(), exportOptions{File: path, HAR: true, Out: &b, Err: nothing{}}); err != nil {
		t.Fatal(err)
	}
	var doc struct{ Log any }
	if err := json.Unmarshal(b.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	if p := harLogShape.problem(doc.Log, "log"); p != "" {
		t.Fatal(p)
	}
	var har struct {
		Log struct{ Entries []harEntry }
	}
	if err := json.Unmarshal(b.Bytes(), &har); err != nil {
		t.Fatal(err)
	}
	entries := har.Log.Entries
	if len(entries) != 6 {
		t.Fatalf("%d entries", len(entries))
	}
	e := entries[1]
	if got := fmt.Sprint(e.Request.QueryString); got != "[{a 1} {b x y} {c }]" {
		t.Errorf("the query is %s", got)
	}
	if got := fmt.Sprintf("%s %g %g %g %v", e.Started, e.Time, e.Timings.Wait, e.Timings.Receive, e.Pieces); got != "2026-03-04T05:06:07.004500Z 0.3 0.1 0.2 [[0.15 89] [0.2 85] [0.25 132]]" {
		t.Error(got)
	}
	if e.Request.PostData.Text != string(phiExchanges()[1].Body) || !strings.HasSuffix(e.Response.Content.Text, "data: [DONE]\n\n") {
		t.Errorf("bodies: %q, %q", e.Request.PostData.Text, e.Response.Content.Text)
	}
	if p := entries[3].Request.PostData; p.Encoding != "base64" || p.Text != base64.StdEncoding.EncodeToString(list[3].Body) {
		t.Errorf("%+v", p)
	}
	if f := entries[5]; f.Response.Status != 0 || f.Error != "connection refused" || f.End != "failed" {
		t.Errorf("%+v", f)
	}
}
