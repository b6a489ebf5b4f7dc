package llm

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"agentrec/internal/dialect"
)

// maxNesting is how often JSON within a string of JSON is looked into.
const maxNesting = 4

// walk is what is known of the place of a value in a request.
type walk struct {
	place  []string
	leeway leeway
	deep   int // strings of JSON around it
}

// value returns n with what changes from run to run taken out and what has no
// order in order: tools by name, and the calls and results of one batch. Some
// agents (phi) keep parallel calls in a hash map, so their order is chance.
func (n *normaliser) value(v *node, w walk, ids dialect.Paths) node {
	switch v.kind {
	case text:
		return n.string(v, w, ids)
	case number:
		if n.near.epoch(v.text) {
			return node{kind: text, text: "<date>", raw: v}
		}
		return *v
	case array:
		return n.array(v, w, ids)
	case object:
		w.leeway = leewayOf(v, w.leeway)
		out := *v
		out.list = make([]node, len(v.list))
		for i := range v.list {
			in := w
			in.place = append(w.place, v.keys[i])
			switch v.keys[i] {
			case "system", "instructions", "systemInstruction", "system_instruction":
				in.leeway = leeway{times: true}
			case "functionResponse":
				in.leeway = leeway{times: true, durations: true}
			}
			out.list[i] = n.value(&v.list[i], in, ids)
		}
		return out
	}
	return *v
}

// leewayOf tells who wrote what an object holds.
func leewayOf(v *node, outer leeway) leeway {
	switch v.word("type") {
	case "tool_result", "function_call_output", "custom_tool_call_output", "local_shell_call_output", "shell_call_output":
		return leeway{times: true, durations: true}
	}
	switch v.word("role") {
	case "tool", "function", "toolResult":
		return leeway{times: true, durations: true}
	case "system", "developer":
		return leeway{times: true}
	case "user", "assistant", "model":
		return leeway{}
	}
	return outer
}

func (n *normaliser) string(v *node, w walk, ids dialect.Paths) node {
	out := node{kind: text, at: v.at, raw: v}
	if w.deep < maxNesting && len(v.text) > 1 && (v.text[0] == '{' || v.text[0] == '[') {
		if in, ok := parse([]byte(v.text)); ok {
			w.deep++
			return node{kind: nested, at: v.at, raw: v, list: []node{n.value(&in, w, dialect.Paths{})}}
		}
	}
	if w.deep == 0 && ids.Match(w.place) {
		out.text = n.name("id", v.text)
		return out
	}
	if out.text = n.text(v.text, w.leeway); out.text == v.text {
		return *v
	}
	return out
}

func (n *normaliser) array(v *node, w walk, ids dialect.Paths) node {
	out := *v
	out.list = slices.Clone(v.list)
	if last := len(w.place) - 1; last >= 0 && w.place[last] == "tools" || last >= 0 && w.place[last] == "functionDeclarations" {
		slices.SortStableFunc(out.list, func(a, b node) int { return cmp.Compare(toolName(&a), toolName(&b)) })
	}
	for from := 0; from < len(out.list); {
		batch := batchOf(&out.list[from])
		to := from + 1
		for batch != "" && to < len(out.list) && batchOf(&out.list[to]) == batch {
			to++
		}
		if to-from > 1 {
			n.sort(out.list[from:to])
		}
		for ; from < to; from++ { // in order: a batch is sorted by the names that the ones before it gave
			in := w
			in.place = append(w.place, strconv.Itoa(from))
			at := out.list[from].at
			out.list[from] = n.value(&out.list[from], in, ids)
			out.list[from].at = at
		}
	}
	return out
}

// batchOf names the kind of a call or result that stands beside others of one
// batch, "" for everything else.
func batchOf(v *node) string {
	if v.kind != object {
		return ""
	}
	switch t := v.word("type"); t {
	case "tool_use", "tool_result", "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output", "function":
		if t == "function" && v.member("id") == nil {
			return "" // a tool, not a call
		}
		return t
	}
	switch {
	case v.word("role") == "tool":
		return "tool"
	case v.member("functionCall") != nil:
		return "functionCall"
	case v.member("functionResponse") != nil:
		return "functionResponse"
	}
	return ""
}

// sort brings a batch into an order that depends on what its members say. Where
// an id has a name already, from the calls before, that decides; else what they
// say but for ids, and last the ids as they are.
func (n *normaliser) sort(batch []node) {
	type ranked struct {
		node
		named int
		form  string
		id    string
	}
	list := make([]ranked, len(batch))
	for i, v := range batch {
		id := idOf(&v)
		list[i] = ranked{node: v, named: 1 << 30, id: id}
		if m, ok := n.names[id]; ok {
			if _, number, ok := strings.Cut(strings.TrimSuffix(m, ">"), " "); ok {
				list[i].named, _ = strconv.Atoi(number)
			}
			continue
		}
		masked := normaliser{near: n.near, paths: n.paths, marks: n.marks}
		bare := v.less(anyID, nil)
		value := masked.value(&bare, walk{}, dialect.Paths{})
		list[i].form = string(value.form(nil))
	}
	slices.SortStableFunc(list, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(a.named, b.named), cmp.Compare(a.form, b.form), cmp.Compare(a.id, b.id))
	})
	for i := range list {
		batch[i] = list[i].node
	}
}

// idNames are the keys under which calls and results carry the id of the call.
var idNames = []string{"tool_call_id", "tool_use_id", "call_id", "id"}

// anyID are the places of ids in a call or result.
var anyID = func() dialect.Paths {
	var paths []string
	for _, name := range idNames {
		paths = append(paths, name, "*."+name)
	}
	p, err := dialect.ParsePaths(paths...)
	if err != nil {
		panic(err)
	}
	return p
}()

func idOf(v *node) string {
	for _, name := range idNames {
		if id := v.word(name); id != "" {
			return id
		}
	}
	for _, inner := range []string{"functionCall", "functionResponse"} {
		if id := v.member(inner).word("id"); id != "" {
			return id
		}
	}
	return ""
}

func toolName(v *node) string {
	if name := v.word("name"); name != "" {
		return name
	}
	if name := v.member("function").word("name"); name != "" {
		return name
	}
	return v.word("type")
}
