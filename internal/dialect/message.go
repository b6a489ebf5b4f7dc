package dialect

import (
	"slices"
	"strings"
)

// Message is an LLM message as it stands in a frame or an HTTP body, in the
// shape of OpenAI and its kin: a role with content, parts, tool calls or the
// result of one.
type Message struct {
	Span               // where it stands
	Role      string   // "system", "user", "assistant", "developer", "tool", or another word of the protocol
	Text      string   // what it says: the content, or the text parts joined by line breaks
	Reasoning string   // what the model thought
	Parts     []Part   // multimodal parts, in order, text parts too
	Calls     []Called // tool calls that the assistant asks for
	CallID    string   // of a tool's result: the call that it answers
	Tool      string   // of a tool's result: the name of the tool, where the call was seen
	Failed    bool     // of a tool's result

	said []string // the texts of Text
}

// Called is a tool call within a message.
type Called struct {
	ID, Name string
	Args     string // raw JSON; of a string that holds JSON, what it holds
	Answered bool   // a result with its id came later
}

// Part is one part of a message's content.
type Part struct {
	Kind   string  // "text", "image", "image_url", "document", "video", "video_url", "audio", ...
	Text   string  // of text
	URL    string  // of a link, not of a data URL
	Binary *Binary // what it holds, when that is bytes
}

// String returns the part as people read it: text as it is, a link as its kind
// and address, bytes as their description.
func (p Part) String() string {
	switch {
	case p.Binary != nil:
		return "[" + p.Binary.String() + "]"
	case p.URL != "":
		return "[" + p.Kind + " " + p.URL + "]"
	case p.Text != "" || slices.Contains(textKinds, p.Kind):
		return p.Text
	}
	return "[" + p.Kind + "]"
}

// Bounds of what is looked for.
const (
	maxMessages     = 10000
	maxParts        = 1000
	maxMessageDepth = 24
)

var (
	textKinds    = []string{"text", "input_text", "output_text"}
	callItems    = []string{"function_call", "custom_tool_call"}
	resultItems  = []string{"function_call_output", "custom_tool_call_output"}
	messageRoles = []string{"system", "user", "assistant", "developer", "tool", "function", "model", "toolResult"}
	// rustRoles are the names of messages that are written as {"User": {...}}.
	rustRoles = map[string]string{"System": "system", "User": "user", "Assistant": "assistant", "Developer": "developer", "Tool": "tool"}
)

// Messages returns the LLM messages in a JSON value wherever they stand, in
// order; a message within a message is not looked for. Calls and results are
// paired by id. Strings share memory with raw. Of what is not JSON there are
// none.
func Messages(raw []byte) []Message {
	if !Valid(raw) {
		return nil
	}
	m := finding{raw: raw}
	m.look(space(raw, 0), 0)
	m.pair()
	return m.found
}

type finding struct {
	raw   []byte
	found []Message
}

// look takes the value at i if it is a message, or looks into it.
func (m *finding) look(i, depth int) {
	if depth > maxMessageDepth || len(m.found) >= maxMessages || m.raw[i] != '{' && m.raw[i] != '[' {
		return
	}
	end := skip(m.raw, i, 0)
	value := m.raw[i:end]
	if value[0] == '{' {
		if msg, ok := readMessage(value); ok {
			msg.Span = Span{i, end}
			m.found = append(m.found, msg)
			return
		}
	}
	eachMemberOf(value, func(_ string, s Span) bool {
		m.look(i+s.Start, depth+1)
		return len(m.found) < maxMessages
	})
}

// pair says of each result which tool it is of, and of each call whether it was
// answered.
func (m *finding) pair() {
	calls := map[string]*Called{}
	for i := range m.found {
		msg := &m.found[i]
		if c := calls[msg.CallID]; msg.CallID != "" && c != nil {
			msg.Tool, c.Answered = or(msg.Tool, c.Name), true
		}
		for k := range msg.Calls {
			if c := &msg.Calls[k]; c.ID != "" {
				calls[c.ID] = c
			}
		}
	}
}

// readMessage reads an object as a message.
func readMessage(object []byte) (Message, bool) {
	var msg Message
	var members struct{ content, parts, calls, role, item bool }
	only, kind, n := "", "", 0
	eachMemberOf(object, func(key string, s Span) bool {
		n++
		if n == 1 {
			only = key
		}
		switch key {
		case "role", "kind":
			word := decodeIf(object[s.Start:s.End])
			if !members.role && slices.Contains(messageRoles, word) {
				msg.Role, members.role = word, true
			}
		case "content":
			members.content = true
		case "parts":
			members.parts = true
		case "tool_calls", "tool_call_id", "toolCallId":
			members.calls = true
		case "call_id":
			members.item = true
		case "type":
			kind = decodeIf(object[s.Start:s.End])
		}
		return true
	})
	if role, ok := rustRoles[only]; ok && n == 1 {
		inner := firstMember(object)
		if len(inner) > 0 && inner[0] == '{' {
			msg.Role = role
			msg.read(inner)
			return msg, true
		}
	}
	if members.item && !members.role {
		return itemMessage(kind, object)
	}
	if !members.role || !members.content && !members.parts && !members.calls {
		return msg, false
	}
	msg.read(object)
	return msg, true
}

// itemMessage reads an item of OpenAI's Responses that stands beside messages
// and is none: a tool call, or the result of one.
func itemMessage(kind string, object []byte) (Message, bool) {
	var msg Message
	switch {
	case slices.Contains(callItems, kind):
		msg.Role = "assistant"
		msg.call(object)
		// Its id is the item's; results name the call's.
		eachMemberOf(object, func(key string, s Span) bool {
			if key == "call_id" && len(msg.Calls) > 0 {
				msg.Calls[0].ID = decodeIf(object[s.Start:s.End])
			}
			return true
		})
	case slices.Contains(resultItems, kind):
		msg.Role = "tool"
		msg.result(object)
		msg.Text, msg.said = strings.Join(msg.said, "\n"), nil
	}
	return msg, msg.Role != "" && len(msg.Calls)+len(msg.CallID) > 0
}

// read takes the members of a message.
func (m *Message) read(object []byte) {
	eachMemberOf(object, func(key string, s Span) bool {
		token := object[s.Start:s.End]
		switch key {
		case "content", "parts":
			m.content(token)
		case "reasoning", "reasoning_content", "thinking":
			m.Reasoning = or(m.Reasoning, decodeIf(token))
		case "tool_calls":
			if token[0] == '[' {
				eachMemberOf(token, func(_ string, s Span) bool {
					m.call(token[s.Start:s.End])
					return true
				})
			}
		case "tool_call_id", "toolCallId":
			m.CallID = or(m.CallID, decodeIf(token))
		case "name", "toolName", "tool_name": // the last of Ollama
			m.Tool = or(m.Tool, decodeIf(token))
		case "isError", "is_error":
			m.Failed = m.Failed || string(token) == "true"
		case "success":
			m.Failed = m.Failed || string(token) == "false"
		case "output":
			m.say(decodeIf(token))
		}
		return true
	})
	m.Text, m.said = strings.Join(m.said, "\n"), nil
	if m.Role != "tool" && m.Role != "toolResult" && m.CallID == "" {
		m.Tool = ""
	}
}

// content takes a message's content or parts: a string, or a list of parts.
func (m *Message) content(token []byte) {
	switch token[0] {
	case '"':
		m.say(decode(token))
	case '{':
		m.part(token)
	case '[':
		eachMemberOf(token, func(_ string, s Span) bool {
			m.part(token[s.Start:s.End])
			return true
		})
	}
}
