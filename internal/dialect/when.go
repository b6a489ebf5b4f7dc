package dialect

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// when is what must hold of a frame, in the order of the file.
type when []test

// test is one condition on one place.
type test struct {
	line int
	path string
	cond cond
}

// cond is a condition on a JSON token that may be absent.
type cond struct {
	kind condKind
	any  []value // equal: one of these
	text string  // starts
	not  *cond
}

type condKind uint8

const (
	condEqual condKind = iota
	condIs
	condStarts
	condNot
)

// value is a scalar of a table: a string, or the raw token of anything else.
type value struct {
	text   string
	string bool
}

// kinds are the words that "is" takes.
var kinds = []string{"present", "absent", "string", "text", "number", "integer", "boolean", "object", "array", "null", "set"}

func (w *when) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind != yaml.MappingNode {
		return atLine(n, "write conditions as a mapping, such as {type: hello}")
	}
	for i := 0; i < len(n.Content); i += 2 {
		t := test{line: n.Content[i].Line, path: n.Content[i].Value}
		if err := t.cond.UnmarshalYAML(n.Content[i+1]); err != nil {
			return err
		}
		*w = append(*w, t)
	}
	return nil
}

func (c *cond) UnmarshalYAML(n *yaml.Node) error {
	switch n.Kind {
	case yaml.ScalarNode:
		c.any = []value{scalar(n)}
		return nil
	case yaml.SequenceNode:
		for _, m := range n.Content {
			if m.Kind != yaml.ScalarNode {
				return atLine(m, "write a value here, not a list or a mapping")
			}
			c.any = append(c.any, scalar(m))
		}
		return nil
	case yaml.MappingNode:
		if len(n.Content) != 2 {
			return atLine(n, "write one condition here: {is: KIND}, {starts: TEXT} or {not: CONDITION}")
		}
		key, arg := n.Content[0], n.Content[1]
		switch key.Value {
		case "is":
			c.kind, c.text = condIs, arg.Value
			if !slices.Contains(kinds, arg.Value) {
				return atLine(arg, "a value cannot be %q; %s", arg.Value, Suggest(arg.Value, kinds))
			}
			return nil
		case "starts":
			c.kind, c.text = condStarts, arg.Value
			return nil
		case "not":
			c.kind, c.not = condNot, new(cond)
			return c.not.UnmarshalYAML(arg)
		}
		return atLine(key, "a condition has no key %q; %s", key.Value, Suggest(key.Value, []string{"is", "starts", "not"}))
	}
	return atLine(n, "write a value, a list of values or a condition such as {is: present}")
}

func scalar(n *yaml.Node) value {
	if n.Tag == "!!null" {
		return value{text: "null"}
	}
	return value{text: n.Value, string: n.Tag == "!!str"}
}

// String returns the conditions in words.
func (w when) String() string {
	parts := make([]string, len(w))
	for i, t := range w {
		parts[i] = t.path + t.cond.String()
	}
	return strings.Join(parts, ", ")
}

func (c *cond) String() string {
	switch c.kind {
	case condIs:
		return " is " + c.text
	case condStarts:
		return " starts with " + c.text
	case condNot:
		return " not" + c.not.String()
	}
	parts := make([]string, len(c.any))
	for i, v := range c.any {
		parts[i] = v.text
	}
	return "=" + strings.Join(parts, "|")
}

// holds reports whether the condition holds for a token; nil is absence.
func (c *cond) holds(token []byte) bool {
	switch c.kind {
	case condIs:
		return isKind(token, c.text)
	case condStarts:
		return len(token) > 0 && token[0] == '"' && strings.HasPrefix(decode(token), c.text)
	case condNot:
		return !c.not.holds(token)
	}
	for i := range c.any {
		if c.any[i].equals(token) {
			return true
		}
	}
	return false
}

func (v *value) equals(token []byte) bool {
	if !v.string {
		return string(token) == v.text
	}
	if len(token) < 2 || token[0] != '"' {
		return false
	}
	if len(token) == len(v.text)+2 && string(token[1:len(token)-1]) == v.text {
		return true
	}
	return len(token) > len(v.text)+2 && decode(token) == v.text
}

// isKind reports whether a token is of a kind; nil is absence.
func isKind(token []byte, kind string) bool {
	if len(token) == 0 {
		return kind == "absent"
	}
	switch kind {
	case "present":
		return true
	case "string":
		return token[0] == '"'
	case "text":
		return token[0] == '"' && len(token) > 2
	case "object":
		return token[0] == '{'
	case "array":
		return token[0] == '['
	case "boolean":
		return token[0] == 't' || token[0] == 'f'
	case "null":
		return token[0] == 'n'
	case "number":
		return token[0] == '-' || '0' <= token[0] && token[0] <= '9'
	case "integer":
		return isKind(token, "number") && !strings.ContainsAny(share(token), ".eE")
	case "set": // neither null, false nor empty
		switch string(token) {
		case "null", "false", `""`, "[]", "{}":
			return false
		}
		return true
	}
	return false
}
