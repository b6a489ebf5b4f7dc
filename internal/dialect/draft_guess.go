package dialect

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"agentrec/store"
)

// place is a field of a family.
type place struct {
	kind *draftKind
	path string
}

// echo counts how often the values at one place were first said by the other
// side at another.
type echo struct {
	from, to place
	n        int
	values   map[string]int // how often each came back
}

// echoes finds them all: where a value came back, and where the other side said
// it first.
func (d *Drafter) echoes(tag string) []*echo {
	first := [2]map[string][]place{{}, {}}
	found := map[[2]place]*echo{}
	var order []*echo
	for i := range d.frames {
		f := &d.frames[i]
		other := store.In + store.Out - f.stream
		for _, l := range f.leaves {
			if l.path == tag || !canBeID(l) {
				continue
			}
			to := place{f.kind, l.path}
			for _, from := range first[other][l.token] {
				e := found[[2]place{from, to}]
				if e == nil {
					e = &echo{from: from, to: to, values: map[string]int{}}
					found[[2]place{from, to}] = e
					order = append(order, e)
				}
				e.n++
				e.values[l.token]++
			}
		}
		mine := map[string][]place{}
		for _, l := range f.leaves {
			if l.path != tag && canBeID(l) {
				mine[l.token] = append(mine[l.token], place{f.kind, l.path})
			}
		}
		for token, places := range mine {
			if _, ok := first[f.stream][token]; !ok {
				first[f.stream][token] = places
			}
		}
	}
	return order
}

// canBeID reports whether a leaf could hold an id: a short word or a whole
// number, at a place that is called like one.
func canBeID(l leaf) bool {
	if !idNames().MatchString(l.path) && !(l.depth == 0 && len(l.path) <= 2) {
		return false
	}
	switch c := l.token[0]; {
	case c == '"':
		return len(l.token) > 2 && len(l.token) <= 82 && !strings.ContainsAny(l.token, " \\\t")
	case c >= '0' && c <= '9':
		return isKind([]byte(l.token), "integer")
	}
	return false
}

// answering gathers the echoes that end at one place and come from places of
// one name: one kind of response may answer many kinds of requests.
type answering struct {
	to     place
	path   string // of the requests' id
	from   []*draftKind
	n      int
	values map[string]int
}

// guessIDs turns echoes into requests with responses, and into frames that
// speak about a request.
func (d *Drafter) guessIDs(tag string) {
	var all []*answering
	for _, e := range d.echoes(tag) {
		if roomNames().MatchString(e.from.path) && roomNames().MatchString(e.to.path) {
			continue
		}
		i := slices.IndexFunc(all, func(a *answering) bool { return a.to == e.to && a.path == e.from.path })
		if i < 0 {
			i = len(all)
			all = append(all, &answering{to: e.to, path: e.from.path, values: map[string]int{}})
		}
		a := all[i]
		a.from = append(a.from, e.from.kind)
		a.n += e.n
		for v, n := range e.values {
			a.values[v] += n
		}
	}
	slices.SortStableFunc(all, func(a, b *answering) int { return b.weight() - a.weight() })
	answered := map[place]map[string]bool{} // by id of a request: the values that have their answer
	for _, a := range all {
		a.decide(answered)
	}
}

// decide takes an answering for what it is, if what was decided before allows.
// A value has one answer; what else comes back with it speaks about it.
func (a *answering) decide(answered map[place]map[string]bool) {
	to := a.to.kind
	asks := func(k *draftKind) bool {
		return k != to && (k.role == "" || k.role == "request" && (k.id == a.path || k.id == ""))
	}
	if float64(a.n) < 0.7*float64(len(to.at)) || !slices.ContainsFunc(a.from, asks) {
		return
	}
	once := float64(a.n) < 1.3*float64(len(a.values))
	for _, k := range a.from {
		for v := range a.values {
			once = once && !answered[place{k, a.path}][v]
		}
	}
	switch {
	case once && to.role == "":
		to.role, to.id = "response", a.to.path
		to.why = fmt.Sprintf("%d of %d came back", a.n, len(to.at))
	case !once && to.role == "" && to.about == "":
		to.about = a.to.path
		to.why = fmt.Sprintf("%d values, %d times", len(a.values), a.n)
	default:
		return
	}
	for _, k := range a.from {
		if !asks(k) {
			continue
		}
		k.role, k.id = "request", a.path
		if at := (place{k, a.path}); once && answered[at] == nil {
			answered[at] = valuesOf(a.values)
		}
	}
}

func valuesOf(counts map[string]int) map[string]bool {
	out := map[string]bool{}
	for v := range counts {
		out[v] = true
	}
	return out
}

