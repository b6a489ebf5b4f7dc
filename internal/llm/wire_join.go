package llm

import (
	"strconv"
	"strings"
	"time"

	"agentrec/internal/dialect"

	"github.com/tidwall/gjson"
)

// joiner puts the answer together from its whole body or its events.
type joiner struct {
	r       *Reading
	when    func(end int) time.Duration
	end     int // offset behind the event at hand
	text    strings.Builder
	thought strings.Builder
	refusal strings.Builder
	calls   []*joinedCall
	byKey   map[string]*joinedCall
	ended   bool            // the stream said that it is over
	texts   map[string]bool // parts of Responses whose text has come
}

// joinedCall is a tool call that comes in pieces.
type joinedCall struct {
	id, name string
	args     strings.Builder
}

// event takes an event of a stream.
func (j *joiner) event(e sseEvent) {
	if string(e.data) == "[DONE]" {
		j.ended = true
		return
	}
	j.data(e.name, e.data, e.end)
}

// data takes the JSON of an event, which ends at this offset of the body.
func (j *joiner) data(name string, data []byte, end int) {
	j.r.Events++
	j.end = end
	data, whole := jsonValue(data)
	if !whole {
		j.r.CutAnswer = true
	}
	if len(data) == 0 {
		return
	}
	v := gjson.ParseBytes(data)
	if name == "error" || v.Get("error").Exists() && v.Get("error").Type != gjson.Null {
		j.r.errorValue(v)
	}
	switch j.r.Wire {
	case WireChat:
		j.chatChunk(v)
	case WireResponses:
		j.responsesEvent(v, name)
	case WireAnthropic:
		j.anthropicEvent(v, name)
	case WireGemini:
		j.gemini(v)
	case WireOllama:
		j.ollama(v)
	}
}

// whole takes an answer that is one JSON value.
func (j *joiner) whole(v gjson.Result) {
	if e := v.Get("error"); e.Exists() && e.Type != gjson.Null {
		j.r.errorValue(v)
	}
	j.ended = true
	switch j.r.Wire {
	case WireChat:
		j.chatWhole(v)
	case WireResponses:
		j.responsesWhole(v)
	case WireAnthropic:
		j.anthropicWhole(v)
	case WireGemini:
		j.gemini(v)
	case WireOllama:
		j.ollama(v)
	case WireEmbeddings:
		j.embeddings(v.Get("data"), "embedding")
		j.chatUsage(v.Get("usage"))
	case WireModels:
		j.models(v)
	}
}

// finish puts what was joined into the reading.
func (j *joiner) finish() {
	r := j.r
	r.Text, r.Thought = j.text.String(), j.thought.String()
	if r.Text == "" {
		r.Text = j.refusal.String()
	}
	for _, c := range j.calls {
		r.Calls = append(r.Calls, dialect.Called{ID: c.id, Name: c.name, Args: c.args.String()})
	}
	// Gemini ends a stream with a finish reason only.
	r.Unfinished = r.Streamed && !j.ended && !(r.Wire == WireGemini && r.Finish != "") && r.Operation == OperationChat
}

// say adds to the text of the answer, think to its thinking.
func (j *joiner) say(s string)   { j.add(&j.text, s) }
func (j *joiner) think(s string) { j.add(&j.thought, s) }

func (j *joiner) add(to *strings.Builder, s string) {
	if s != "" {
		j.begun()
		to.WriteString(s)
	}
}

// begun notes when the first part of the answer proper came.
func (j *joiner) begun() {
	if j.r.Streamed && j.r.FirstToken < 0 {
		j.r.FirstToken = j.when(j.end)
	}
}

// call returns the call with this key, a new one when there is none.
func (j *joiner) call(key string) *joinedCall {
	if c := j.byKey[key]; c != nil {
		return c
	}
	j.begun()
	c := &joinedCall{}
	if len(j.calls) < maxCalls {
		j.calls = append(j.calls, c)
		if j.byKey == nil {
			j.byKey = map[string]*joinedCall{}
		}
		j.byKey[key] = c
	}
	return c
}

// newCall returns a call of its own.
func (j *joiner) newCall(id, name, args string) {
	c := j.call("#" + strconv.Itoa(len(j.calls)))
	c.id, c.name = id, name
	c.args.WriteString(args)
}

// argsOf returns arguments as JSON: those in a string are taken out of it.
func argsOf(v gjson.Result) string {
	if v.Type == gjson.String {
		return v.String()
	}
	return v.Raw
}

func tally(v gjson.Result) int64 { return max(v.Int(), 0) }
