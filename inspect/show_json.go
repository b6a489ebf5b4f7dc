package inspect

import (
	"encoding/base64"
	"encoding/json"
	"time"
	"unicode/utf8"

	"agentrec/internal/dialect"
	"agentrec/internal/transcript"
	"agentrec/store"
)

// The JSON objects of show: one a line, told apart by "object". Names stay as
// they are once released; new ones may join.

type jsonFrame struct {
	Object       string          `json:"object"` // "frame"
	Seq          int64           `json:"seq"`
	Stream       string          `json:"stream"`
	TimeUS       int64           `json:"time_us"`
	Bytes        int64           `json:"bytes"`
	Terminator   string          `json:"terminator"` // "lf", "crlf", "none"
	Label        string          `json:"label"`
	Role         string          `json:"role"`
	Shows        string          `json:"shows,omitempty"`
	ID           json.RawMessage `json:"id,omitempty"`
	Conversation string          `json:"conversation,omitempty"`
	Failed       bool            `json:"failed,omitempty"`
	Frame        json.RawMessage `json:"frame,omitempty"`  // one JSON value
	Text         *string         `json:"text,omitempty"`   // any other valid UTF-8
	Base64       *string         `json:"base64,omitempty"` // any other bytes; absent for a giant
}

type jsonEvent struct {
	Object string      `json:"object"` // "event"
	After  int64       `json:"after"`
	TimeUS int64       `json:"time_us"`
	Kind   string      `json:"kind"`
	Stream string      `json:"stream,omitempty"`
	Signal string      `json:"signal,omitempty"`
	Exit   *store.Exit `json:"exit,omitempty"`
	Bytes  int64       `json:"bytes,omitempty"`
	Detail string      `json:"detail,omitempty"`
}

type jsonItem struct {
	Object       string          `json:"object"` // "item"
	Index        int             `json:"index"`
	Kind         string          `json:"kind"`
	Seq          int64           `json:"seq"`
	Last         int64           `json:"last"`
	Answer       int64           `json:"answer,omitempty"` // frame of the result or response
	TimeUS       int64           `json:"time_us"`
	TookUS       *int64          `json:"took_us,omitempty"` // absent while the answer is missing
	Turn         int             `json:"turn,omitempty"`    // from 1; absent outside
	Conversation string          `json:"conversation,omitempty"`
	Label        string          `json:"label,omitempty"`
	Stream       string          `json:"stream"`
	Frames       int64           `json:"frames"`
	Bytes        int64           `json:"bytes"`
	ID           string          `json:"id,omitempty"`
	Name         string          `json:"name,omitempty"`
	Failed       bool            `json:"failed"`
	Text         string          `json:"text,omitempty"`
	Args         json.RawMessage `json:"args,omitempty"`
	AnswerText   string          `json:"answer_text,omitempty"`
	Cut          bool            `json:"cut,omitempty"` // a text is longer than shown here
	Event        *jsonEvent      `json:"event,omitempty"`
}

type jsonOutcome struct {
	Object  string  `json:"object"` // "session"
	Session summary `json:"session"`
	transcript.Outcome
	Exchanges jsonCounts `json:"exchanges"`
}

// jsonCounts says how LLM exchanges went.
type jsonCounts struct {
	Count   int `json:"count"`
	Failed  int `json:"failed"`
	Retries int `json:"retries"`
	Open    int `json:"open"`
}

func micros(d time.Duration) int64 { return d.Microseconds() }

func terminatorName(t store.Terminator) string {
	switch t {
	case store.LF:
		return "lf"
	case store.CRLF:
		return "crlf"
	}
	return "none"
}

func frameJSON(f store.Frame, r dialect.Reading) jsonFrame {
	j := jsonFrame{
		Object: "frame", Seq: f.Seq, Stream: f.Stream.String(), TimeUS: micros(f.Time), Bytes: f.Size, Terminator: terminatorName(f.Term),
		Label: r.Label, Role: transcript.RoleName(r.Role), Shows: string(r.Shows), ID: rawJSON(string(r.ID)), Conversation: r.Conversation, Failed: r.Failed,
	}
	switch {
	case f.Raw == nil && f.Size > 0:
	case !utf8.Valid(f.Raw):
		text := base64.StdEncoding.EncodeToString(f.Raw)
		j.Base64 = &text
	case dialect.Valid(f.Raw):
		j.Frame = f.Raw
	default:
		text := string(f.Raw)
		j.Text = &text
	}
	return j
}

// rawJSON returns text as it is when it is one JSON value, nil when it is not.
func rawJSON(text string) json.RawMessage {
	if text == "" || !dialect.Valid([]byte(text)) {
		return nil
	}
	return json.RawMessage(text)
}

func eventJSON(e *store.Event) *jsonEvent {
	j := &jsonEvent{Object: "event", After: e.After, TimeUS: micros(e.Time), Kind: string(e.Kind), Signal: e.Signal, Exit: e.Exit, Bytes: e.Bytes, Detail: e.Detail}
	switch e.Kind {
	case store.EventEOF, store.EventHangup, store.EventLost:
		j.Stream = e.Stream.String()
	}
	return j
}

func itemJSON(i int, it transcript.Item, c transcript.Content) jsonItem {
	j := jsonItem{
		Object: "item", Index: i, Kind: it.Kind.String(), Seq: it.Seq, Last: it.Last, Answer: it.Answer, TimeUS: micros(it.Time), Turn: it.Turn + 1,
		Conversation: it.Conversation, Label: it.Label, Stream: it.Stream.String(), Frames: it.Frames, Bytes: it.Size, ID: it.ID, Name: it.Name,
		Failed: it.Failed, Text: c.Text, Args: rawJSON(c.Args), AnswerText: c.Answer, Cut: c.Cut,
	}
	if it.Took >= 0 {
		took := micros(it.Took)
		j.TookUS = &took
	}
	if it.Event != nil {
		j.Event = eventJSON(it.Event)
	}
	return j
}

func outcomeJSON(l *look, t *transcript.Transcript, o transcript.Outcome) jsonOutcome {
	m := summarize(l.Session)
	m.count(t)
	return jsonOutcome{Object: "session", Session: m, Outcome: o}
}
