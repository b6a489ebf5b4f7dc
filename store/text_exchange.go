package store

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"
)

// maxExchangeText is the longest object of an exchange: more than what is kept of
// one can take.
const maxExchangeText = 768 << 20

// textExchange is what a line of kind exchange holds. Times are whole
// microseconds since it began.
type textExchange struct {
	Route    Route           `json:"route"`
	Proto    string          `json:"proto"`
	Method   string          `json:"method"`
	URL      string          `json:"url"`
	Header   []textField     `json:"header"`
	Body     json.RawMessage `json:"body"`
	Text     *string         `json:"body:text"`
	Base64   *string         `json:"body:base64"`
	Status   int             `json:"status"`
	Answered int64           `json:"answered"`
	Answer   []textField     `json:"answer"`
	Pieces   []textPiece     `json:"pieces"`
	Trailer  []textField     `json:"trailer"`
	End      ExchangeEnd     `json:"end"`
	Ended    int64           `json:"ended"`
	Error    string          `json:"error"`
	Omitted  int64           `json:"omitted"`
}

// textField is ["name", "value"], textPiece is [GAP, "bytes"]. What is not UTF-8
// stands as {"base64": "..."}.
type (
	textField Field
	textPiece struct {
		gap   int64
		bytes []byte
	}
)

func (f *textField) UnmarshalJSON(b []byte) error {
	var name, value []byte
	if err := decodePair(b, &name, &value); err != nil {
		return fmt.Errorf(`a header line must be ["name", "value"]: %w`, err)
	}
	*f = textField{string(name), string(value)}
	return nil
}

func (p *textPiece) UnmarshalJSON(b []byte) error {
	if err := decodePair(b, &p.gap, &p.bytes); err != nil {
		return fmt.Errorf(`a piece must be [GAP, "bytes"]: %w`, err)
	}
	return nil
}

// decodePair decodes an array of two; what goes into bytes stands as in textBytes.
func decodePair(b []byte, places ...any) error {
	var list []json.RawMessage
	if err := json.Unmarshal(b, &list); err != nil {
		return err
	}
	if len(list) != len(places) {
		return fmt.Errorf("it has %d elements", len(list))
	}
	for i, place := range places {
		raw, ok := place.(*[]byte)
		if !ok {
			if err := json.Unmarshal(list[i], place); err != nil {
				return err
			}
			continue
		}
		if len(list[i]) > 0 && list[i][0] == '"' {
			var text string
			if err := json.Unmarshal(list[i], &text); err != nil {
				return err
			}
			*raw = []byte(text)
			continue
		}
		var form struct {
			Base64 *string `json:"base64"`
		}
		if err := json.Unmarshal(list[i], &form); err != nil {
			return err
		}
		if form.Base64 == nil {
			return errors.New("it holds neither text nor base64")
		}
		var err error
		if *raw, err = base64.StdEncoding.Strict().DecodeString(*form.Base64); err != nil {
			return errBase64
		}
	}
	return nil
}

// exchange reads an exchange that began at the time given.
func (t *textReader) exchange(at time.Duration) (x Exchange, err error) {
	var form textExchange
	if err := decodeObject(t.buf, &form); err != nil {
		return x, err
	}
	x = Exchange{
		After: t.w.seq, Time: at, Route: form.Route, Proto: form.Proto, Method: form.Method, URL: form.URL, Status: form.Status,
		Header: fieldsOf(form.Header), Answer: fieldsOf(form.Answer), Trailer: fieldsOf(form.Trailer),
		End: form.End, Error: form.Error, Omitted: form.Omitted,
	}
	bodies := 0
	if form.Body != nil {
		x.Body = form.Body
		bodies++
	}
	if form.Text != nil {
		x.Body = []byte(*form.Text)
		bodies++
	}
	if form.Base64 != nil {
		if x.Body, err = base64.StdEncoding.Strict().DecodeString(*form.Base64); err != nil {
			return x, errBase64
		}
		bodies++
	}
	if bodies > 1 {
		return x, errors.New("a request has one body")
	}
	const most = int64(1) << 52
	last := at
	after := func(us int64, from time.Duration) (time.Duration, error) {
		if us < 0 || us > most {
			return 0, fmt.Errorf("%d microseconds after what came before cannot be", us)
		}
		return from + time.Duration(us)*time.Microsecond, nil
	}
	if x.Answered, err = after(form.Answered, at); err != nil {
		return x, err
	}
	last = x.Answered
	x.Pieces = make([]Piece, len(form.Pieces))
	for i, p := range form.Pieces {
		if last, err = after(p.gap, last); err != nil {
			return x, err
		}
		if last.Microseconds() > most {
			return x, errors.New("its pieces come too late")
		}
		x.Pieces[i] = Piece{last, p.bytes}
	}
	if x.Ended, err = after(form.Ended, at); err != nil {
		return x, err
	}
	return x, nil
}

