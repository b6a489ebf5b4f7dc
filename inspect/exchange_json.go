package inspect

import (
	"encoding/base64"
	"encoding/json"
	"time"
	"unicode/utf8"

	"agentrec/internal/dialect"
	"agentrec/internal/llm"
	"agentrec/store"
)

// jsonExchange is an exchange as show --json prints it. Its names are documented
// in the help of show and stay as they are.
type jsonExchange struct {
	Object   string `json:"object"` // "exchange"
	Number   int64  `json:"number"`
	After    int64  `json:"after"` // the frame before it
	Turn     int    `json:"turn,omitempty"`
	TimeUS   int64  `json:"time_us"`
	Route    string `json:"route"`
	Method   string `json:"method"`
	URL      string `json:"url"`
	Host     string `json:"host"`
	Proto    string `json:"proto"`
	Status   int    `json:"status"` // 0 without an answer
	End      string `json:"end"`    // "open", "done", "cut", "cancelled", "failed"
	Attempt  int    `json:"attempt"`
	Attempts int    `json:"attempts"`
	TTFBUS   *int64 `json:"ttfb_us,omitempty"`
	TokenUS  *int64 `json:"first_token_us,omitempty"`
	TookUS   *int64 `json:"took_us,omitempty"` // absent while open
	Sent     int64  `json:"request_bytes"`
	Received int64  `json:"answer_bytes"`
	Omitted  int64  `json:"omitted_bytes,omitempty"`

	Wire        string        `json:"wire"` // "" where it is not understood
	Operation   string        `json:"operation,omitempty"`
	Model       string        `json:"model,omitempty"`
	AnswerModel string        `json:"answer_model,omitempty"`
	AnswerID    string        `json:"answer_id,omitempty"`
	Messages    int           `json:"messages"` // how many the request has
	New         []jsonMessage `json:"new"`      // those that no request before had; with --exchange all
	Tools       []string      `json:"tools,omitempty"`
	Text        string        `json:"text,omitempty"`
	Thought     string        `json:"thought,omitempty"`
	Calls       []jsonCalled  `json:"calls,omitempty"`
	Finish      string        `json:"finish,omitempty"`
	Usage       *jsonTokens   `json:"usage,omitempty"`
	Models      []string      `json:"models,omitempty"`
	Vectors     int           `json:"vectors,omitempty"`
	Dimensions  int           `json:"dimensions,omitempty"`
	Streamed    bool          `json:"streamed"`
	Events      int           `json:"events,omitempty"`
	Unfinished  bool          `json:"unfinished,omitempty"` // the stream lacks its end
	Error       string        `json:"error,omitempty"`
	ErrorKind   string        `json:"error_kind,omitempty"`

	Request *jsonBody `json:"request,omitempty"` // with --exchange only
	Answer  *jsonBody `json:"answer,omitempty"`
}

type jsonMessage struct {
	Role      string       `json:"role"`
	Text      string       `json:"text,omitempty"`
	Reasoning string       `json:"reasoning,omitempty"`
	Parts     []string     `json:"parts,omitempty"` // what is no text: a description of each
	Calls     []jsonCalled `json:"calls,omitempty"`
	CallID    string       `json:"call_id,omitempty"` // of a result
	Tool      string       `json:"tool,omitempty"`
	Failed    bool         `json:"failed,omitempty"`
}

type jsonCalled struct {
	ID   string          `json:"id,omitempty"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args,omitempty"`
	Text string          `json:"args_text,omitempty"` // of what is no JSON
}

type jsonTokens struct {
	Input      int64   `json:"input"`
	Output     int64   `json:"output"`
	Cached     int64   `json:"cached"`
	CacheWrite int64   `json:"cache_write"`
	Reasoning  int64   `json:"reasoning"`
	Cost       float64 `json:"cost,omitempty"`
}

