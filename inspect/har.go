package inspect

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"agentrec/internal/llm"
	"agentrec/store"
)

// The HTTP Archive form, version 1.2, as browsers and proxies read it. Members
// that begin with an underscore are agentrec's own, as the format allows.

type harEntry struct {
	PageRef  string      `json:"pageref"`
	Started  string      `json:"startedDateTime"`
	Time     float64     `json:"time"` // ms
	Request  harRequest  `json:"request"`
	Response harResponse `json:"response"`
	Cache    struct{}    `json:"cache"`
	Timings  harTimings  `json:"timings"`
	Comment  string      `json:"comment,omitempty"`

	Exchange int64   `json:"_exchange"` // its number in the session
	After    int64   `json:"_after"`    // the frame before it
	Attempt  int     `json:"_attempt"`
	Route    string  `json:"_route"`
	End      string  `json:"_end"`
	Error    string  `json:"_error,omitempty"`
	Pieces   [][]any `json:"_pieces"` // of the answer's body: [ms since the entry's start, bytes]
}

type harRequest struct {
	Method      string     `json:"method"`
	URL         string     `json:"url"`
	HTTPVersion string     `json:"httpVersion"`
	Cookies     []struct{} `json:"cookies"`
	Headers     []harPair  `json:"headers"`
	QueryString []harPair  `json:"queryString"`
	PostData    *harPost   `json:"postData,omitempty"`
	HeadersSize int        `json:"headersSize"`
	BodySize    int        `json:"bodySize"`
}

type harPost struct {
	MimeType string     `json:"mimeType"`
	Text     string     `json:"text"`
	Params   []struct{} `json:"params"`
	Encoding string     `json:"_encoding,omitempty"` // "base64", for which the format has no member here
}

type harResponse struct {
	Status      int        `json:"status"`
	StatusText  string     `json:"statusText"`
	HTTPVersion string     `json:"httpVersion"`
	Cookies     []struct{} `json:"cookies"`
	Headers     []harPair  `json:"headers"`
	Content     harContent `json:"content"`
	RedirectURL string     `json:"redirectURL"`
	HeadersSize int        `json:"headersSize"`
	BodySize    int        `json:"bodySize"`
}

type harContent struct {
	Size        int    `json:"size"` // decoded
	Compression int    `json:"compression,omitempty"`
	MimeType    string `json:"mimeType"`
	Text        string `json:"text,omitempty"`
	Encoding    string `json:"encoding,omitempty"`
}

type harPair struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// harTimings are in milliseconds; -1 is not known.
type harTimings struct {
	Blocked float64 `json:"blocked"`
	DNS     float64 `json:"dns"`
	Connect float64 `json:"connect"`
	SSL     float64 `json:"ssl"`
	Send    float64 `json:"send"`
	Wait    float64 `json:"wait"`
	Receive float64 `json:"receive"`
}

type harPage struct {
	Started string         `json:"startedDateTime"`
	ID      string         `json:"id"`
	Title   string         `json:"title"`
	Timings map[string]int `json:"pageTimings"`
}

// exportHAR writes the exchanges of sessions as one HTTP archive, entry by
// entry: a page a session.
func exportHAR(ctx context.Context, w io.Writer, list []*store.Session) error {
	pages := make([]harPage, len(list))
	version := ""
	for i, s := range list {
		pages[i] = harPage{Started: harTime(s.Started), ID: s.UID, Title: s.Name, Timings: map[string]int{}}
		if s.Name == "" {
			pages[i].Title = fmt.Sprintf("session %d", s.ID)
		}
		version = s.Version
	}
	if version == "" {
		version = "unknown"
	}
	head, err := harJSON(pages)
	if err != nil {
		return err
	}
	creator, err := harJSON(map[string]string{"name": "agentrec", "version": version})
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(w, `{"log":{"version":"1.2","creator":%s,"pages":%s,"entries":[`, creator, head); err != nil {
		return err
	}
	between := "\n"
	for _, s := range list {
		for x, err := range s.Exchanges(ctx) {
			if err != nil {
				return fmt.Errorf("reading the exchanges of session %d: %w", s.ID, err)
			}
			entry, err := harJSON(harOf(s, &x))
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintf(w, "%s%s", between, entry); err != nil {
				return err
			}
			between = ",\n"
		}
	}
	_, err = io.WriteString(w, "\n]}}\n")
	return err
}

