package dialect

import (
	"slices"
	"strings"
)

// eachMemberOf calls do with the key (or "") and the place of each member of a
// valid container.
func eachMemberOf(raw []byte, do func(key string, s Span) bool) {
	object := raw[0] == '{'
	for i := 0; ; {
		i = space(raw, i+1) // after the bracket or a comma
		key := ""
		if object {
			end := -1
			if i < len(raw) && raw[i] == '"' {
				end = stringEnd(raw, i)
			}
			if end < 0 {
				return
			}
			key = decode(raw[i:end])
			i = space(raw, space(raw, end)+1)
		}
		end := skip(raw, i, 0)
		if end < 0 || !do(key, Span{i, end}) {
			return
		}
		if i = space(raw, end); i >= len(raw) || raw[i] != ',' {
			return
		}
	}
}

func firstMember(object []byte) []byte {
	var out []byte
	eachMemberOf(object, func(_ string, s Span) bool {
		out = object[s.Start:s.End]
		return false
	})
	return out
}

func decodeIf(token []byte) string {
	if len(token) > 1 && token[0] == '"' {
		return decode(token)
	}
	return ""
}

// call takes a tool call: OpenAI's {id, function: {name, arguments}}, the flat
// {id, name, arguments} of others, or the array [id, name, arguments].
func (m *Message) call(token []byte) {
	var c Called
	var take func(key string, t []byte)
	take = func(key string, t []byte) {
		switch key {
		case "id", "call_id", "0":
			c.ID = or(c.ID, decodeIf(t))
		case "name", "1":
			c.Name = or(c.Name, decodeIf(t))
		case "arguments", "input", "args", "2":
			if c.Args == "" {
				c.Args = argsOf(t)
			}
		case "function":
			if t[0] == '{' {
				eachMemberOf(t, func(key string, s Span) bool {
					if key != "id" {
						take(key, t[s.Start:s.End])
					}
					return true
				})
			}
		}
	}
	if token[0] != '{' && token[0] != '[' {
		return
	}
	n := 0
	eachMemberOf(token, func(key string, s Span) bool {
		if token[0] == '[' {
			key = string(rune('0' + min(n, 9)))
			n++
		}
		take(key, token[s.Start:s.End])
		return true
	})
	if c.ID != "" || c.Name != "" {
		m.Calls = append(m.Calls, c)
	}
}

// unquoted returns arguments as JSON: a string that holds an object or an array
// is taken out of its quotes.
func unquoted(token []byte) string {
	if len(token) >= 4 && token[0] == '"' && (token[1] == '{' || token[1] == '[') {
		if s := decode(token); Valid([]byte(s)) {
			return s
		}
	}
	return share(token)
}

// argsOf returns arguments as JSON: a string that holds JSON is taken out of
// its quotes.
func argsOf(token []byte) string {
	if s := decodeIf(token); s != "" && Valid([]byte(s)) {
		return s
	}
	return share(token)
}

// part takes one part of a content list.
func (m *Message) part(token []byte) {
	if token[0] == '"' {
		m.say(decode(token))
		return
	}
	if token[0] != '{' || len(m.Parts) >= maxParts {
		return
	}
	p := Part{}
	var call, result []byte
	eachMemberOf(token, func(key string, s Span) bool {
		t := token[s.Start:s.End]
		switch key {
		case "type":
			p.Kind = or(p.Kind, decodeIf(t))
		case "text", "input_text", "output_text":
			p.Text = or(p.Text, decodeIf(t))
		case "thinking", "reasoning":
			m.Reasoning = or(m.Reasoning, decodeIf(t))
		case "url", "image_url", "video_url", "file_uri", "uri":
			p.URL = or(p.URL, urlOf(t))
		case "source":
			p.URL = or(p.URL, urlOf(t))
		case "functionCall":
			call = t
		case "functionResponse":
			result = t
		}
		return true
	})
	switch p.Kind {
	case "tool_use", "toolCall", "tool_call", "function_call":
		call = token
	case "tool_result", "function_call_output":
		result = token
	case "thinking", "redacted_thinking", "reasoning":
		return
	}
	switch {
	case call != nil:
		m.call(call)
		return
	case result != nil:
		m.result(result)
		return
	case p.Kind == "" && p.Text != "":
		p.Kind = "text"
	}
	if found := Binaries(token); len(found) > 0 {
		b := found[0]
		p.Binary, p.URL = &b, ""
	}
	p.Kind = or(p.Kind, "part")
	if p.Text != "" && p.Binary == nil {
		m.say(p.Text)
	}
	m.Parts = append(m.Parts, p)
}

// result takes a tool's result that stands as a part of a user's message.
func (m *Message) result(token []byte) {
	eachMemberOf(token, func(key string, s Span) bool {
		t := token[s.Start:s.End]
		switch key {
		case "tool_use_id", "tool_call_id", "call_id":
			m.CallID = or(m.CallID, decodeIf(t))
		case "content", "output", "response":
			m.content(t)
		case "is_error":
			m.Failed = m.Failed || string(t) == "true"
		case "name":
			m.Tool = or(m.Tool, decodeIf(t))
		}
		return true
	})
}

// say adds a text to what the message says. The whole content often stands
// beside its parts: a text that is there already is not said again.
func (m *Message) say(s string) {
	if s != "" && len(m.said) < maxParts && !slices.Contains(m.said, s) {
		m.said = append(m.said, s)
	}
}

// urlOf returns the address of a part: a string, or the url of an object; never
// that of a data URL.
func urlOf(token []byte) string {
	s := decodeIf(token)
	if token[0] == '{' {
		eachMemberOf(token, func(key string, span Span) bool {
			if key == "url" {
				s = decodeIf(token[span.Start:span.End])
			}
			return s == ""
		})
	}
	if strings.HasPrefix(s, "data:") {
		return ""
	}
	return s
}

// partText returns a content part as people read it; ok is false for an object
// that is no part.
func partText(token []byte) (text string, ok bool) {
	if len(token) == 0 || token[0] != '{' {
		return "", false
	}
	var m Message
	m.part(token)
	if len(m.Parts) != 1 || m.Parts[0].Kind == "part" {
		return "", false
	}
	p := m.Parts[0]
	return p.String(), slices.Contains(textKinds, p.Kind) || p.Text != "" || p.URL != "" || p.Binary != nil || slices.Contains(binaryKinds, p.Kind)
}
