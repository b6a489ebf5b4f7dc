package llm

import (
	"cmp"
	"crypto/sha256"
	"net/url"
	"slices"
	"strings"

	"agentrec/internal/dialect"
)

// request is one request made ready to be compared.
type request struct {
	method string
	target
	host string
	body node // as parsed
	less node // less volatile places
	norm node // normalised

	keys [3]key // by Tier
}

// sides is how the requests of one side, the recording or the live one, are
// normalised.
type sides struct {
	near   near
	paths  []string
	marks  []string
	ignore dialect.Paths
	chain  func(id string) string // stands for the id of an earlier answer, "" when it is not known
}

// newRequest reads what a request asks for by its URL.
func newRequest(method string, u *url.URL) *request {
	return &request{method: method, target: targetOf(method, u), host: u.Host}
}

// parse reads the body, which is without its content encoding.
func (r *request) parse(contentType string, body []byte) {
	if len(body) > 0 {
		r.body = bodyValue(body, contentType)
	} else {
		r.body = node{kind: literal, text: "-"}
	}
}

// lane is where a request belongs: only requests of one lane are compared.
func (r *request) lane() string { return r.method + " " + r.path + "?" + r.query }

// modelName returns the model that the request asks for.
func (r *request) modelName() string { return cmp.Or(r.model, r.body.word("model")) }

// canonise computes the keys of a request that is parsed.
func (r *request) canonise(s *sides) {
	r.less = r.body.without(r.volatile.Join(s.ignore))
	n := &normaliser{near: s.near, paths: s.paths, marks: s.marks}
	r.norm = n.value(&r.less, walk{place: make([]string, 0, 16)}, r.ids)
	r.chained(s)
	for tier, v := range []*node{&r.body, &r.less, &r.norm} {
		r.keys[tier] = sha256.Sum256(v.form(counted(counted(nil, r.model), "")))
	}
}

// chained puts, in the place of the id of an earlier answer, what that answered:
// of equal requests it does not matter which answer was got.
func (r *request) chained(s *sides) {
	if s.chain == nil || r.norm.kind != object {
		return
	}
	for _, name := range []string{"previous_response_id", "previous_interaction_id"} {
		id := r.body.word(name)
		i, ok := slices.BinarySearch(r.norm.keys, name)
		if id == "" || !ok {
			continue
		}
		r.norm.list = slices.Clone(r.norm.list)
		r.norm.list[i] = node{kind: text, text: id, raw: r.norm.list[i].source()}
		if of := s.chain(id); of != "" {
			r.norm.list[i].text = of
		}
	}
}

// messages returns the messages of the normalised request and where they stand.
func (r *request) messages() (list []node, place []string) {
	if r.Messages == "" {
		return nil, nil
	}
	v := &r.norm
	if inner := v.member(r.Within); inner != nil && inner.kind == object {
		v, place = inner, append(place, r.Within)
	}
	place = append(place, r.Messages)
	v = v.member(r.Messages)
	switch {
	case v == nil:
		return nil, nil
	case v.kind == text:
		return []node{*v}, place
	case v.kind != array:
		return nil, nil
	}
	return v.list, place
}

// hashes returns the hash of each message, and that of everything else.
func (r *request) hashes() (messages []key, rest key) {
	list, place := r.messages()
	for i := range list {
		messages = append(messages, list[i].sum())
	}
	if place == nil {
		return nil, r.norm.sum()
	}
	paths, err := dialect.ParsePaths(strings.Join(place, "."))
	if err != nil {
		return messages, r.norm.sum()
	}
	other := r.norm.without(paths)
	return messages, other.sum()
}

// roleOf names a message for people.
func roleOf(v *node) string {
	for _, name := range []string{"role", "type"} {
		if w := v.word(name); w != "" {
			return w
		}
	}
	return ""
}