// jsonBody is one side of an exchange: its header and its body, decoded, in one
// of three forms.
type jsonBody struct {
	Header  [][2]string     `json:"header"`
	Trailer [][2]string     `json:"trailer,omitempty"`
	Body    json.RawMessage `json:"body,omitempty"`
	Text    *string         `json:"text,omitempty"`
	Base64  *string         `json:"base64,omitempty"`
	Pieces  []jsonPiece     `json:"pieces,omitempty"`
}

type jsonPiece struct {
	TimeUS int64 `json:"time_us"`
	Bytes  int   `json:"bytes"`
}

// exchangeJSON returns an exchange for --json; turn is an index, -1 outside.
func exchangeJSON(x *exchange, turn int) jsonExchange {
	h, r := &x.Head, &x.Told
	host, _ := x.place()
	j := jsonExchange{
		Object: "exchange", Number: h.Number, After: h.After, Turn: turn + 1, TimeUS: micros(h.Time), Route: string(h.Route), Method: h.Method, URL: h.URL, Host: host,
		Proto: h.Proto, Status: h.Status, End: string(h.End), Attempt: max(h.Attempt, 1), Attempts: x.Of, TTFBUS: microsIf(r.FirstByte),
		TokenUS: microsIf(r.FirstToken), TookUS: microsIf(r.Took), Sent: h.Sent, Received: h.Received, Omitted: h.Omitted,
		Wire: string(r.Wire), Operation: r.Operation, Model: r.Model, AnswerModel: r.AnswerModel, AnswerID: r.ID, Messages: x.Messages, New: []jsonMessage{},
		Text: r.Text, Thought: r.Thought, Calls: calledJSON(r.Calls), Finish: r.Finish, Models: r.Models, Vectors: r.Vectors, Dimensions: r.Dimensions,
		Streamed: r.Streamed, Events: r.Events, Unfinished: r.Unfinished && h.End != "", Error: r.Error, ErrorKind: r.ErrorKind,
	}
	if j.End == "" {
		j.End = "open"
	}
	if h.Error != "" {
		j.Error = h.Error
	}
	if u := r.Usage; u.Known {
		j.Usage = &jsonTokens{u.Input, u.Output, u.Cached, u.CacheWrite, u.Reasoning, u.Cost}
	}
	for _, t := range r.Tools {
		j.Tools = append(j.Tools, t.Name)
	}
	for _, m := range r.Messages {
		j.New = append(j.New, messageJSON(m))
	}
	return j
}

func microsIf(d time.Duration) *int64 {
	if d < 0 {
		return nil
	}
	us := micros(d)
	return &us
}

func messageJSON(m dialect.Message) jsonMessage {
	j := jsonMessage{Role: m.Role, Text: m.Text, Reasoning: m.Reasoning, Calls: calledJSON(m.Calls), CallID: m.CallID, Tool: m.Tool, Failed: m.Failed}
	for _, p := range m.Parts {
		if p.Binary != nil || p.Text == "" {
			j.Parts = append(j.Parts, p.String())
		}
	}
	return j
}

func calledJSON(list []dialect.Called) []jsonCalled {
	var out []jsonCalled
	for _, c := range list {
		j := jsonCalled{ID: c.ID, Name: c.Name, Args: rawJSON(c.Args)}
		if j.Args == nil {
			j.Text = c.Args
		}
		out = append(out, j)
	}
	return out
}

func bodyJSON(header, trailer []store.Field, raw []byte) *jsonBody {
	j := &jsonBody{Header: fieldsJSON(header), Trailer: fieldsJSON(trailer)}
	body := llm.Decoded(raw, header)
	switch {
	case len(body) == 0:
	case !utf8.Valid(body):
		text := base64.StdEncoding.EncodeToString(body)
		j.Base64 = &text
	case dialect.Valid(body):
		j.Body = body
	default:
		text := string(body)
		j.Text = &text
	}
	return j
}

func fieldsJSON(list []store.Field) [][2]string {
	out := make([][2]string, 0, len(list))
	for _, f := range list {
		out = append(out, [2]string{f.Name, f.Value})
	}
	return out
}