// harJSON is JSON that does no harm on a terminal.
func harJSON(v any) ([]byte, error) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("writing HAR: %w", err)
	}
	return safeJSON([]byte(strings.TrimSuffix(b.String(), "\n"))), nil
}

// harOf is one exchange as an entry.
func harOf(s *store.Session, x *store.Exchange) harEntry {
	answered := x.Answered
	if x.Status == 0 {
		answered = max(x.Ended, x.Time)
	}
	ended := max(x.Ended, answered)
	e := harEntry{
		PageRef: s.UID, Started: harTime(s.Started.Add(x.Time)), Time: millis(ended - x.Time), Exchange: x.Number, After: x.After, Attempt: max(x.Attempt, 1),
		Route: string(x.Route), End: string(x.End), Error: x.Error, Pieces: [][]any{},
		Timings: harTimings{Blocked: -1, DNS: -1, Connect: -1, SSL: -1, Send: 0, Wait: millis(answered - x.Time), Receive: millis(ended - answered)},
	}
	e.Request = harRequest{
		Method: x.Method, URL: x.URL, HTTPVersion: x.Proto, Cookies: []struct{}{}, Headers: harPairs(x.Header), QueryString: []harPair{}, HeadersSize: -1, BodySize: len(x.Body),
	}
	if u, err := url.Parse(x.URL); err == nil {
		for _, pair := range strings.FieldsFunc(u.RawQuery, func(r rune) bool { return r == '&' }) {
			name, value, _ := strings.Cut(pair, "=")
			e.Request.QueryString = append(e.Request.QueryString, harPair{queryText(name), queryText(value)})
		}
	}
	if len(x.Body) > 0 {
		p := &harPost{MimeType: mimeOf(x.Header), Params: []struct{}{}}
		p.Text, p.Encoding = harText(llm.Decoded(x.Body, x.Header))
		e.Request.PostData = p
	}
	raw := llm.AnswerBody(*x)
	body := llm.Decoded(raw, x.Answer)
	e.Response = harResponse{
		Status: x.Status, StatusText: http.StatusText(x.Status), HTTPVersion: x.Proto, Cookies: []struct{}{}, Headers: harPairs(x.Answer), HeadersSize: -1, BodySize: len(raw),
		Content: harContent{Size: len(body), Compression: len(body) - len(raw), MimeType: mimeOf(x.Answer)},
	}
	for _, f := range x.Answer {
		if strings.EqualFold(f.Name, "location") {
			e.Response.RedirectURL = f.Value
		}
	}
	e.Response.Content.Text, e.Response.Content.Encoding = harText(body)
	for _, p := range x.Pieces {
		e.Pieces = append(e.Pieces, []any{millis(p.Time - x.Time), len(p.Bytes)})
	}
	return e
}

func harTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z07:00") }

// millis is a duration in milliseconds, to the microsecond.
func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func harPairs(list []store.Field) []harPair {
	out := make([]harPair, 0, len(list))
	for _, f := range list {
		out = append(out, harPair(f))
	}
	return out
}

func queryText(s string) string {
	if u, err := url.QueryUnescape(s); err == nil {
		return u
	}
	return s
}

// mimeOf is the media type that a header names; the format wants one always.
func mimeOf(header []store.Field) string {
	for _, f := range header {
		if strings.EqualFold(f.Name, "content-type") && f.Value != "" {
			return f.Value
		}
	}
	return "application/octet-stream"
}

// harText is a body as the format has it: text, or base64 where it is none.
func harText(b []byte) (text, encoding string) {
	if utf8.Valid(b) {
		return string(b), ""
	}
	return base64.StdEncoding.EncodeToString(b), "base64"
}
