package dialect

import (
	"encoding/json"
	"slices"
	"strings"

	"agentrec/store"

	"go.yaml.in/yaml/v3"
)

// refusal is the shape of the frame that tells a client "no".
type refusal struct {
	text    string     // a JSON literal, when it is neither of the others
	at      *expr      // a place of the request
	keep    bool       // null when the place is absent, instead of leaving it out
	message bool       // the message
	members []member   // an object
	items   []*refusal // an array
	array   bool
}

type member struct {
	key   string
	value *refusal
}

// refusal compiles a shape, nil when the table has none.
func (c *compiler) refusal(n yaml.Node) (*refusal, error) {
	if n.IsZero() {
		return nil, nil
	}
	return c.shape(&n)
}

func (c *compiler) shape(n *yaml.Node) (*refusal, error) {
	switch n.Kind {
	case yaml.MappingNode:
		out := &refusal{members: []member{}}
		for i := 0; i < len(n.Content); i += 2 {
			v, err := c.shape(n.Content[i+1])
			if err != nil {
				return nil, err
			}
			out.members = append(out.members, member{key: n.Content[i].Value, value: v})
		}
		return out, nil
	case yaml.SequenceNode:
		out := &refusal{array: true}
		for _, e := range n.Content {
			v, err := c.shape(e)
			if err != nil {
				return nil, err
			}
			out.items = append(out.items, v)
		}
		return out, nil
	case yaml.ScalarNode:
		return c.shapeScalar(n)
	}
	return nil, atLine(n, "write the shape of the error as a mapping, such as refuse: {type: error, message: \"{message}\"}")
}

func (c *compiler) shapeScalar(n *yaml.Node) (*refusal, error) {
	if n.Tag != "!!str" {
		if !Valid([]byte(n.Value)) {
			return nil, atLine(n, "%q is no JSON value; put it in quotes", n.Value)
		}
		return &refusal{text: n.Value}, nil
	}
	if strings.HasPrefix(n.Value, "{") && strings.HasSuffix(n.Value, "}") {
		path := n.Value[1 : len(n.Value)-1]
		if path == "message" {
			return &refusal{message: true}, nil
		}
		path, keep := strings.CutSuffix(path, "!")
		e, err := c.expr(path)
		if err != nil {
			return nil, err
		}
		return &refusal{at: &e, keep: keep}, nil
	}
	return &refusal{text: string(quote(n.Value))}, nil
}

// quote returns s as a JSON string.
func quote(s string) []byte {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(s) != nil { // a string always encodes
		return []byte(`""`)
	}
	return []byte(strings.TrimSuffix(b.String(), "\n"))
}

// Refuse returns the frame a client gets for a request that a replay cannot
// answer, in the protocol's own error shape, nil when it has none. A place that
// the request does not have is left out, or null where the table says so.
func (d *Dialect) Refuse(request []byte, message string) []byte {
	if out := d.refuse(store.In, request, message, func(r *Rule) *refusal { return r.or(d.refusal) }); out != nil {
		return out
	}
	if d.refusal != nil {
		return d.refusal.append(nil, frame{spans: make([]Span, d.tree.slots)}, message)
	}
	return nil
}

// Decline returns the frame an agent gets for a request of its own that a rerun
// cannot answer, nil when the protocol has no shape for that: the one of the
// request's family, else the table's where that repeats the id of the request,
// and so may answer either side.
func (d *Dialect) Decline(request []byte, message string) []byte {
	return d.refuse(store.Out, request, message, func(r *Rule) *refusal {
		if len(r.id) == 1 && d.refusal.repeats(r.id[0]) {
			return r.or(d.refusal)
		}
		return r.refusal
	})
}

func (r *Rule) or(other *refusal) *refusal {
	if r.refusal != nil {
		return r.refusal
	}
	return other
}

func (d *Dialect) refuse(stream store.Stream, request []byte, message string, shape func(*Rule) *refusal) (out []byte) {
	if d.batch && isArray(request) {
		return nil
	}
	d.eachRule(stream, request, func(r *Rule, f frame, _ int) {
		if s := shape(r); s != nil {
			out = s.append(nil, f, message)
		}
	})
	return out
}

// repeats reports whether a shape is an object that holds the value at a place
// of the request in the same place.
func (s *refusal) repeats(at expr) bool {
	if s == nil || len(at.keys) != 1 {
		return false
	}
	for _, m := range s.members {
		if m.key == at.keys[0] && m.value.at != nil && slices.Equal(m.value.at.keys, at.keys) {
			return true
		}
	}
	return false
}

func (s *refusal) append(b []byte, f frame, message string) []byte {
	switch {
	case s.message:
		return append(b, quote(message)...)
	case s.at != nil:
		if t := s.at.get(f); len(t) > 0 {
			return append(b, t...)
		}
		return append(b, "null"...)
	case s.members != nil:
		b = append(b, '{')
		first := true
		for _, m := range s.members {
			if m.value.at != nil && !m.value.keep && len(m.value.at.get(f)) == 0 {
				continue
			}
			if !first {
				b = append(b, ',')
			}
			first = false
			b = append(append(b, quote(m.key)...), ':')
			b = m.value.append(b, f, message)
		}
		return append(b, '}')
	case s.array:
		b = append(b, '[')
		for i, e := range s.items {
			if i > 0 {
				b = append(b, ',')
			}
			b = e.append(b, f, message)
		}
		return append(b, ']')
	}
	return append(b, s.text...)
}
