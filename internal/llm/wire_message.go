package llm

import (
	"encoding/json"

	"agentrec/internal/dialect"

	"github.com/tidwall/gjson"
)

// maxMessages bounds the messages of a request.
const maxMessages = 10000

// messageBuilder writes the messages of a request as JSON in the one shape that
// dialect.Messages reads, so that all wires give the same messages.
type messageBuilder struct {
	out []byte
	n   int
}

// raw adds a message as it stands.
func (b *messageBuilder) raw(message string) {
	if b.n > 0 {
		b.out = append(b.out, ',')
	}
	b.out = append(b.out, message...)
	b.n++
}

// said adds a message with this content: a string or a list of parts.
func (b *messageBuilder) said(role string, content gjson.Result) {
	b.raw(`{"role":` + jsonQuote(role) + `,"content":` + content.Raw + `}`)
}

// part adds a message with one part.
func (b *messageBuilder) part(role, part string) {
	b.raw(`{"role":` + jsonQuote(role) + `,"content":[` + part + `]}`)
}

// thought adds a message of the model that only thinks.
func (b *messageBuilder) thought(s string) {
	if s != "" {
		b.raw(`{"role":"assistant","content":[],"reasoning":` + jsonQuote(s) + `}`)
	}
}

// called adds a message of the model that calls a tool.
func (b *messageBuilder) called(id, name, args string) {
	b.raw(`{"role":"assistant","content":[],"tool_calls":[{"id":` + jsonQuote(id) + `,"name":` + jsonQuote(name) + `,"arguments":` + jsonQuote(args) + `}]}`)
}

// result adds the result of a call.
func (b *messageBuilder) result(id, tool string, content gjson.Result) {
	raw := content.Raw
	switch {
	case raw == "":
		raw = `""`
	case content.Type != gjson.String && !content.IsArray():
		raw = jsonQuote(raw)
	}
	b.raw(`{"role":"tool","tool_call_id":` + jsonQuote(id) + `,"name":` + jsonQuote(tool) + `,"content":` + raw + `}`)
}

// split adds a message, less the parts of its content that apart has added as
// messages of their own.
func (b *messageBuilder) split(message, content gjson.Result, apart func(part gjson.Result) bool) {
	role := firstOf(stringOf(message.Get("role")), "user")
	if !content.IsArray() {
		b.said(role, content)
		return
	}
	var rest []byte
	content.ForEach(func(_, p gjson.Result) bool {
		if b.n < maxMessages && apart(p) {
			return true
		}
		if len(rest) > 0 {
			rest = append(rest, ',')
		}
		rest = append(rest, p.Raw...)
		return true
	})
	if len(rest) > 0 || content.Raw == "[]" {
		b.raw(`{"role":` + jsonQuote(role) + `,"content":[` + string(rest) + `]}`)
	}
}

func (b *messageBuilder) messages() []dialect.Message {
	if b.n == 0 {
		return nil
	}
	return dialect.Messages(append(append([]byte{'['}, b.out...), ']'))
}

func jsonQuote(s string) string {
	j, err := json.Marshal(s)
	if err != nil {
		return `""` // a string always has a JSON form
	}
	return string(j)
}