func fieldsOf(list []textField) []Field {
	var out []Field
	for _, f := range list {
		out = append(out, Field(f))
	}
	return out
}

// exchange writes the line of an exchange.
func (t *textWriter) exchange(x *Exchange) error {
	t.head("exchange", x.Time)
	b := append(t.buf[:0], `{"route":`...)
	b = appendString(b, string(x.Route))
	for _, p := range [][2]string{{"proto", x.Proto}, {"method", x.Method}, {"url", x.URL}} {
		b = append(append(append(b, `,"`...), p[0]...), `":`...)
		b = appendString(b, p[1])
	}
	b = appendFields(b, "header", x.Header)
	b = appendBody(b, x.Body)
	if x.Status != 0 || x.Answered != 0 {
		b = appendNumber(b, "status", int64(x.Status))
		b = appendNumber(b, "answered", since(x.Answered, x.Time))
		b = appendFields(b, "answer", x.Answer)
	}
	if len(x.Pieces) > 0 {
		b = append(b, `,"pieces":[`...)
		last := x.Answered
		for i, p := range x.Pieces {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(b, '[')
			b = strconv.AppendInt(b, (p.Time - last).Microseconds(), 10)
			b = append(b, ',')
			b = append(appendBytes(b, p.Bytes), ']')
			last = p.Time
			if len(b) > 1<<20 {
				t.out.Write(b)
				b = b[:0]
			}
		}
		b = append(b, ']')
	}
	b = appendFields(b, "trailer", x.Trailer)
	if x.End != "" {
		b = append(b, `,"end":`...)
		b = appendString(b, string(x.End))
		b = appendNumber(b, "ended", since(x.Ended, x.Time))
	}
	if x.Error != "" {
		b = append(b, `,"error":`...)
		b = appendString(b, x.Error)
	}
	if x.Omitted != 0 {
		b = appendNumber(b, "omitted", x.Omitted)
	}
	t.out.Write(append(b, '}'))
	if t.buf = b[:0]; cap(t.buf) > 1<<20 {
		t.buf = nil
	}
	return t.tail(LF)
}

func appendNumber(b []byte, name string, n int64) []byte {
	b = append(append(append(b, `,"`...), name...), `":`...)
	return strconv.AppendInt(b, n, 10)
}

func appendString(b []byte, s string) []byte {
	return append(appendText(append(b, '"'), []byte(s)), '"')
}

func appendBase64(b, p []byte) []byte {
	return append(base64.StdEncoding.AppendEncode(append(b, '"'), p), '"')
}

// appendBytes appends bytes as text where they are, and where that is not much
// longer than they are, else as base64.
func appendBytes(b, p []byte) []byte {
	if had := len(b); utf8.Valid(p) {
		if b = append(appendText(append(b, '"'), p), '"'); len(b)-had <= 2*len(p)+16 {
			return b
		}
		b = b[:had]
	}
	return append(appendBase64(append(b, `{"base64":`...), p), '}')
}

// appendFields appends the member that holds header lines, if there are any.
func appendFields(b []byte, name string, list []Field) []byte {
	if len(list) == 0 {
		return b
	}
	b = append(append(append(b, `,"`...), name...), `":[`...)
	for i, f := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendBytes(append(b, '['), []byte(f.Name))
		b = append(appendBytes(append(b, ','), []byte(f.Value)), ']')
	}
	return append(b, ']')
}

// appendBody appends the member that holds a request's body, if it has one.
func appendBody(b, body []byte) []byte {
	if len(body) == 0 {
		return b
	}
	test := encodingTest{json: jsonScanner{outer: 1}}
	test.add(body)
	switch test.form() {
	case asJSON:
		return append(append(b, `,"body":`...), body...)
	case asText:
		had := len(b)
		b = append(appendText(append(b, `,"body:text":"`...), body), '"')
		if len(b)-had <= 2*len(body)+32 {
			return b
		}
		b = b[:had]
	}
	return appendBase64(append(b, `,"body:base64":`...), body)
}

// textCount is the proof of the exchanges.
type textCount struct {
	Count int64  `json:"count"`
	Bytes int64  `json:"bytes"`
	Hash  string `json:"hash"`
}

func textCountOf(c Chain) *textCount {
	if c.Frames == 0 {
		return nil
	}
	return &textCount{c.Frames, c.Bytes, hex.EncodeToString(c.Hash[:])}
}

func (t *textCount) chain() (c Chain, err error) {
	if t == nil {
		return c, nil
	}
	list, err := textChains{In: &textChain{t.Count, t.Bytes, t.Hash}}.chains()
	return list[In], err
}