// weight puts strong evidence first: many values, each back once, at a place of
// the same name.
func (a *answering) weight() int {
	w := 10 * len(a.values)
	if a.path == a.to.path {
		w += 8
	}
	if strings.HasSuffix(strings.ToLower(a.to.path), "id") {
		w += 5
	}
	if a.n == len(a.values) {
		w += 6
	}
	return w - 3*strings.Count(a.to.path, ".")
}

// guessAnswers pairs families without ids: an answer comes between each two of
// its questions, and before other candidates.
func (d *Drafter) guessAnswers(kinds []*draftKind) {
	for _, q := range kinds {
		if q.stream != store.In || q.role != "" {
			continue
		}
		var best *draftKind
		least := 1 << 30
		for _, a := range kinds {
			if a.stream != store.Out || a.role != "" || a.about != "" || len(a.at) != len(q.at) || a.sub != "" {
				continue
			}
			far := 0
			for n := range q.at {
				if a.at[n] < q.at[n] || n+1 < len(q.at) && a.at[n] > q.at[n+1] {
					far = -1
					break
				}
				far += a.at[n] - q.at[n]
			}
			if far >= 0 && far < least && (far/len(q.at) <= 1 || !d.streams(a)) {
				best, least = a, far
			}
		}
		if best == nil {
			continue
		}
		q.role, q.key = "request", label(q)
		best.role, best.answers = "response", label(q)
		best.why = fmt.Sprintf("followed %d times of %d", len(best.at), len(q.at))
	}
}

// textOf returns the place of what people read in a family, "" when none looks
// like it.
func (d *Drafter) textOf(k *draftKind) string {
	best, most := "", 0
	for _, l := range d.frames[k.at[0]].leaves {
		if l.token[0] != '"' {
			continue
		}
		key := strings.ToLower(l.path[strings.LastIndexByte(l.path, '.')+1:])
		if n := len(textNames) - slices.Index(textNames, key); n <= len(textNames) && n > most {
			best, most = l.path, n
		}
	}
	return best
}

var textNames = []string{"delta", "text", "query", "prompt", "content", "message", "summary", "output", "error", "reason"}

// streams reports whether frames of a family follow each other with text in
// them, as deltas do.
func (d *Drafter) streams(k *draftKind) bool {
	runs := 0
	for n := 1; n < len(k.at); n++ {
		if k.at[n] == k.at[n-1]+1 {
			runs++
		}
	}
	return runs*2 >= len(k.at) && len(k.at) > 1 && d.textOf(k) != ""
}

// shows guesses what people see a family as.
func (d *Drafter) shows(k *draftKind) (shows, text string) {
	name, text := strings.ToLower(k.name()), d.textOf(k)
	has := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(name, w) })
	}
	switch {
	case has("hello", "ready", "welcome", "greet") && k.stream == store.Out:
		return "greeting", text
	case has("error", "fail"):
		return "error", text
	case d.streams(k) && k.stream == store.Out && has("think", "thought", "reason"):
		return "thought", text
	case d.streams(k) && k.stream == store.Out:
		return "text", text
	case k.stream == store.In && has("prompt", "run", "ask", "chat", "query", "user") && text != "":
		return "prompt", text
	case k.stream == store.Out && !has("update", "delta", "end", "progress") && d.field(k, argNames) != "" && d.field(k, toolNames) != "":
		return "call", ""
	case has("result", "output") && text != "":
		return "result", text
	case has("done", "finish", "complete", "end") && k.stream == store.Out && k.role == "response":
		return "end", text
	}
	return "", ""
}

var (
	argNames  = []string{"args", "arguments", "input", "params"}
	toolNames = []string{"name", "tool", "tool_name", "toolName"}
)

// field returns the first of the names that the family's first frame has at its
// top.
func (d *Drafter) field(k *draftKind, names []string) string {
	for _, n := range names {
		for _, l := range d.frames[k.at[0]].leaves {
			if l.path == n || strings.HasPrefix(l.path, n+".") {
				return n
			}
		}
	}
	return ""
}

// places returns the places of a family whose values are of a kind, judged by
// their names and by what stands there.
func (d *Drafter) placesOf(k *draftKind, is func(l leaf) bool) []string {
	yes, no := map[string]int{}, map[string]int{}
	for _, i := range k.at {
		for _, l := range d.frames[i].leaves {
			if is(l) {
				yes[l.path]++
			} else {
				no[l.path]++
			}
		}
	}
	var out []string
	for _, path := range slices.Sorted(maps.Keys(yes)) {
		if no[path] == 0 {
			out = append(out, path)
		}
	}
	return out
}

func looksVolatile(l leaf) bool {
	if timeNames().MatchString(l.path) && l.token[0] != '{' && l.token[0] != '[' {
		return true
	}
	return timeValues().MatchString(l.token) || uuidValues().MatchString(l.token)
}

func looksSecret(l leaf) bool { return secretNames().MatchString(l.path) && l.token[0] == '"' }
